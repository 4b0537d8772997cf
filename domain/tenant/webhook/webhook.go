// Package webhook sends messages about events to receivers that teams subscribe: webhooks, their messages, the sender.
//
// Triggers of the database (migration 0098) insert a note in the transaction of an event, if a webhook may want it. The
// sender turns notes into messages, one for each webhook, and sends each at least once, signed as Standard Webhooks
// are. A message is a row with the exact text that is signed, so all attempts send the same text. The senders of all
// processes share the work: they claim messages with a lease.
//
// Receivers that fail or are slow get one message at a time, in places of their own.
//
// The page docs/decisions/webhook.md says what the contract leaves open and how it is answered here.
package webhook

import (
	"encoding/json"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Scope is the set of teams that a webhook covers.
type Scope string

// The scopes: the team itself, or the teams that a partner manages.
const (
	Self    Scope = "self"
	Managed Scope = "managed"
)

// Enum lists the scopes.
func (Scope) Enum() []string { return api.Texts(Self, Managed) }

// Status says whether a webhook gets messages.
type Status string

// The states: pending until the receiver has taken a test, then active until it is disabled.
const (
	Pending  Status = "pending"
	Active   Status = "active"
	Disabled Status = "disabled"
)

// Enum lists the states.
func (Status) Enum() []string { return api.Texts(Pending, Active, Disabled) }

// DisabledReason says why a webhook is disabled.
type DisabledReason string

// The reasons: a person deleted it, the receiver answered that it is gone (410), or it failed for five days. A test
// that the receiver takes ends the last two.
const (
	Deleted DisabledReason = "deleted"
	Gone    DisabledReason = "gone"
	Failing DisabledReason = "failing"
)

// Enum lists the reasons.
func (DisabledReason) Enum() []string { return api.Texts(Deleted, Gone, Failing) }

// EventType is a kind of thing that happens.
type EventType string

// The types of events. The table of docs/guides/webhooks.md has the cause and the data of each.
const (
	AuditCheckpoint    EventType = "audit.checkpoint"
	AuditEventChanged  EventType = "audit.event.changed"
	ConnectionChanged  EventType = "connection.changed"
	OperationCompleted EventType = "operation.completed"
	OperationFailed    EventType = "operation.failed"
	PaymentUpdated     EventType = "payment.updated"
	StatementPublished EventType = "statement.published"
	StatementReopened  EventType = "statement.reopened"
	Test               EventType = "webhook.test"
)

// Enum lists the types.
func (EventType) Enum() []string {
	return api.Texts(AuditCheckpoint, AuditEventChanged, ConnectionChanged, OperationCompleted, OperationFailed, PaymentUpdated,
		StatementPublished, StatementReopened, Test)
}

// Webhook is a webhook (WHK-01 to WHK-09).
type Webhook struct {
	ID             id.ID           `json:"id"`
	Scope          Scope           `json:"scope" doc:"self for what happens in the team, managed for what happens in the teams that the partner manages."`
	URL            string          `json:"url" doc:"Where messages are sent."`
	Description    *string         `json:"description"`
	EventTypes     []EventType     `json:"eventTypes" doc:"What it tells of."`
	APIVersion     string          `json:"apiVersion" doc:"The version of the contract in which messages are written."`
	Status         Status          `json:"status" doc:"pending until the receiver has taken a test, then active until it is disabled."`
	DisabledReason *DisabledReason `json:"disabledReason" doc:"deleted by a person, gone when the receiver answered 410, failing when it failed for five days; null unless disabled."`
	Revision       int64           `json:"revision" doc:"From 1; grows with each change."`
	VerifiedAt     *day.Instant    `json:"verifiedAt" doc:"When the receiver took a test at the present address; null when it has not."`
	DisabledAt     *day.Instant    `json:"disabledAt" doc:"When it was disabled; null unless it is."`
	PausedUntil    *day.Instant    `json:"pausedUntil" doc:"Until when nothing is sent, because the receiver asked for it or is overloaded; null or past for no pause."`
	CreatedAt      day.Instant     `json:"createdAt"`
	UpdatedAt      day.Instant     `json:"updatedAt"`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`
}

// WithSecret is a webhook with the secret that its messages are signed with, which is shown once.
type WithSecret struct {
	Webhook

	Secret            string       `json:"secret" doc:"What messages are signed with (Standard Webhooks). Shown this once."`
	FormerSecretUntil *day.Instant `json:"formerSecretUntil" doc:"Until when messages are signed with the former secret too; null for none."`
}

// DeliveryStatus is the state of a message.
type DeliveryStatus string

// The states: a message is pending, or delivering while an operation sends it, and then succeeded, or failed with another
// attempt to come, or exhausted when none follows.
const (
	DeliveryPending    DeliveryStatus = "pending"
	DeliveryDelivering DeliveryStatus = "delivering"
	DeliverySucceeded  DeliveryStatus = "succeeded"
	DeliveryFailed     DeliveryStatus = "failed"
	DeliveryExhausted  DeliveryStatus = "exhausted"
)

// Enum lists the states.
func (DeliveryStatus) Enum() []string {
	return api.Texts(DeliveryPending, DeliveryDelivering, DeliverySucceeded, DeliveryFailed, DeliveryExhausted)
}

// Failure says why an attempt failed.
type Failure string

// The failures: an answer that is no 2xx, a redirect, no answer in time, no connection, an address that is not public,
// and the end of the webhook.
const (
	Answered          Failure = "answered"
	Redirected        Failure = "redirected"
	TimedOut          Failure = "timedOut"
	Unreachable       Failure = "unreachable"
	AddressNotAllowed Failure = "addressNotAllowed"
	Ended             Failure = "webhookDisabled"
)

// Enum lists the failures.
func (Failure) Enum() []string {
	return api.Texts(Answered, Redirected, TimedOut, Unreachable, AddressNotAllowed, Ended)
}

// Delivery is a message for a receiver, with its last answer.
type Delivery struct {
	ID            id.ID           `json:"id"`
	WebhookID     id.ID           `json:"webhookId"`
	TeamID        id.ID           `json:"teamId" db:"about_team_id" doc:"The team in which it happened."`
	EventID       id.ID           `json:"eventId" doc:"The id of the message and of the header webhook-id: the same in each attempt and replay, and for each subscription."`
	EventType     EventType       `json:"eventType" doc:"What it tells of."`
	Status        DeliveryStatus  `json:"status" doc:"failed has another attempt to come, exhausted has none."`
	Attempts      int64           `json:"attempts" doc:"How often it was sent since it was made or last replayed."`
	Payload       json.RawMessage `json:"payload" db:"-" doc:"The message. The bytes that were signed may have other white space."`
	Response      *Response       `json:"response" db:"-" doc:"The last answer; null for none."`
	Failure       *Failure        `json:"failure" doc:"Why the last attempt failed; null for one that did not."`
	CreatedAt     day.Instant     `json:"createdAt"`
	AttemptedAt   *day.Instant    `json:"attemptedAt" doc:"When it was last sent."`
	NextAttemptAt *day.Instant    `json:"nextAttemptAt" db:"-" doc:"When it is sent next at the earliest; null when nothing follows."`
	DeliveredAt   *day.Instant    `json:"deliveredAt" doc:"When the receiver took it."`
}

// Response is an answer of a receiver.
type Response struct {
	Status     int64  `json:"status" doc:"Its HTTP status."`
	Body       string `json:"body" doc:"Its first 1024 bytes."`
	DurationMS int64  `json:"durationMs" doc:"How long it took in milliseconds."`
}

// DeliveryList is a page of messages, the newest first.
type DeliveryList struct {
	Data []Delivery   `json:"data"`
	Page DeliveryPage `json:"page" doc:"Where the list goes on."`
}

// DeliveryPage says where the list goes on.
type DeliveryPage struct {
	Limit      int64   `json:"limit"`
	HasMore    bool    `json:"hasMore" doc:"Whether another page follows."`
	NextCursor *string `json:"nextCursor" doc:"Null on the last page."`
}

var (
	errDisabled    = apierr.New(apierr.CodeConflict, "", "Webhook is disabled")
	errNotActive   = apierr.New(apierr.CodeConflict, "", "Webhook is not active")
	errNoManaged   = apierr.New(apierr.CodeBadRequest, "", "Only a partner team has managed teams")
	errTooMany     = apierr.New(apierr.CodeConflict, "", "Team has too many webhooks")
	errRateLimited = apierr.New(apierr.CodeRateLimited, "", "Too many requests")
)

// mostWebhooks is how many webhooks a team can have that are not disabled.
const mostWebhooks = 50
