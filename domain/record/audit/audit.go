// Package audit owns the trail of who did what. Every write inserts one action in its own transaction, and code that
// changes a record calls Note, which inserts an event with the old and new values of the changed fields. Actions and
// events commit together with the change or not at all, and are never changed afterwards.
//
// Events of queued work belong to the action of the request that queued it. When the service itself starts work, each
// transaction gets its own action.
//
// The page docs/decisions/audit.md says what the contract leaves open and how it is answered here.
package audit

import (
	"cmp"

	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Record inserts the action of a write together with its events, with the commit (AUD-11).
func Record(tx *db.Tx, e *api.Endpoint) { tx.Gather(gathered, action{e.ID}) }

// action is that of the transaction, by the endpoint that was called.
type action struct{ endpoint string }

// insertAction returns the statement that inserts an action of the transaction in a team. The parent is the action of
// another team of which it is a part; nil for none.
func insertAction(tx *db.Tx, team, action id.ID, parent *id.ID, endpoint string) db.Stmt {
	return db.Stmt{
		SQL: `
		insert into audit_action (team_id, id, parent_id, actor_type, actor_id, endpoint, request_id, reason, created_at)
		values (@team, @id, @parent::uuid, @kind, @actor, @endpoint, @request, nullif(@reason, ''), @now)`,
		Args: db.Args{
			"team": team, "id": action, "parent": parent, "kind": actorKind(tx), "actor": tx.Actor.User,
			"endpoint": endpoint, "request": tx.RequestID, "reason": tx.OverrideReason, "now": tx.Now,
		},
	}
}

// actorKind returns the transaction's kind of actor: without a user, the service itself.
func actorKind(tx *db.Tx) db.ActorKind {
	if tx.Actor.User.IsZero() {
		return db.System
	}

	return cmp.Or(tx.Actor.Kind, db.Person)
}
