package team

import (
	"context"
	"fmt"

	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Overview has the figures of a team that its partner looks at.
type Overview struct {
	ID            id.ID       `json:"id"`
	Name          string      `json:"name"`
	Status        Status      `json:"status"`
	DataRegion    string      `json:"dataRegion"`
	Listings      int64       `json:"listings" db:"-" doc:"How many there are."`
	Reservations  int64       `json:"reservations" db:"-" doc:"How many there are."`
	Transactions  int64       `json:"transactions" db:"-" doc:"How many there are."`
	TrustBank     []Balance   `json:"trustBank" db:"-" doc:"What the books have on the trust bank accounts today, by currency."`
	OperatingBank []Balance   `json:"operatingBank" db:"-" doc:"The same for operating accounts."`
	UpdatedAt     day.Instant `json:"updatedAt"`
}

// Balance is an amount of a currency.
type Balance struct {
	Currency  string      `json:"currency"`
	CentTotal money.Cents `json:"centTotal"`
}

type overviewInput struct {
	page.Params
	Sort   listSort `query:"sort" doc:"Default name."`
	IDs    page.IDs `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	Status Status   `query:"status"`
	Search string   `query:"search" maxLength:"200" doc:"Part of the name."`
}

// overviewEndpoint returns the route with the figures of a partner's customers.
func overviewEndpoint() api.Endpoint {
	return api.Read(api.Endpoint{
		Method: "GET", Path: "/partner/overview", ID: "listPartnerOverview", Tag: "Teams",
		Summary: "List the partner's teams with their figures",
		Doc:     "Counts and balances are read from kept sums. Balances are those of today: what is dated later does not count.",
		Scopes:  []string{"team:read", "reports:read"}, PartnerOnly: true, AnyRegion: true,
		Selection: api.ManagedTeams, Region: true,
	}, listOverview)
}

// listOverview returns a page of the customers of the partner.
func listOverview(ctx context.Context, tx *db.Tx, in *overviewInput) (*page.Page[Overview], error) {
	q := page.Query{
		Columns: "t.id, t.name, t.status, t.region as data_region, t.updated_at", From: "team t",
		Sorts: sorts, Default: "name", ID: "t.id",
	}
	q.And("t.team_id = any(@managed::uuid[]) and t.partner_id = @team and t.status <> 'deleted'",
		db.Args{"managed": tx.Teams, "team": tx.Team})
	q.IDs("t.id = any(?)", in.IDs)
	q.Narrow("t.status = ?", in.Status)
	q.Search(in.Search, "t.name")

	out, err := page.List[Overview](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	return out, loadFigures(ctx, tx, out.Data)
}

// loadFigures fills in the counts and the balances of teams from kept sums, for all of them at once.
func loadFigures(ctx context.Context, tx *db.Tx, teams []Overview) error {
	ids, places := make([]id.ID, len(teams)), make(map[id.ID]*Overview, len(teams))
	for i := range teams {
		t := &teams[i]
		t.TrustBank, t.OperatingBank = []Balance{}, []Balance{}
		ids[i], places[t.ID] = t.ID, t
	}

	var (
		counts   []counted
		balances []balanced
	)

	err := tx.Together(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		counts, err = db.Select[counted](ctx, tx, countedSQL, db.Args{"teams": ids})
		return err
	}, func(ctx context.Context, tx *db.Tx) (err error) {
		balances, err = db.Select[balanced](ctx, tx, balancedSQL, db.Args{"teams": ids, "now": tx.Now})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the figures of teams: %w", err)
	}

	for _, c := range counts {
		t := places[c.TeamID]
		t.Listings, t.Reservations, t.Transactions = c.Listings, c.Reservations, c.Transactions
	}

	for _, b := range balances {
		t := places[b.TeamID]
		if b.Category == "trust" {
			t.TrustBank = append(t.TrustBank, b.Balance)
		} else {
			t.OperatingBank = append(t.OperatingBank, b.Balance)
		}
	}

	return nil
}

// counted has how many rows of some lists a team has.
type counted struct {
	TeamID                               id.ID
	Listings, Reservations, Transactions int64
}

const countedSQL = `
	select team_id, coalesce(sum(rows) filter (where list = 'listing'), 0)::bigint as listings,
		coalesce(sum(rows) filter (where list = 'reservation'), 0)::bigint as reservations,
		coalesce(sum(rows) filter (where list = 'transaction'), 0)::bigint as transactions
	from list_count where team_id = any(@teams::uuid[]) and list in ('listing', 'reservation', 'transaction') group by 1`

// balanced is what the books of a team have on its bank accounts of a category in a currency.
type balanced struct {
	TeamID   id.ID
	Category string
	Balance
}

// balancedSQL reads today's sums of each bank account in its own currency, as its balance in the list of accounts does:
// whole months before this one, and the days of this one. It reads them account by account, because the key of the sums
// begins with the ledger and the currency.
const balancedSQL = `
	select a.team_id, a.banking_category as category, a.banking_currency as currency, sum(m.cents)::bigint as cent_total
	from account a join team t on t.id = a.team_id
	cross join lateral (select (@now::timestamptz at time zone t.time_zone)::date as today) d
	cross join lateral (
		select sum(cents) as cents from (
			select m.debit - m.credit as cents from ledger_month m where m.team_id = a.team_id and m.ledger in ('trust', 'operating')
				and m.currency = a.banking_currency and m.account_id = a.id and m.month < date_trunc('month', d.today)::date
			union all select m.debit - m.credit from ledger_day m where m.team_id = a.team_id and m.ledger in ('trust', 'operating')
				and m.currency = a.banking_currency and m.account_id = a.id and m.day between date_trunc('month', d.today)::date and d.today) s) m
	where a.team_id = any(@teams::uuid[]) and a.type = 'bank' and a.banking_category in ('trust', 'operating') and m.cents is not null
	group by 1, 2, 3 order by 1, 2, 3`
