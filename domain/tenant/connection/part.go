package connection

import "stayledger/platform/parts"

// Part returns the endpoints, jobs and table of connections to apps.
func Part(c Config) parts.Part {
	used := newUsage()

	return parts.Part{
		Endpoints: endpoints(c, used), Handlers: writer{c, used}.jobHandlers(),
		Tables: parts.Owns("connection", "connection_authorization"),
		Used:   []*parts.Usage{used},
		Waits: []parts.Wait{{
			ID: "c.id",
			Columns: `c.updated_at as since, 'connectionReconnectRequired' as code, 'error' as severity, 'connection' as entity_type, c.id as entity_id,
				jsonb_build_object('appId', c.app_id, 'name', c.name) as context`,
			From: `connection c where c.team_id = g.team_id and c.status = 'reconnectRequired'`,
		}},
	}
}
