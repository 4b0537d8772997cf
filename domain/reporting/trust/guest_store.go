package trust

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// guestCell holds the amounts on the guest accounts for a stay in a listing, or for a posting without a
// reservation. All settled stays of a status and listing are one cell without a reservation: nothing is open on
// them, but their charges and payments count.
type guestCell struct {
	Status        report.Occupancy
	Open          bool
	ReservationID id.ID
	ListingID     id.ID
	ListingName   string
	// SourceID and TxnCode name the posting of an unassigned cell.
	SourceID id.ID
	TxnCode  string
	CheckOut *day.Day
	// Matches the search, when there is one.
	Matches  bool
	Charges  money.Cents
	Payments money.Cents
}

// total returns the balance: positive for money held for the guest and negative for money that the guest owes.
func (g *guestCell) total() money.Cents { return g.Payments - g.Charges }

// guestSelection says which guest balances are read.
type guestSelection struct {
	accounts   []id.ID
	date       day.Day
	currency   money.Currency
	listingIDs page.Refs
	channels   []string
	search     string
	settled    bool
	// withoutParty leaves out entries of owners and of the manager.
	withoutParty bool
	// balancesOnly reads only the open amounts, as payments, without charges.
	balancesOnly bool
}

// occupancySQL is the status of a reservation r (null for none) at the end of the day @date, as journal entries are
// filtered by it.
const occupancySQL = `case when r.id is null then 'unassigned' when r.status <> 'booked' then 'cancelled' when r.check_out <= @date then 'departed'
	when r.check_in <= @date then 'inHouse' else 'upcoming' end`

// isKept reports whether the amounts of settled stays are kept as sums: those of all entries of guests, and not of single
// stays.
func (s *guestSelection) isKept() bool { return !s.settled && s.channels == nil && !s.withoutParty }

// guestTablesSQL returns the WITH clause that guest balances are read from: cells has a row per stay and listing, and
// per posting without a reservation. Entries of a transaction are payments, all others are charges. Where the amounts of
// settled stays are kept, cells has only stays on which something is or was open on the day, and those are the rows of
// apart.
func (s *guestSelection) guestTablesSQL(team id.ID) (with string, args db.Args) {
	args = db.Args{
		"team":     team,
		"accounts": s.accounts,
		"date":     s.date,
		"currency": s.currency,
		"settled":  s.settled,
		"search":   s.search,
	}
	q := page.Query{Where: []string{"true"}, Args: args}
	q.Refs("e.listing_id", s.listingIDs)
	listings := strings.Join(q.Where, " and ")

	entries := "e.account_id = any(@accounts::uuid[]) and e.txn_at <= @date and e.currency = @currency and e.ledger = 'trust' and e.status = 'active' and " + listings
	if s.withoutParty {
		entries += " and e.party is null"
	}

	sums, open := `coalesce(sum(e.cent_total) filter (where e.transaction_id is null), 0) as charges,
				coalesce(-sum(e.cent_total) filter (where e.transaction_id is not null), 0) as payments`, ""
	if s.balancesOnly {
		sums, open = `0 as charges, -sum(e.cent_total) as payments`, ` having sum(e.cent_total) <> 0`
	}

	booked := `select coalesce(e.reservation_id, e.source_id) as of, e.listing_id, case when e.reservation_id is null then e.txn_code end as txn_code, ` + sums + `
			from %s where ` + entries + ` group by 1, 2, 3` + open
	cells := `select ` + occupancySQL + ` as status, b.charges <> b.payments or @settled::boolean as open, case when b.txn_code is null then b.of end as reservation_id,
				b.listing_id, case when b.txn_code is not null then b.of end as source_id, coalesce(b.txn_code, '') as txn_code,
				r.check_in, r.check_out, r.booked_at, r.cancelled_at, r.booking_platform, r.guest_name, r.confirmation_code, b.charges, b.payments,
				@search::text = '' or coalesce(` + page.ContainsSQL("@search", "r.guest_name", "r.confirmation_code") + `, false) as matches
			from `

	if s.isKept() {
		return apartSQL(booked, cells) + `, settled as (
			` + settledSQL(listings) + `
		)`, args
	}

	// Channels select stays, so money without a reservation is left out.
	channels := ""
	if s.channels != nil {
		channels = ` and coalesce(r.id is not null and coalesce(r.booking_platform, 'null') = any(@channels), false)`
		args["channels"] = s.channels
	}

	// Most stays are settled. They are looked up all at once, open ones one by one. A full join is never planned as a
	// search per stay; a left join is, if the planner takes the team for a new one. So no condition, not even of a
	// reader of cells, may allow the planner to turn the full join into a left one.
	reading, join := "materialized", "full"
	if s.balancesOnly {
		reading, join = "not materialized", "left"
	}

	// Booked adds up the entries, stays are the reservations of the team, and cells joins both.
	return `with booked as (
			` + fmt.Sprintf(booked, "(select * from ledger_entry e where e.team_id = @team) e") + `
		), stays as ` + reading + ` (
			select ` + stayColumns + ` from reservation where team_id = @team
		), cells as ` + reading + ` (
			` + cells + `(select *, case when txn_code is null then of end as stay, true as is_booked from booked) b ` + join + ` join stays r on r.id = b.stay
			where coalesce(b.is_booked, false)` + channels + `
		)`, args
}

// stayColumns are the columns of reservations that guest balances show or search.
const stayColumns = `id, status, check_in, check_out, booked_at, cancelled_at, booking_platform, guest_name, confirmation_code`

// apartSQL returns the same WITH clause of the stays that the kept sums of a day leave to the reader, with the SQL that adds
// up entries and the SQL of cells. Apart are the stays that are noted as changed or open, and those that were settled after
// the day. Their entries and reservations are looked up stay by stay.
func apartSQL(booked, cells string) string {
	entries := `(select n.* from apart a cross join lateral (
				(select * from ledger_entry e where e.team_id = @team and e.reservation_id = a.stay_id and a.txn_code = ''` + db.Fence + `)
				union all
				(select * from ledger_entry e where e.team_id = @team and e.source_id = a.stay_id and e.txn_code = a.txn_code and a.txn_code <> ''
					and e.reservation_id is null` + db.Fence + `)) n) e`

	return `with apart as materialized (
			select stay_id, txn_code from ledger_guest where team_id = @team
			union
			select stay_id, txn_code from ledger_guest_settled where team_id = @team and settled_at > @date
		), booked as materialized (
			` + fmt.Sprintf(booked, entries) + `
		), cells as materialized (
			` + cells + `booked b left join lateral (
				select ` + stayColumns + ` from reservation r where r.team_id = @team and r.id = b.of` + db.Fence + `) r on b.txn_code is null
		)`
}

// settledSQL returns the SQL of the amounts of settled stays that are kept, by status and listing, in the columns of a
// folded cell: all that are kept, less those of stays that are apart. They are narrowed by a condition on the listing.
func settledSQL(listings string) string {
	const listing = `nullif(%s.listing_id, '00000000-0000-0000-0000-000000000000') as listing_id`

	return `select e.status, false as open, null::uuid as reservation_id, e.listing_id, null::uuid as source_id, '' as txn_code, null::date as check_in,
				null::date as check_out, false as matches, e.cents as charges, e.cents as payments
			from (
				select k.status, ` + fmt.Sprintf(listing, "k") + `, k.cents from ledger_guest_kept k where k.team_id = @team and k.currency = @currency
				union all
				select s.status, ` + fmt.Sprintf(listing, "s") + `, -s.cents from apart a cross join lateral (select * from ledger_guest_settled s
					where s.team_id = @team and s.stay_id = a.stay_id and s.txn_code = a.txn_code and s.currency = @currency` + db.Fence + `) s) e
			where ` + listings
}

// statusOrder is the place of a status among the groups of guest balances.
const statusOrder = `array_position(array['departed', 'inHouse', 'upcoming', 'cancelled', 'unassigned'], `

// loadGuestCells adds up the entries of the guest accounts by stay and listing, in the order in which they are listed.
func loadGuestCells(ctx context.Context, tx *db.Tx, s *guestSelection) ([]guestCell, error) {
	with, args := s.guestTablesSQL(tx.Team)

	// Settled stays lose their identity here, so that they fall into one cell per status and listing. No row is shown of it,
	// so it needs neither the listing's name nor a place among others with names.
	found := `select status, open, case when open then reservation_id end as reservation_id, listing_id, case when open then source_id end as source_id,
				case when open then txn_code else '' end as txn_code, case when open then check_in end as check_in,
				case when open then check_out end as check_out, open and matches as matches, charges, payments
			from cells`
	if s.isKept() && !s.balancesOnly {
		found += ` union all select * from settled`
	}

	cells, err := db.Select[guestCell](ctx, tx, with+`, folded as (
			select status, open, reservation_id, listing_id, source_id, txn_code, check_in, check_out, matches,
				sum(charges)::bigint as charges, sum(payments)::bigint as payments
			from (`+found+`) c group by 1, 2, 3, 4, 5, 6, 7, 8, 9
		)
		select f.status, f.open, f.reservation_id, f.listing_id, coalesce(l.name, '') as listing_name, f.source_id, f.txn_code, f.check_out, f.matches,
			f.charges, f.payments
		from folded f left join listing l on l.team_id = @team and l.id = f.listing_id and f.open
		order by `+statusOrder+`f.status), `+page.TextSQL("l.name")+` nulls last, f.listing_id, f.check_in nulls last, f.reservation_id, f.txn_code`, args)
	if err != nil {
		return nil, fmt.Errorf("read guest balances: %w", err)
	}

	return cells, nil
}

// guestDetail holds the data that is shown of a stay, or of a posting without one.
type guestDetail struct {
	// ID is the reservation, or the source of the posting.
	ID               id.ID
	TxnCode          string
	CheckIn          *day.Day
	CheckOut         *day.Day
	BookedAt         *day.Day
	CancelledAt      *day.Day
	BookingPlatform  *string
	GuestName        *string
	ConfirmationCode *string
	TransactionRef   *string
	TransactionDate  *day.Day
	Description      *string
}

// detailKey finds the detail of a cell.
type detailKey struct {
	id      id.ID
	txnCode string
}

// detailKey returns the key of the cell's detail.
func (g *guestCell) detailKey() detailKey {
	if g.TxnCode != "" {
		return detailKey{g.SourceID, g.TxnCode}
	}

	return detailKey{g.ReservationID, ""}
}

// loadGuestDetails loads the details of a page of cells.
func loadGuestDetails(ctx context.Context, tx *db.Tx, shown []*guestCell) (map[detailKey]*guestDetail, error) {
	ids, codes := make([]id.ID, len(shown)), make([]string, len(shown))
	for i, c := range shown {
		k := c.detailKey()
		ids[i], codes[i] = k.id, k.txnCode
	}

	// A posting has its day from one of its entries, and its text from the transaction if there is one.
	rows, err := db.Select[guestDetail](ctx, tx, `
		select k.id, k.txn_code, r.check_in, r.check_out, r.booked_at, r.cancelled_at, r.booking_platform, r.guest_name, r.confirmation_code,
			t.short_ref as transaction_ref, e.txn_at as transaction_date, coalesce(t.description, e.description) as description
		from unnest(@ids::uuid[], @codes::text[]) k (id, txn_code)
		left join reservation r on r.team_id = @team and r.id = k.id and k.txn_code = ''
		left join lateral (select o.txn_at, o.description, o.transaction_id from ledger_entry o
			where o.team_id = @team and o.source_id = k.id and o.txn_code = k.txn_code order by o.ref limit 1) e on k.txn_code <> ''
		left join transaction t on t.team_id = @team and t.id = e.transaction_id`,
		db.Args{"team": tx.Team, "ids": ids, "codes": codes})
	if err != nil {
		return nil, fmt.Errorf("read the stays of guest balances: %w", err)
	}

	out := make(map[detailKey]*guestDetail, len(rows))
	for i := range rows {
		out[detailKey{rows[i].ID, rows[i].TxnCode}] = &rows[i]
	}

	return out, nil
}
