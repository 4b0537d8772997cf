package connection

import "stayledger/platform/parts"

// Part returns the endpoints, jobs and table of connections to apps.
func Part(c Config) parts.Part {
	return parts.Part{Endpoints: endpoints(c), Handlers: handlers(c.Open), Tables: parts.Owns("connection")}
}
