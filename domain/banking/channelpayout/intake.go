package channelpayout

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// KindName names channel payouts in the records of sources.
const KindName = "payout"

// Item is a payout in the words of its source. Absent fields keep their value.
type Item struct {
	Status    *Status         `json:"status,omitempty"`
	Channel   api.Opt[string] `json:"channel,omitzero" maxLength:"100"`
	Reference api.Opt[string] `json:"reference,omitzero" maxLength:"500"`
	Date      *day.Day        `json:"date,omitempty"`
	Currency  *string         `json:"currency,omitempty" minLength:"3" maxLength:"3"`
	Amount    *money.Cents    `json:"amount,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991"`
	Members   *[]ItemMember   `json:"members,omitempty" maxItems:"1000"`

	of         *id.ID
	connection *id.ID
	externalID string
}

// ItemMember is a member of an Item.
type ItemMember struct {
	SourceID         *string     `json:"sourceId,omitempty" nullable:"true" maxLength:"500"`
	ConfirmationCode *string     `json:"confirmationCode,omitempty" nullable:"true" maxLength:"500"`
	Description      *string     `json:"description,omitempty" nullable:"true" maxLength:"500"`
	Gross            money.Cents `json:"gross" minimum:"-9007199254740991" maximum:"9007199254740991"`
	Fees             money.Cents `json:"fees" minimum:"-9007199254740991" maximum:"9007199254740991"`
	Taxes            money.Cents `json:"taxes" minimum:"-9007199254740991" maximum:"9007199254740991"`
}

// Intake returns how channel payouts are taken in. Users cannot edit them, so every value of the source is applied.
func Intake() intake.Kind {
	door := &intake.Door[Item]{
		Form: api.NewForm[Item](),
		Name: func(item *Item, of *id.ID) { item.of = of },
		From: func(item *Item, from intake.Origin, externalID string) {
			item.connection, item.externalID = from.ConnectionID, externalID
		},
		Save: savePayouts,
	}

	return intake.Kind{
		Name: KindName, Entity: audit.ChannelPayout, Current: loadValues, Show: loadValues, Save: door.Write,
		Present: intake.Values{"status": json.RawMessage(`"active"`)}, Remove: door.Deactivate, Lengths: door.Form.Lengths(),
	}
}

// stored is a payout as it is saved, in the words of Item.
type stored struct {
	ID           id.ID        `json:"id"`
	ConnectionID id.ID        `json:"connectionId"`
	SourceID     string       `json:"sourceId"`
	Status       Status       `json:"status"`
	Channel      *string      `json:"channel"`
	Reference    *string      `json:"reference"`
	Date         day.Day      `json:"date" db:"paid_on"`
	Currency     string       `json:"currency"`
	Amount       money.Cents  `json:"amount"`
	Members      []ItemMember `json:"members"`
}

// payoutTable has the columns of a payout, memberTable those of its members.
var (
	payoutTable = db.NewTable[stored]("channel_payout", `
		id uuid key, connection_id uuid fixed, source_id text fixed, status text, channel text, reference text, paid_on date, currency text,
		amount bigint, created_at now fixed, updated_at now`)
	memberTable = db.NewTable[memberRow]("channel_payout_member", `
		payout_id uuid, position int, source_id text, confirmation_code text, description text, gross bigint, fees bigint, taxes bigint`)
)

// memberRow is a member with its payout and its place among the members.
type memberRow struct {
	ItemMember
	PayoutID id.ID
	Position int64
}

// loadPayouts loads saved payouts by id. Unknown ids are left out.
func loadPayouts(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]stored, error) {
	rows, err := db.Select[stored](ctx, tx, `
		select `+payoutTable.ColumnsSQL("p", "created_at", "updated_at")+`, (
			select coalesce(jsonb_agg(jsonb_build_object('sourceId', m.source_id, 'confirmationCode', m.confirmation_code, 'description', m.description,
				'gross', m.gross, 'fees', m.fees, 'taxes', m.taxes) order by m.position), '[]')
			from channel_payout_member m where m.team_id = p.team_id and m.payout_id = p.id) as members
		from channel_payout p where p.team_id = @team and p.id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read payouts of channels: %w", err)
	}

	out := make(map[id.ID]stored, len(rows))
	for _, r := range rows {
		out[r.ID] = r
	}

	return out, nil
}

// loadValues loads payouts as values that can be compared with those of the source.
func loadValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := loadPayouts(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))
	for v, p := range found {
		if out[v], err = intake.Encode(p); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// savePayouts inserts and updates payouts with their members. An item that cannot be saved is refused in its attempt
// and keeps no other item from being saved.
func savePayouts(ctx context.Context, tx *db.Tx, _ intake.Origin, items []Item) ([]api.Attempt, error) {
	// Load the payouts that items update, for the fields that an item lacks and for the audit events.
	var ids []id.ID

	for i := range items {
		if items[i].of != nil {
			ids = append(ids, *items[i].of)
		}
	}

	before, err := loadPayouts(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	// Then apply the items in memory, each on its own.
	var rows []stored

	out := make([]api.Attempt, len(items))

	for i := range items {
		was, refusal := items[i].findPayout(tx, before)
		if refusal != nil {
			out[i].Refusal = apierr.From(refusal)
			continue
		}

		row, what := was, audit.Updated
		if items[i].of == nil {
			what = audit.Created
		}

		items[i].applyTo(&row)

		rows, out[i].ID = append(rows, row), row.ID
		noteChange(tx, what, &was, &row)
	}

	if len(rows) == 0 {
		return out, nil
	}

	// Write all payouts in one round trip. Members have no ids, so those of a payout are replaced as a whole.
	ids, members := make([]id.ID, len(rows)), []*memberRow{}

	for i := range rows {
		ids[i] = rows[i].ID
		for k, m := range rows[i].Members {
			members = append(members, &memberRow{ItemMember: m, PayoutID: rows[i].ID, Position: int64(k)})
		}
	}

	if err := tx.Pipeline(ctx,
		payoutTable.Upsert(tx, db.Refs(rows)...),
		db.Stmt{
			SQL:  `delete from channel_payout_member where team_id = @team and payout_id = any(@ids)`,
			Args: db.Args{"team": tx.Team, "ids": ids},
		},
		memberTable.Insert(tx, members...),
	); err != nil {
		return nil, fmt.Errorf("save payouts of channels: %w", err)
	}

	return out, nil
}

// findPayout returns the saved payout that the item updates, or a new one. It fails with apierr.NotFound if the payout
// is gone, and with apierr.BadRequest if a new payout lacks a required field.
func (item *Item) findPayout(tx *db.Tx, before map[id.ID]stored) (stored, error) {
	if item.of != nil {
		was, has := before[*item.of]
		if !has {
			return was, apierr.NotFound
		}

		return was, nil
	}

	// A new payout needs these fields; the rest may follow in a later sync.
	switch {
	case item.connection == nil:
		return stored{}, apierr.BadRequest.At(apierr.IssueRequired.InBody("connectionId"))
	case item.Date == nil:
		return stored{}, apierr.BadRequest.At(apierr.IssueRequired.InBody("date"))
	case item.Currency == nil:
		return stored{}, apierr.BadRequest.At(apierr.IssueRequired.InBody("currency"))
	case item.Amount == nil:
		return stored{}, apierr.BadRequest.At(apierr.IssueRequired.InBody("amount"))
	}

	return stored{
		ID: tx.NewID(), ConnectionID: *item.connection, SourceID: item.externalID, Status: Active,
		Members: []ItemMember{},
	}, nil
}

// applyTo sets the fields of a payout that the item has.
func (item *Item) applyTo(p *stored) {
	ptr.Set(&p.Status, item.Status)
	ptr.Set(&p.Date, item.Date)
	ptr.Set(&p.Currency, item.Currency)
	ptr.Set(&p.Amount, item.Amount)
	ptr.Set(&p.Members, item.Members)
	p.Channel, p.Reference = item.Channel.Or(p.Channel), item.Reference.Or(p.Reference)
}

// noteChange writes the audit event of a payout. A new payout has no state before.
func noteChange(tx *db.Tx, what audit.Type, before, after *stored) {
	if what == audit.Created {
		before = nil
	}

	audit.Note(tx, what, audit.ChannelPayout, after.ID, before, after)
}
