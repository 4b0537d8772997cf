package audit

import (
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Type is the kind of a change: created, updated and so on.
type Type string

// The types of events.
const (
	Created   Type = "created"
	Updated   Type = "updated"
	Deleted   Type = "deleted"
	Restored  Type = "restored"
	Posted    Type = "posted"
	Reversed  Type = "reversed"
	Published Type = "published"
	Reopened  Type = "reopened"
	Matched   Type = "matched"
	Unmatched Type = "unmatched"
	Paid      Type = "paid"
	Connected Type = "connected"
	Synced    Type = "synced"
	Imported  Type = "imported"
	Merged    Type = "merged"
	Exported  Type = "exported"
)

// Enum lists the types.
func (Type) Enum() []string {
	return api.Texts(Created, Updated, Deleted, Restored, Posted, Reversed, Published, Reopened, Matched, Unmatched, Paid, Connected, Synced, Imported, Merged, Exported)
}

// Entity is a type of records with events: the resource types of operations and some more.
type Entity string

// The types of records.
const (
	Account           Entity = "account"
	AccountConnection Entity = "account-connection"
	Adjustment        Entity = "adjustment"
	APIKey            Entity = "api-key"
	BankRecord        Entity = "bank-record"
	BankRule          Entity = "bank-rule"
	CalendarBlock     Entity = "calendar-block"
	Category          Entity = "category"
	ChannelPayout     Entity = "channel-payout"
	Connection        Entity = "connection"
	Contact           Entity = "contact"
	EmbedSession      Entity = "embed-session"
	File              Entity = "file"
	HistoricalImport  Entity = "historical-import"
	Journal           Entity = "journal"
	LineMapping       Entity = "line-mapping"
	Listing           Entity = "listing"
	OwnerLink         Entity = "owner-link"
	OwnershipPeriod   Entity = "ownership-period"
	Payment           Entity = "payment"
	PaymentApproval   Entity = "payment-approval"
	PaymentMethod     Entity = "payment-method"
	RecurringFee      Entity = "recurring-fee"
	RecurringPeriod   Entity = "recurring-fee-period"
	RecurringTemplate Entity = "recurring-transaction-template"
	Reservation       Entity = "reservation"
	Statement         Entity = "statement"
	StatementLayout   Entity = "statement-layout"
	TaxRate           Entity = "tax-rate"
	Team              Entity = "team"
	Transaction       Entity = "transaction"
	User              Entity = "user"
	Webhook           Entity = "webhook"
)

// Enum lists the types of records.
func (Entity) Enum() []string {
	return api.Texts(
		Account, AccountConnection, Adjustment, APIKey, BankRecord, BankRule, CalendarBlock, Category,
		ChannelPayout, Connection, Contact, EmbedSession, File, HistoricalImport, Journal, LineMapping, Listing,
		OwnerLink, OwnershipPeriod, Payment, PaymentApproval, PaymentMethod, RecurringFee, RecurringPeriod, RecurringTemplate,
		Reservation, Statement, StatementLayout, TaxRate, Team, Transaction, User, Webhook,
	)
}

// Role says how a record relates to the changed record.
type Role string

// The roles.
const (
	RoleListing     Role = "listing"
	RoleOwner       Role = "owner"
	RoleReservation Role = "reservation"
	RoleStatement   Role = "statement"
	RoleAccount     Role = "account"
	RoleConnection  Role = "connection"
	RoleParent      Role = "parent"
)

// Source says how a change came about. Unless From sets another source, it follows from the actor: a user, a key, or
// the service itself.
type Source string

// The sources. Those of a user, a key and the service follow from the actor, an integration from FromConnection, a file
// from FromFile.
const (
	ByUser      Source = "user"
	ByKey       Source = "api"
	Integration Source = "integration"
	ByFile      Source = "csv"
	Recurring   Source = "recurring"
	System      Source = "system"
	Migration   Source = "migration"
)

// Enum lists the sources.
func (Source) Enum() []string {
	return api.Texts(ByUser, ByKey, Integration, ByFile, Recurring, System, Migration)
}

// origin is a source with the record through which the changes came: a connection with its sync, or an import.
type origin struct {
	source                         Source
	connectionID, syncID, importID *id.ID
}

// From sets the source of all events of the transaction.
func From(tx *db.Tx, s Source) { tx.Gather(gathered, origin{source: s}) }

// FromConnection sets a connection as the source of all events of the transaction (AUD-04, AUD-05), and the sync that
// reads it; nil outside of a sync.
func FromConnection(tx *db.Tx, connection id.ID, sync *id.ID) {
	tx.Gather(gathered, origin{source: Integration, connectionID: &connection, syncID: sync})
}

// FromImport sets an import of historical books as the source of all events of the transaction.
func FromImport(tx *db.Tx, importID id.ID) {
	tx.Gather(gathered, origin{source: Migration, importID: &importID})
}

// FromFile sets a file that a person has uploaded as the source of all events of the transaction.
func FromFile(tx *db.Tx, importID id.ID) {
	tx.Gather(gathered, origin{source: ByFile, importID: &importID})
}

// Reference is a record that an event concerns besides the changed record; a filter on the reference finds the event.
type Reference struct {
	Role Role   `json:"role"`
	Type Entity `json:"type"`
	ID   id.ID  `json:"id"`
}

// Ref refers to a record; nil and the zero id refer to nothing and are left out.
func Ref[T id.ID | *id.ID](role Role, entity Entity, one T) Reference {
	r := Reference{Role: role, Type: entity}

	switch v := any(one).(type) {
	case id.ID:
		r.ID = v
	case *id.ID:
		if v != nil {
			r.ID = *v
		}
	}

	return r
}

// event is the change of one record in a transaction.
type event struct {
	Team    id.ID       `json:"-"`
	ID      id.ID       `json:"id"`
	Type    Type        `json:"type"`
	Entity  Entity      `json:"entity_type"`
	Of      id.ID       `json:"entity_id"`
	Name    *string     `json:"entity_name"`
	Refs    []Reference `json:"refs"`
	Changes []Change    `json:"changes"`
	Journal *Effect     `json:"journal"`
	err     error
}

// Effect counts the journal entries added and retired by a change, with the net change of each account.
type Effect struct {
	EntriesAdded   int     `json:"entriesAdded" doc:"How many entries were posted."`
	EntriesRetired int     `json:"entriesRetired" doc:"How many entries no longer count."`
	Delta          []Delta `json:"delta" doc:"The net change of each account that has one."`
}

// Delta is the net change of an account in cents.
type Delta struct {
	AccountID id.ID `json:"accountId"`
	CentTotal int64 `json:"centTotal"`
}

// Note adds an event for the change of a record from one view to the other. A view is the record as callers see it: any
// value that encodes to a JSON object. A new record has no view before, a deleted record none after. If both views are
// equal, there is no event. Call it next to the write. The events are inserted with the commit; a transaction's notes
// about the same record become a single event.
func Note( //nolint:revive // one call for each write
	tx *db.Tx,
	what Type,
	entity Entity,
	of id.ID,
	before, after any,
	refs ...Reference,
) {
	NoteIn(tx, tx.Team, what, entity, of, before, after, refs...)
}

// NoteIn adds an event as Note does, to the trail of another team than the transaction's.
func NoteIn( //nolint:revive // as Note
	tx *db.Tx,
	team id.ID,
	what Type,
	entity Entity,
	of id.ID,
	before, after any,
	refs ...Reference,
) {
	e := &event{Team: team, Type: what, Entity: entity, Of: of}

	e.Changes, e.Name, e.err = compare(before, after)
	for _, r := range refs {
		if !r.ID.IsZero() && !slices.Contains(e.Refs, r) {
			e.Refs = append(e.Refs, r)
		}
	}

	tx.Gather(gathered, e)
}

// NoteJournal adds the change of a record's journal entries to the event that the transaction has for the record. If
// there is no such event, it becomes an event itself, or is dropped if it names no entity.
func NoteJournal(tx *db.Tx, entity Entity, of id.ID, effect Effect) {
	tx.Gather(gathered, &event{Team: tx.Team, Type: Updated, Entity: entity, Of: of, Journal: &effect})
}
