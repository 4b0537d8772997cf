package connection

import "stayledger/platform/parts"

// Part returns the endpoints, jobs and table of connections to apps.
func Part(c Config) parts.Part {
	used := newUsage()

	return parts.Part{
		Endpoints: endpoints(c, used), Handlers: writer{c, used}.handlers(),
		Tables: parts.Owns("connection", "connection_authorization"),
		Used:   []*parts.Usage{used},
	}
}
