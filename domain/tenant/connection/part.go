package connection

import "stayledger/platform/parts"

// Part returns the endpoints, jobs and table of connections to apps.
func Part(c Config) parts.Part {
	used := newUsage()

	return parts.Part{
		Endpoints: endpoints(c, used), Handlers: writer{c, used}.jobHandlers(), MonthEnd: writer{c, used}.findUnread,
		Tables: append(parts.Keeps("connection_authorization"), parts.Table{
			// Two teams must not sync with one system, nor pay from one account: people connect a restored one anew.
			Name: "connection", Instead: map[string]string{
				"credentials": "null", "is_sync_enabled": "false", "next_sync_at": "null",
				"status": "case when s.status in ('active', 'connecting') then 'reconnectRequired' else s.status end",
			},
		}),
		Used: []*parts.Usage{used},
		Waits: []parts.Wait{{
			ID: "c.id",
			Columns: `c.updated_at as since, ` + faultCodeSQL + ` as code, ` + faultSeveritySQL + ` as severity, 'connection' as entity_type, c.id as entity_id,
				jsonb_build_object('appId', c.app_id, 'name', c.name, 'error', c.fault) as context`,
			From: `connection c where c.team_id = g.team_id and (c.status = 'reconnectRequired' or c.fault is not null)`,
		}},
	}
}
