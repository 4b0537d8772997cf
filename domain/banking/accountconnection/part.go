package accountconnection

import (
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Part returns the endpoints and table of account connections.
func Part() parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()),
		Tables:    parts.Owns("account_connection"),
		Uses: []parts.Use{
			{
				Of: "account", Reason: "accountConnections", Columns: []string{"account_connection.account_id"},
				Holds: true,
			},
			{Of: "connection", Reason: "accountConnections", Columns: []string{"account_connection.connection_id"}},
		},
	}
}
