package connection

import "stayledger/platform/parts"

// Part is connections to apps.
func Part(c Config) parts.Part {
	return parts.Part{Endpoints: endpoints(c), Handlers: handlers(c.Open), Tables: parts.Owns("connection")}
}
