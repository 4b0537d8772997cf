package statement

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// lockHistoricListings locks the ownership periods of listings and reports which of the listings there are. Shared keeps live statements and
// the terms of the ownership as they are; otherwise other imports wait as well, and postings.
func lockHistoricListings(ctx context.Context, tx *db.Tx, listings []id.ID, shared bool) (map[id.ID]bool, error) {
	mode := "update"
	if shared {
		mode = "share"
	}
	if _, err := tx.Exec(ctx, `
		select from listing_ownership_period where team_id = @team and listing_id = any(@listings::uuid[]) order by id for `+mode,
		db.Args{"team": tx.Team, "listings": listings}); err != nil {
		return nil, fmt.Errorf("lock ownership periods: %w", err)
	}
	found, err := db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and id = any(@listings::uuid[])`,
		db.Args{"team": tx.Team, "listings": listings})
	if err != nil {
		return nil, fmt.Errorf("read listings: %w", err)
	}
	return setOf(found), nil
}

func setOf(ids []id.ID) map[id.ID]bool {
	out := make(map[id.ID]bool, len(ids))
	for _, v := range ids {
		out[v] = true
	}
	return out
}

// historicByRef reads, and locks, the statements that have the references of arrivals.
func historicByRef(ctx context.Context, tx *db.Tx, all []*arrival) (map[string]*historicKnown, error) {
	refs := make([]string, len(all))
	for i, a := range all {
		refs[i] = a.UniqueRef
	}
	args := db.Args{"team": tx.Team, "refs": refs}
	if _, err := tx.Exec(ctx, `select from statement where team_id = @team and unique_ref = any(@refs) order by id for update`, args); err != nil {
		return nil, fmt.Errorf("lock imported statements: %w", err)
	}
	rows, err := db.Select[historicKnown](ctx, tx, `
		select s.id, s.unique_ref, s.imported, s.listing_id, s.status, s.ownership_period_id, s.currency, s.start_at, s.end_at,
			s.balance_start, s.net_revenue, s.expenses, s.payouts, s.balance_end,
			exists (select from transaction_line n where n.team_id = @team and n.statement_id = s.id) as paid
		from statement s where s.team_id = @team and s.unique_ref = any(@refs)`, args)
	if err != nil {
		return nil, fmt.Errorf("read imported statements: %w", err)
	}
	out := make(map[string]*historicKnown, len(rows))
	for i := range rows {
		out[rows[i].UniqueRef] = &rows[i]
	}
	return out, nil
}

// liveAfter is the latest live statement that is saved after one of the places in its ownership period, nil when there is none.
func liveAfter(ctx context.Context, tx *db.Tx, at []key) (*Blocking, error) {
	periods, _, starts := columns(at)
	found, err := db.Select[Blocking](ctx, tx, `
		select s.id, s.start_at, s.status from unnest(@periods::uuid[], @starts::date[]) k (period, start_at)
		join statement s on s.team_id = @team and s.ownership_period_id = k.period and s.start_at > k.start_at and not s.imported
		order by s.start_at desc, s.id limit 1`, db.Args{"team": tx.Team, "periods": periods, "starts": starts})
	if err != nil {
		return nil, fmt.Errorf("find later statements: %w", err)
	}
	if len(found) == 0 {
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	return &found[0], nil
}

// overlap is a stored statement that shares days with an arrival; At counts the arrivals from 1.
type overlap struct {
	At int
	ID id.ID
}

// ranges are the places and days of arrivals as columns.
func ranges(all []*arrival) db.Args {
	listings, periods, currencies := make([]id.ID, len(all)), make([]id.ID, len(all)), make([]string, len(all))
	starts, ends, refs := make([]day.Day, len(all)), make([]day.Day, len(all)), make([]string, len(all))
	for i, a := range all {
		listings[i], periods[i], currencies[i] = a.ListingID, a.period.ID, a.Currency
		starts[i], ends[i], refs[i] = a.StartAt, a.EndAt, a.UniqueRef
	}
	return db.Args{"listings": listings, "periods": periods, "currencies": currencies, "starts": starts, "ends": ends, "refs": refs}
}

// historicOverlaps finds the statements in the way of arrivals; those that are replaced are not.
func historicOverlaps(ctx context.Context, tx *db.Tx, all []*arrival) ([]overlap, error) {
	args := ranges(all)
	delete(args, "listings")
	delete(args, "refs")
	replaced := []id.ID{}
	for _, a := range all {
		if a.replaces != nil {
			replaced = append(replaced, a.id)
		}
	}
	args["team"], args["replaced"] = tx.Team, replaced
	found, err := db.Select[overlap](ctx, tx, `
		select k.n::int as at, s.id from unnest(@periods::uuid[], @currencies::text[], @starts::date[], @ends::date[])
			with ordinality k (period, currency, start_at, end_at, n)
		join statement s on s.team_id = @team and s.ownership_period_id = k.period and s.currency = k.currency
			and s.start_at <= k.end_at and s.end_at >= k.start_at
		where s.id not in (select unnest(@replaced::uuid[])) order by k.n, s.start_at`, args)
	if err != nil {
		return nil, fmt.Errorf("find statements over the same days: %w", err)
	}
	return found, nil
}

// historicRow carries a statement to the database; Layout is its place among the layouts.
type historicRow struct {
	ID                id.ID          `json:"id"`
	ShortRef          string         `json:"short_ref"`
	UniqueRef         string         `json:"unique_ref"`
	OwnershipPeriodID id.ID          `json:"ownership_period_id"`
	ListingID         id.ID          `json:"listing_id"`
	Status            HistoricStatus `json:"status"`
	Currency          string         `json:"currency"`
	StartAt           day.Day        `json:"start_at"`
	EndAt             day.Day        `json:"end_at"`
	BalanceStart      money.Cents    `json:"balance_start"`
	NetRevenue        money.Cents    `json:"net_revenue"`
	Expenses          money.Cents    `json:"expenses"`
	Payouts           money.Cents    `json:"payouts"`
	BalanceEnd        money.Cents    `json:"balance_end"`
	Reserve           money.Cents    `json:"reserve"`
	Layout            int            `json:"layout"`
}

// parkHistoric takes statements that move to another place out of their old ones, so that they can take each other's. Their id stands for the
// currency until they are written.
func parkHistoric(ctx context.Context, tx *db.Tx, all []*arrival) error {
	moving := []id.ID{}
	for _, a := range all {
		if a.moved() {
			moving = append(moving, a.id)
		}
	}
	if len(moving) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `update statement set currency = id::text where team_id = @team and id = any(@ids)`, db.Args{"team": tx.Team, "ids": moving})
	if err != nil {
		return fmt.Errorf("move imported statements: %w", err)
	}
	return nil
}

const upsertHistoric = `
	insert into statement (team_id, id, short_ref, unique_ref, imported, ownership_period_id, listing_id, status, currency, start_at, end_at,
		balance_start, net_revenue, expenses, payouts, balance_end, reserve, layout, published_at, created_at, updated_at)
	select @team, r.id, r.short_ref, r.unique_ref, true, r.ownership_period_id, r.listing_id, r.status, r.currency, r.start_at, r.end_at,
		r.balance_start, r.net_revenue, r.expenses, r.payouts, r.balance_end, r.reserve, @layouts::jsonb -> r.layout,
		case when r.status = 'published' then @now::timestamptz end, @now, @now
	from jsonb_to_recordset(@rows::jsonb) r (id uuid, short_ref text, unique_ref text, ownership_period_id uuid, listing_id uuid, status text,
		currency text, start_at date, end_at date, balance_start bigint, net_revenue bigint, expenses bigint, payouts bigint, balance_end bigint,
		reserve bigint, layout integer)
	on conflict (team_id, id) do update set
		ownership_period_id = excluded.ownership_period_id, listing_id = excluded.listing_id, status = excluded.status,
		currency = excluded.currency, start_at = excluded.start_at, end_at = excluded.end_at, balance_start = excluded.balance_start,
		net_revenue = excluded.net_revenue, expenses = excluded.expenses, payouts = excluded.payouts, balance_end = excluded.balance_end,
		reserve = excluded.reserve, layout = excluded.layout, updated_at = excluded.updated_at,
		published_at = case when excluded.status = 'published' then coalesce(statement.published_at, excluded.published_at) end`

// storeHistoric writes statements and their entries, in place of what an earlier import wrote. Rules HST-33, HST-44, HST-45.
func storeHistoric(ctx context.Context, tx *db.Tx, all []*arrival, entries *ledger.Imported) error {
	rows, layouts := historicRows(all)
	document, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode imported statements: %w", err)
	}
	designs, err := json.Marshal(layouts)
	if err != nil {
		return fmt.Errorf("encode layouts: %w", err)
	}
	replaced, reopened := []id.ID{}, []id.ID{}
	for _, a := range all {
		if a.replaces != nil {
			replaced = append(replaced, a.id)
		}
		if a.reopens() {
			reopened = append(reopened, a.id)
		}
	}
	if len(reopened) > 0 {
		if err := keepVersions(ctx, tx, reopened); err != nil {
			return err
		}
	}
	var stmts []db.Stmt
	if len(replaced) > 0 {
		stmts = append(stmts, ledger.RemoveImported(tx, replaced))
	}
	stmts = append(stmts, db.Stmt{SQL: upsertHistoric, Args: db.Args{"team": tx.Team, "now": tx.Now, "rows": string(document), "layouts": string(designs)}})
	stmts = append(stmts, entries.Insert(tx)...)
	stored := make([]id.ID, len(all))
	for i, a := range all {
		stored[i] = a.id
	}
	stmts = append(stmts, keepWords(tx, stored))
	err = tx.Pipeline(ctx, stmts...)
	switch db.Constraint(err) {
	case "statement_once":
		return errExists.Because(err)
	case "statement_unique_ref":
		return errHistoricRef.Because(err)
	}
	if err != nil {
		return fmt.Errorf("store imported statements: %w", err)
	}
	noteImported(tx, all)
	return storeHistoricShares(ctx, tx, all)
}

// noteImported notes what imported statements say now, in place of what they said before.
func noteImported(tx *db.Tx, all []*arrival) {
	type view struct {
		ListingID  id.ID              `json:"listingId"`
		Status     Status             `json:"status"`
		Currency   string             `json:"currency"`
		StartAt    day.Day            `json:"startAt"`
		EndAt      day.Day            `json:"endAt"`
		Financials HistoricFinancials `json:"financials"`
	}
	audit.From(tx, audit.Migration)
	for _, a := range all {
		var before any
		if k := a.replaces; k != nil {
			before = view{k.ListingID, k.Status, k.Currency, k.StartAt, k.EndAt, HistoricFinancials{
				CentBalanceStart: k.BalanceStart, CentNetRevenue: k.NetRevenue, CentExpenses: k.Expenses, CentTransfer: k.Payouts, CentBalanceEnd: k.BalanceEnd,
			}}
		}
		now := a.figures
		now = HistoricFinancials{
			CentBalanceStart: now.CentBalanceStart, CentNetRevenue: now.CentNetRevenue, CentExpenses: now.CentExpenses, CentTransfer: now.CentTransfer,
			CentBalanceEnd: now.CentBalanceEnd,
		}
		audit.Note(tx, audit.Imported, audit.Statement, a.id, before, view{a.ListingID, Status(a.Status), a.Currency, a.StartAt, a.EndAt, now},
			audit.Ref(audit.RoleListing, audit.Listing, a.ListingID), audit.Ref(audit.RoleParent, audit.OwnershipPeriod, a.period.ID))
	}
}

// storeHistoricShares keeps what imported statements tell their members: their parts of the available balance, which the payouts that came in
// with the statements so far decide on.
func storeHistoricShares(ctx context.Context, tx *db.Tx, all []*arrival) error {
	type told struct {
		ID     id.ID         `json:"id"`
		Shares []money.Cents `json:"shares"`
	}
	periods, rows, imported := make([]id.ID, len(all)), make([]told, 0, len(all)), make(map[id.ID]bool, len(all))
	for i, a := range all {
		periods[i], imported[a.id] = a.period.ID, true
	}
	histories, err := historiesOf(ctx, tx, once(periods))
	if err != nil {
		return err
	}
	for _, h := range histories.chains {
		for i := range h.balances {
			if b := &h.balances[i]; imported[b.ID] {
				rows = append(rows, told{b.ID, h.divide(b.Available, b.EndAt, true)[:len(h.owners)]})
			}
		}
	}
	document, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode shares: %w", err)
	}
	_, err = tx.Exec(ctx, `
		update statement s set shares = r.shares from jsonb_to_recordset(@rows::jsonb) r (id uuid, shares bigint[])
		where s.team_id = @team and s.id = r.id`, db.Args{"team": tx.Team, "rows": string(document)})
	if err != nil {
		return fmt.Errorf("store shares: %w", err)
	}
	return nil
}

// historicRows are the rows of statements, with the layouts that they share.
func historicRows(all []*arrival) ([]historicRow, []*layout.Design) {
	layouts := []*layout.Design{}
	at := map[id.ID]int{}
	rows := make([]historicRow, len(all))
	for i, a := range all {
		from := idOrZero(a.layout.LayoutID)
		n, seen := at[from]
		if !seen {
			n = len(layouts)
			at[from] = n
			layouts = append(layouts, a.layout)
		}
		rows[i] = historicRow{
			ID: a.id, ShortRef: a.id.ShortRef(), UniqueRef: a.UniqueRef, OwnershipPeriodID: a.period.ID, ListingID: a.ListingID, Status: a.Status,
			Currency: a.Currency, StartAt: a.StartAt, EndAt: a.EndAt, BalanceStart: a.figures.CentBalanceStart, NetRevenue: a.figures.CentNetRevenue,
			Expenses: a.figures.CentExpenses, Payouts: a.figures.CentTransfer, BalanceEnd: a.figures.CentBalanceEnd, Layout: n,
		}
		if a.period.Reserve != nil {
			rows[i].Reserve = *a.period.Reserve
		}
	}
	return rows, layouts
}
