// Package channelpayout owns the payouts of booking channels as property-management systems report them: a sum on a
// day, and the stays it covers. They post no journals. Deposits on the bank account are matched with them.
package channelpayout

import (
	"context"
	"net/http"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

// Status says whether the source still has the payout.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// Callers know the schemas of the package by two words.
var _ = api.PublishUnder[Payout]("channelPayout")

// Payout is a sum that a channel paid out on a day.
type Payout struct {
	ID           id.ID       `json:"id"`
	ConnectionID id.ID       `json:"connectionId"`
	SourceID     string      `json:"sourceId" doc:"Its id at the source."`
	Status       Status      `json:"status" doc:"inactive: the source has it no more."`
	Channel      *string     `json:"channel"`
	Reference    *string     `json:"reference" doc:"By which the bank shows it."`
	Date         day.Day     `json:"date"`
	Currency     string      `json:"currency"`
	Amount       money.Cents `json:"amount"`
	Difference   money.Cents `json:"difference" doc:"What the members lack of the amount."`
	Members      []Member    `json:"members"`
	CreatedAt    day.Instant `json:"createdAt"`
	UpdatedAt    day.Instant `json:"updatedAt"`
}

// Member is a part of a payout: the share for a stay, or for something else, such as a claim.
type Member struct {
	ReservationID    *id.ID      `json:"reservationId" doc:"The stay here; null for one that is not here, for a code of several, and for no stay."`
	SourceID         *string     `json:"sourceId" doc:"The stay at the source."`
	ConfirmationCode *string     `json:"confirmationCode"`
	Description      *string     `json:"description"`
	Gross            money.Cents `json:"gross" doc:"What the guest has paid."`
	Fees             money.Cents `json:"fees" doc:"What the channel has kept."`
	Taxes            money.Cents `json:"taxes" doc:"The part of gross that is tax to be remitted here."`
	Amount           money.Cents `json:"amount" doc:"gross less fees."`
}

// memberSQL selects the members of a payout p as a list. A member with a source id shows the stay that the connection
// brought under this id. A member without shows the stay with its confirmation code, unless several have it.
const memberSQL = `(select coalesce(jsonb_agg(jsonb_build_object('reservationId', coalesce((
			select e.entity_id from sync_source s join external_record e on e.team_id = s.team_id and e.source_id = s.id and e.kind = 'reservation'
				and e.external_id = m.source_id where s.team_id = m.team_id and s.connection_id = p.connection_id limit 1), (
			select (array_agg(r.id))[1] from reservation r where r.team_id = m.team_id and r.connection_id = p.connection_id and m.source_id is null
				and r.status <> 'inactive' and stayledger_plain(r.confirmation_code) = stayledger_plain(m.confirmation_code) having count(*) = 1)),
		'sourceId', m.source_id, 'confirmationCode', m.confirmation_code, 'description', m.description, 'gross', m.gross, 'fees', m.fees,
		'taxes', m.taxes, 'amount', m.gross - m.fees) order by m.position), '[]')
	from channel_payout_member m where m.team_id = p.team_id and m.payout_id = p.id)`

const columns = `p.id, p.connection_id, p.source_id, p.status, p.channel, p.reference, p.paid_on as date, p.currency, p.amount,
	p.amount - coalesce((select sum(m.gross - m.fees) from channel_payout_member m where m.team_id = p.team_id and m.payout_id = p.id), 0)::bigint as difference,
	` + memberSQL + ` as members, p.created_at, p.updated_at`

var sorts = page.Sorts{{Name: "date", Expr: "p.paid_on"}, {Name: "createdAt", Expr: "p.created_at"}}

// Sort is an order of the list.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

// Filter selects payouts.
type Filter struct {
	IDs           page.IDs `query:"ids"`
	ConnectionIDs page.IDs `query:"connectionIds"`
	Status        Status   `query:"status"`
	Channel       []string `query:"channel"`
	page.Dates
}

type listInput struct {
	page.Params
	Filter

	Sort Sort `query:"sort" doc:"Default -date."`
}

type getInput struct {
	ID id.ID `path:"id"`
}

// Part returns the endpoints and tables of channel payouts.
func Part() parts.Part {
	const tag = "Channel payouts"

	return parts.Part{
		Endpoints: []api.Endpoint{
			api.Read(api.Endpoint{
				Method: http.MethodGet, Path: "/channel-payouts", ID: "listChannelPayouts", Tag: tag,
				Summary: "List what channels have paid out",
				Doc: "As the systems of the team say it, with the stays that each payout is made of. Nothing of " +
					"it is posted.", Scopes: []string{"bank:read"},
			}, listPayouts),
			api.Read(api.Endpoint{
				Method: http.MethodGet, Path: "/channel-payouts/{id}", ID: "getChannelPayout", Tag: tag,
				Summary: "Read what a channel has paid out", Scopes: []string{"bank:read"},
			}, getPayout),
		},
		Tables: parts.Owns("channel_payout", "channel_payout_member"),
	}
}

// listPayouts answers with a page of payouts.
func listPayouts(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Payout], error) {
	q := page.Query{
		Columns: columns, From: "channel_payout p", Where: []string{"p.team_id = @team"},
		Args: db.Args{"team": tx.Team}, Sorts: sorts, Default: "-date", ID: "p.id",
	}

	// Filters that are absent add nothing to the statement.
	q.CountedAs("channel_payout")
	q.IDs("p.id = any(?)", in.IDs)
	q.IDs("p.connection_id = any(?)", in.ConnectionIDs)
	q.Narrow("p.status = ?", in.Status)
	q.Narrow(`p.channel collate "case_insensitive" = any(?)`, in.Channel)
	q.Dates("p.paid_on", in.Dates)

	return page.List[Payout](ctx, tx, q, in.Params, in.Sort)
}

// getPayout answers with a payout.
func getPayout(ctx context.Context, tx *db.Tx, in *getInput) (*Payout, error) {
	p, err := db.One[Payout](ctx, tx, apierr.NotFound, `select `+columns+` from channel_payout p where p.team_id = @team and p.id = @id`,
		db.Args{"team": tx.Team, "id": in.ID})

	return &p, err
}
