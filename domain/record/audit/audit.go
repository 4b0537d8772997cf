// Package audit owns the trail of who did what. Every write records one action in its own transaction; the reads come with the audit events.
package audit

import (
	"stayledger/platform/api"
	"stayledger/platform/db"
)

// Record is the statement that keeps the action of a write. It travels with the commit (AUD-11).
func Record(tx *db.Tx, e *api.Endpoint) db.Stmt {
	return db.Stmt{
		SQL: `insert into audit_action (team_id, id, actor_id, endpoint, request_id, created_at)
			values (@team, @id, @actor, @endpoint, @request, @now)`,
		Args: db.Args{
			"team": tx.Team, "id": tx.Action, "actor": tx.Actor.User, "endpoint": e.ID, "request": tx.RequestID, "now": tx.Now,
		},
	}
}
