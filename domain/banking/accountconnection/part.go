package accountconnection

import "stayledger/platform/parts"

// Part returns the endpoints and table of account connections.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Tables: parts.Owns("account_connection")}
}
