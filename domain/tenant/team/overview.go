package team

import (
	"context"

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
	Listings      int64       `json:"listings" doc:"How many there are."`
	Reservations  int64       `json:"reservations" doc:"How many there are."`
	Transactions  int64       `json:"transactions" doc:"How many there are."`
	TrustBank     []Balance   `json:"trustBank" doc:"What the books have on the trust bank accounts today, by currency."`
	OperatingBank []Balance   `json:"operatingBank" doc:"The same for operating accounts."`
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
		Method: "GET", Path: "/partner/overview", ID: "listPartnerOverview", Tag: "Teams", Summary: "List the partner's teams with their figures",
		Doc:    "Counts and balances are kept sums, so that a page of hundreds of teams costs little more than one of ten.",
		Scopes: []string{"team:read", "reports:read"}, PartnerOnly: true, AnyRegion: true, Selection: api.ManagedTeams, Region: true,
	}, listOverview)
}

// overviewColumns are the figures of the team t. Each is read from kept sums.
var overviewColumns = `t.id, t.name, t.status, t.region as data_region, ` +
	keptCount("listing") + ` as listings, ` + keptCount("reservation") + ` as reservations, ` + keptCount("transaction") + ` as transactions, ` +
	bankBalances("trust") + ` as trust_bank, ` + bankBalances("operating") + ` as operating_bank, t.updated_at`

// keptCount returns the SQL of how many rows of a list the team has.
func keptCount(list string) string {
	return `coalesce((select sum(c.rows) from list_count c where c.team_id = t.id and c.list = '` + list + `'), 0)::bigint`
}

// bankBalances returns the SQL of today's book balances of the team's bank accounts of a category: whole months
// before this one, and the days of this one.
func bankBalances(category string) string {
	return `coalesce((select jsonb_agg(jsonb_build_object('currency', b.currency, 'centTotal', b.cents) order by b.currency) from (
		select m.currency, sum(m.debit - m.credit)::bigint as cents
		from account a cross join lateral (select (@now::timestamptz at time zone t.time_zone)::date as today) d
		cross join lateral (
			select currency, debit, credit from ledger_month where team_id = a.team_id and account_id = a.id and ledger in ('trust', 'operating')
				and month < date_trunc('month', d.today)::date
			union all select currency, debit, credit from ledger_day where team_id = a.team_id and account_id = a.id and ledger in ('trust', 'operating')
				and day between date_trunc('month', d.today)::date and d.today) m
		where a.team_id = t.id and a.type = 'bank' and a.banking_category = '` + category + `' group by m.currency) b), '[]')`
}

// listOverview returns a page of the customers of the partner.
func listOverview(ctx context.Context, tx *db.Tx, in *overviewInput) (*page.Page[Overview], error) {
	q := page.Query{Columns: overviewColumns, From: "team t", Sorts: sorts, Default: "name", ID: "t.id"}
	q.And("t.team_id = any(@managed::uuid[]) and t.partner_id = @team and t.status <> 'deleted'",
		db.Args{"managed": tx.Teams, "team": tx.Team, "now": tx.Now})
	q.IDs("t.id = any(?)", in.IDs)
	q.Narrow("t.status = ?", in.Status)
	q.Search(in.Search, "t.name")

	return page.List[Overview](ctx, tx, q, in.Params, in.Sort)
}
