// Package audit owns the trail of who did what. Every write records one action in its own transaction, and Note tells
// beside the write which record changed and how. Both are kept with what they tell of, or not at all, and are never
// changed afterwards.
//
// Work that an action asked for tells under that action. What the service does by itself has an action of its own for
// each transaction.
package audit

import (
	"cmp"

	"stayledger/platform/api"
	"stayledger/platform/db"
)

const insertAction = `insert into audit_action (team_id, id, actor_type, actor_id, endpoint, request_id, created_at)
	values (@team, @id, @kind, @actor, @endpoint, @request, @now)`

// Record is the statement that keeps the action of a write. It travels with the commit (AUD-11).
func Record(tx *db.Tx, e *api.Endpoint) db.Stmt {
	return db.Stmt{SQL: insertAction, Args: db.Args{
		"team": tx.Team, "id": tx.Action, "kind": actorKind(tx), "actor": tx.Actor.User, "endpoint": e.ID, "request": tx.RequestID, "now": tx.Now,
	}}
}

// actorKind says what stands behind the transaction: without a user it is the service itself.
func actorKind(tx *db.Tx) db.ActorKind {
	if tx.Actor.User.IsZero() {
		return db.System
	}

	return cmp.Or(tx.Actor.Kind, db.Person)
}
