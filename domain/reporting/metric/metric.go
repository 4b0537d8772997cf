// Package metric owns the figures that charts show over time: outcomes of synced records, occupied nights, and revenue
// of listings. The metrics of syncs and nights have a row for each step of the range, also for empty steps.
//
// The page docs/decisions/metric.md says what the contract leaves open and how it is answered here.
package metric

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/intake"
	"stayledger/domain/reporting/report"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

const tag = "Metrics"

// Part returns the endpoints of the metrics.
func Part() parts.Part {
	return parts.Part{Endpoints: []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/metrics/sync-by-status", ID: "getSyncsByStatus", Tag: tag,
			Summary: "What became of the records of syncs", Errors: apierr.List{apierr.NotFound},
			Doc:    "Counts of the records of a connection by outcome and kind. Without `dateRange` of the last twelve months.",
			Scopes: []string{"connections:read"},
		}, countSyncs),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/metrics/occupancy-rate-over-time", ID: "getOccupancy", Tag: tag,
			Summary: "Occupied and available nights", Doc: "Nights of the listings that are active now. A night of " +
				"an owner's own stay or of a calendar block is not available, and one with several reservations is " +
				"occupied once.",
			Scopes: []string{"reports:read"},
		}, countNights),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/metrics/listing-revenue", ID: "getListingRevenue", NeedsBooks: true,
			Tag: tag, Summary: "Revenue that is locked and that can still change",
			Doc: "Revenue of the live ledgers by party and currency. Locked is what is in a statement that is no " +
				"draft, or dated before the first open day of the books.", Scopes: []string{"reports:read"},
		}, addRevenue),
	}}
}

type syncInput struct {
	page.Dates
	Dimension    Dimension   `query:"dimension" default:"month"`
	ConnectionID id.ID       `query:"connectionId" required:"true"`
	View         intake.View `query:"view" required:"true" doc:"Syncs that write records, or that make files."`
}

// Resolve refuses a range of too many steps.
func (in *syncInput) Resolve() []apierr.Issue {
	if in.DateRange.IsZero() {
		return nil
	}

	return in.Dimension.checkRange(in.DateRange.Range(in.IsDateRangeEndInclusive), "dateRange")
}

// SyncRow counts the records that syncs handled in a step.
type SyncRow struct {
	Date    string  `json:"date" doc:"YYYY, YYYY-MM, YYYY-Www or YYYY-MM-DD."`
	Total   int64   `json:"total" doc:"Records of all outcomes."`
	Changes Changes `json:"changes" doc:"Records by outcome and kind."`
}

// Changes are counts of records by kind.
type Changes struct {
	Completed map[string]int64 `json:"completed" doc:"Taken in."`
	Skipped   map[string]int64 `json:"skipped" doc:"Left out, such as those that have not changed."`
	Failed    map[string]int64 `json:"failed" doc:"Refused."`
	Queued    map[string]int64 `json:"queued" doc:"Waiting."`
}

// SyncRows are the rows of the metric.
type SyncRows struct {
	Data []SyncRow `json:"data"`
}

// months is the default range of the metric of syncs, in months. The current month counts.
const months = 12

// countSyncs answers with the outcomes of the records that a connection brought, from the daily counts that syncs keep.
// It fails with apierr.NotFound for an unknown connection.
func countSyncs(ctx context.Context, tx *db.Tx, in *syncInput) (*SyncRows, error) {
	if _, err := db.One[bool](ctx, tx, apierr.NotFound, `select true from connection where team_id = @team and id = @connection`,
		db.Args{"team": tx.Team, "connection": in.ConnectionID}); err != nil {
		return nil, fmt.Errorf("find the connection of a metric: %w", err)
	}

	within := in.DateRange.Range(in.IsDateRangeEndInclusive)
	if in.DateRange.IsZero() {
		within = lastMonths(tx.Today())
	}

	type row struct {
		Day     day.Day
		Kind    string
		Outcome intake.Outcome
		Items   int64
	}

	// Syncs keep one count for each day, kind and outcome, so no record is read here.
	rows, err := db.Select[row](ctx, tx, `
		select day, kind, outcome, items from sync_day
		where team_id = @team and source_id = @connection and view = @view and day >= @from and day < @to`,
		db.Args{"team": tx.Team, "connection": in.ConnectionID, "view": in.View, "from": within.From, "to": within.To})
	if err != nil {
		return nil, fmt.Errorf("read the counts of syncs: %w", err)
	}

	// Add the days up by step. Each step starts with empty maps, so that clients always find all outcomes.
	byDay := map[day.Day][]row{}
	for _, r := range rows {
		byDay[r.Day] = append(byDay[r.Day], r)
	}

	steps := in.Dimension.splitRange(within)

	out := &SyncRows{Data: make([]SyncRow, len(steps))}
	for i, s := range steps {
		out.Data[i] = SyncRow{s.name, 0, Changes{
			map[string]int64{},
			map[string]int64{},
			map[string]int64{},
			map[string]int64{},
		}}
	}

	foldDays(steps, byDay, func(i int, rows []row) {
		to := &out.Data[i]
		kinds := map[intake.Outcome]map[string]int64{
			intake.Done: to.Changes.Completed, intake.Skipped: to.Changes.Skipped, intake.Rejected: to.Changes.Failed,
			intake.Waits: to.Changes.Queued,
		}

		for _, r := range rows {
			to.Total += r.Items
			kinds[r.Outcome][r.Kind] += r.Items
		}
	})

	return out, nil
}

// lastMonths returns the days from the first day of the default range to today.
func lastMonths(today day.Day) day.Range {
	first := today.Month()
	for range months - 1 {
		first = first.Prev()
	}

	return day.Range{From: first.First(), To: today.AddDays(1)}
}

type periodInput struct {
	report.Period
	Dimension  Dimension `query:"dimension" default:"month"`
	ListingIDs page.IDs  `query:"listingIds" doc:"Only these; an id with a leading ! is left out."`
}

// Resolve refuses a period that ends before it starts, and one of too many steps.
func (in *periodInput) Resolve() []apierr.Issue {
	if issues := in.Check(); issues != nil {
		return issues
	}

	return in.Dimension.checkRange(in.allDays(), "endDate")
}

// allDays returns the days of the period.
func (in *periodInput) allDays() day.Range {
	return day.Range{From: in.StartDate.Day, To: in.EndDate.AddDays(1)}
}

// listingQuery returns the query for the ids of the listings that the request selects and that meet a condition.
func (in *periodInput) listingQuery(tx *db.Tx, condition string) page.Query {
	q := page.Query{
		Columns: "l.id", From: "listing l", Where: []string{"l.team_id = @team", condition},
		Args: db.Args{"team": tx.Team}, Sorts: page.Sorts{{Name: "id", Expr: "l.id"}}, Default: "id", ID: "l.id",
	}
	q.IDs("l.id = any(?)", in.ListingIDs)

	return q
}

// NightRow is the occupancy of a step.
type NightRow struct {
	Date            string  `json:"date" doc:"YYYY, YYYY-MM, YYYY-Www or YYYY-MM-DD."`
	OccupiedNights  int64   `json:"occupiedNights" doc:"Nights with a guest."`
	AvailableNights int64   `json:"availableNights" doc:"Nights that guests have or could have had."`
	OccupancyRate   float64 `json:"occupancyRate" doc:"The one over the other, with four decimals; 0 where nothing is available."`
}

// NightRows are the rows of the metric.
type NightRows struct {
	Data []NightRow `json:"data"`
}

// countNights answers with the occupied and available nights of listings on managed days.
func countNights(ctx context.Context, tx *db.Tx, in *periodInput) (*NightRows, error) {
	within := in.allDays()

	spans, err := in.loadManaged(ctx, tx, within)
	if err != nil {
		return nil, err
	}

	// The statement takes the managed days as three arrays: a row for each listing and run of days.
	listings, firsts, lasts := make([]id.ID, len(spans)), make([]day.Day, len(spans)), make([]day.Day, len(spans))
	for i, s := range spans {
		listings[i], firsts[i], lasts[i] = s.listing, s.From, s.To
	}

	type row struct {
		Day              day.Day
		Occupied, Closed int64
	}

	// Each night of a listing counts once: for the guest if there is one. Blocks that a system refuses close nothing.
	rows, err := db.Select[row](ctx, tx, `
		select day, count(*) filter (where guest) as occupied, count(*) filter (where not guest) as closed
		from (
			select g.day::date as day, k.listing_id, bool_or(k.guest) as guest
			from (
				select r.listing_id, r.type = 'guest' as guest, r.check_in as first, r.check_out as last from reservation r
				where r.team_id = @team and r.listing_id = any(@listings) and r.status = 'booked' and r.check_in < @to::date and r.check_out > @from::date
				union all
				select b.listing_id, false, b.start_at, b.end_at from calendar_block b
				where b.team_id = @team and b.listing_id = any(@listings) and b.status <> 'refused' and b.start_at < @to::date and b.end_at > @from::date) k
			join unnest(@listings::uuid[], @firsts::date[], @lasts::date[]) as m (listing_id, first, last) on m.listing_id = k.listing_id
			cross join lateral generate_series(greatest(k.first, m.first), least(k.last, m.last) - 1, interval '1 day') as g (day)
			group by 1, 2) n
		group by day`, db.Args{"team": tx.Team, "listings": listings, "firsts": firsts, "lasts": lasts, "from": within.From, "to": within.To})
	if err != nil {
		return nil, fmt.Errorf("count nights: %w", err)
	}

	// All managed nights of a step are available, except the nights that blocks and owner stays close.
	byDay := map[day.Day]row{}
	for _, r := range rows {
		byDay[r.Day] = r
	}

	steps := in.Dimension.splitRange(within)

	out := &NightRows{Data: make([]NightRow, len(steps))}
	for i, s := range steps {
		out.Data[i] = NightRow{Date: s.name, AvailableNights: countManaged(spans, s.days)}
	}

	foldDays(steps, byDay, func(i int, r row) {
		out.Data[i].OccupiedNights += r.Occupied
		out.Data[i].AvailableNights -= r.Closed
	})

	for i := range out.Data {
		out.Data[i].OccupancyRate = roundRate(out.Data[i].OccupiedNights, out.Data[i].AvailableNights)
	}

	return out, nil
}

// RevenueRow is the revenue of one party in one currency in a step.
type RevenueRow struct {
	Date            string         `json:"date" doc:"YYYY, YYYY-MM, YYYY-Www or YYYY-MM-DD."`
	Party           *ledger.Party  `json:"party" doc:"owners or manager; null for revenue of no party."`
	Currency        money.Currency `json:"currency"`
	LockedRevenue   money.Cents    `json:"lockedRevenue" doc:"Cents that cannot change any more."`
	UnlockedRevenue money.Cents    `json:"unlockedRevenue" doc:"Cents that can."`
}

// RevenueRows are the rows of the metric.
type RevenueRows struct {
	Data []RevenueRow `json:"data"`
}

// revenueSQL returns the statement that adds up revenue by step, party and currency, in the order of the first day
// with revenue; credits are positive. It reads only active entries of the ledgers trust and operating on revenue
// accounts, and looks listings up in a hash table: given a list of ids as a parameter, PostgreSQL would search the
// list for each entry. An entry is locked if it has a statement (drafts have no entries attached) or is dated before
// @closed.
func revenueSQL(listings *page.Query) string {
	return `
		select min(e.txn_at) as first, e.party, e.currency, coalesce(-sum(e.cent_total) filter (where e.locked), 0)::bigint as locked,
			coalesce(-sum(e.cent_total) filter (where not e.locked), 0)::bigint as unlocked
		from (
			select a.id from account a join account_category c on c.team_id = @team and c.id = a.category_id
			where a.team_id = @team and c.classification = 'revenue'` + db.Fence + `) r
		cross join lateral (
			select e.txn_at, e.party, e.currency, e.cent_total, e.statement_id is not null or coalesce(e.txn_at < @closed::date, false) as locked
			from ledger_entry e
			where e.team_id = @team and e.account_id = r.id and e.txn_at >= @from and e.txn_at < @to and e.status = 'active'
				and e.ledger in ('trust', 'operating')
				and (e.listing_id in (select l.id from listing l where ` + strings.Join(listings.Where, " and ") + `)) is true` + db.Fence + `) e
		group by date_trunc(@dimension, e.txn_at::timestamp), e.party, e.currency
		order by min(e.txn_at), e.party nulls last, e.currency`
}

// addRevenue answers with the revenue of listings. A step without revenue has no row, because there is no party and no
// currency to show.
func addRevenue(ctx context.Context, tx *db.Tx, in *periodInput) (*RevenueRows, error) {
	books, err := ledger.LoadClosing(ctx, tx)
	if err != nil {
		return nil, err
	}

	type row struct {
		First            day.Day
		Party            *ledger.Party
		Currency         money.Currency
		Locked, Unlocked money.Cents
	}

	// Entries dated before the first open day of the books are locked, too.
	q, within := in.listingQuery(tx, "true"), in.allDays()
	maps.Copy(q.Args, db.Args{
		"closed": books.BooksClosedAt, "from": within.From, "to": within.To, "dimension": in.Dimension,
	})

	rows, err := db.Select[row](ctx, tx, revenueSQL(&q), q.Args)
	if err != nil {
		return nil, fmt.Errorf("add up revenue: %w", err)
	}

	out := &RevenueRows{Data: make([]RevenueRow, len(rows))}
	for i, r := range rows {
		out.Data[i] = RevenueRow{in.Dimension.stepName(r.First), r.Party, r.Currency, r.Locked, r.Unlocked}
	}

	return out, nil
}
