// Package trail answers who did what: it reads actions and events from package audit, for a team or for all teams a
// partner manages. It writes nothing.
//
// An event says how an action changed a record. Work after the action can add to an event: the latest revision counts,
// with all changes before it. The page docs/decisions/audit.md says what the contract leaves open.
package trail

import (
	"encoding/json"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Part returns the endpoints and the export for the audit trail.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Exports: exports()}
}

// Callers know the schemas by the word audit.
var _ = api.PublishUnder[Event]("audit")

// Actor is who did it.
type Actor struct {
	Type string `json:"type" enum:"user,apiKey,partner,system" doc:"A person, a key of the team, a key of its partner, or the service itself."`
	ID   *id.ID `json:"id" doc:"The user whom it acted as; null for the service itself."`
}

// Record names the changed record.
type Record struct {
	Type audit.Entity `json:"type"`
	ID   id.ID        `json:"id"`
	Name *string      `json:"name" doc:"Its name at that time; null for records without one."`
}

// Reference names another record an event concerns.
type Reference struct {
	Role string `json:"role" doc:"How it relates to the record, such as listing, owner or app."`
	Type string `json:"type" doc:"The type of the record, or app."`
	ID   string `json:"id" doc:"A uuid; of an app the name of the app."`
}

// Origin says how a change came about.
type Origin struct {
	Type         audit.Source `json:"type"`
	ConnectionID *id.ID       `json:"connectionId" doc:"The connection that brought it, with the type integration."`
	SyncID       *id.ID       `json:"syncId" doc:"The sync that brought it; null outside of a sync."`
	ImportID     *id.ID       `json:"importId" doc:"The import of historical books that it belongs to; null outside of one."`
	OperationID  *id.ID       `json:"operationId" doc:"The operation that did it; null for the request itself."`
}

// Change is a field before and after.
type Change struct {
	Key string          `json:"key" doc:"Name of the field; of a field inside another one with dots."`
	Old json.RawMessage `json:"old,omitempty" doc:"Absent when it had no value, or when the credential may not read the record."`
	New json.RawMessage `json:"new,omitempty" doc:"Absent when it has no value, or when the credential may not read the record."`
}

// Event says how an action changed a record.
type Event struct {
	ID         id.ID         `json:"id"`
	TeamID     id.ID         `json:"teamId"`
	Revision   int64         `json:"revision" doc:"From 1; grows while work of the action adds to the event."`
	ActionID   id.ID         `json:"actionId" doc:"The action; the header X-Service-Audit-Action-Id has it as act_…."`
	Actor      Actor         `json:"actor"`
	Type       audit.Type    `json:"type"`
	Entity     Record        `json:"entity" doc:"The record that changed."`
	References []Reference   `json:"references" doc:"Other records that it concerns."`
	Source     Origin        `json:"source"`
	Changes    []Change      `json:"changes" doc:"Secrets are •••. Only the keys, if the credential may not read the record."`
	Journal    *audit.Effect `json:"journal" doc:"What it added to and took from the books; null for nothing."`
	IsOverride bool          `json:"isOverride" doc:"Whether the request passed the closed books on purpose."`
	OccurredAt day.Instant   `json:"occurredAt"`
	RecordedAt day.Instant   `json:"recordedAt" doc:"The order of the lists."`
	SettledAt  *day.Instant  `json:"settledAt" doc:"Null while work of the action can still add to the event."`
	Chain      *Chain        `json:"chain" doc:"Its place in the log of all events; null until it is sealed, some seconds later."`
}

// Chain is the place of a revision in the Merkle log of all events (package proof).
type Chain struct {
	Seq  int64  `json:"seq" doc:"From 0, over all teams of the deployment."`
	Hash string `json:"hash" doc:"The hash of its leaf, in base64."`
}

// Action is a write request, or a step in the service's own work.
type Action struct {
	ID             id.ID        `json:"id"`
	Actor          Actor        `json:"actor"`
	Endpoint       string       `json:"endpoint" doc:"The operationId of the request, or the name of the work."`
	RequestID      string       `json:"requestId" doc:"Names the request in the log."`
	Reason         *string      `json:"reason" doc:"Why the request passed the closed books; null if it did not, or gave no reason."`
	APIVersion     string       `json:"apiVersion" doc:"The version of the contract."`
	OperationID    *id.ID       `json:"operationId" doc:"The operation that it started; null for none."`
	ParentActionID *id.ID       `json:"parentActionId" doc:"The action of another team, such as the partner's, of which this one is a part; null for none."`
	EffectCounts   EffectCounts `json:"effectCounts" doc:"The operations that it started, by status."`
	CreatedAt      day.Instant  `json:"createdAt"`
}

// EffectCounts counts an action's operations by status.
type EffectCounts struct {
	Queued    int64 `json:"queued"`
	Running   int64 `json:"running"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
}

// Entry is a timeline row: an action and its first events.
type Entry struct {
	Action        Action   `json:"action" doc:"What was asked for, by whom."`
	Summary       *Summary `json:"summary" doc:"Null for an action that changed nothing."`
	Events        []Event  `json:"events" doc:"The first 20."`
	HasMoreEvents bool     `json:"hasMoreEvents" doc:"Whether GET /audit/events with actionId has more."`
}

// Summary says what an action did in a word.
type Summary struct {
	Type   audit.Type   `json:"type" doc:"That of the first event."`
	Entity audit.Entity `json:"entity" doc:"That of the first event."`
	Count  int64        `json:"count" doc:"How many events there are."`
}

// Page says where a list goes on.
type Page struct {
	Limit      int64   `json:"limit"`
	HasMore    bool    `json:"hasMore" doc:"Whether another page follows."`
	NextCursor *string `json:"nextCursor" doc:"For the next page, within 24 hours. Null on the last page of -recordedAt; with recordedAt it stays, so that later events can be asked for."`
}

// EventList is a page with events.
type EventList struct {
	Data []Event `json:"data"`
	Page Page    `json:"page" doc:"Where the list goes on."`
}

// Timeline is a page with actions.
type Timeline struct {
	Data []Entry `json:"data"`
	Page Page    `json:"page" doc:"Where the list goes on."`
}

// readScopes maps record types to the scope for reading values. Without it a caller sees only keys.
var readScopes = map[audit.Entity]string{
	audit.Account: "accounts:read", audit.AccountConnection: "bank:read", audit.Adjustment: "reservations:read",
	audit.APIKey: "access:read", audit.BankRecord: "bank:read", audit.BankRule: "bank:read",
	audit.CalendarBlock: "listings:read",
	audit.Category:      "accounts:read", audit.ChannelPayout: "bank:read", audit.Connection: "connections:read",
	audit.Contact: "contacts:read", audit.EmbedSession: "access:read", audit.File: "files:read", audit.HistoricalImport: "general-ledger:read",
	audit.Journal: "general-ledger:read", audit.LineMapping: "line-mappings:read", audit.Listing: "listings:read",
	audit.OwnerLink: "statements:read", audit.OwnershipPeriod: "listings:read", audit.Payment: "transactions:read",
	audit.PaymentApproval: "transactions:read", audit.PaymentMethod: "contacts:read",
	audit.RecurringFee:    "recurring-fees:read",
	audit.RecurringPeriod: "recurring-fees:read", audit.RecurringTemplate: "transactions:read",
	audit.Reservation: "reservations:read",
	audit.Statement:   "statements:read", audit.StatementLayout: "layouts:read", audit.TaxRate: "tax-rates:read",
	audit.Team: "team:read", audit.Transaction: "transactions:read", audit.User: "access:read",
	audit.Webhook: "webhooks:read",
}

// ReadScope returns the scope with which a caller reads the values of a record.
func ReadScope(entity audit.Entity) string { return readScopes[entity] }
