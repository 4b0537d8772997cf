package statement

import (
	"context"
	"fmt"

	"stayledger/domain/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// told is what statements are told from beside their rows, loaded for all of them at once.
type told struct {
	sums     sums
	owners   map[id.ID][]owner
	payouts  map[id.ID][]linkedPayout
	special  special
	journals map[id.ID]ledger.JournalStatus // by listing
	// asOwner leaves out what leads into the manager's books.
	asOwner bool
}

// tell makes statements of rows: figures of saved ones are stored, those of drafts are added up now.
func tell(ctx context.Context, tx *db.Tx, rows []row, asOwner bool) ([]Statement, error) {
	out := make([]Statement, 0, len(rows))
	if len(rows) == 0 {
		return out, nil
	}
	t := told{asOwner: asOwner}
	var err error
	if t.sums, err = draftSums(ctx, tx, rows); err != nil {
		return nil, err
	}
	if t.owners, err = ownersOf(ctx, tx, periodsOf(rows)); err != nil {
		return nil, err
	}
	var saved []id.ID
	for i := range rows {
		if !rows[i].ID.IsZero() {
			saved = append(saved, rows[i].ID)
		}
	}
	if len(saved) > 0 {
		if t.payouts, err = payoutsOf(ctx, tx, saved); err != nil {
			return nil, err
		}
	}
	if t.journals, err = ledger.StatusOfListings(ctx, tx, listingsOf(rows)); err != nil {
		return nil, err
	}
	if !asOwner {
		if t.special, err = specialOf(ctx, tx); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		out = append(out, t.statement(&rows[i]))
	}
	return out, nil
}

// draftSums adds up what the drafts among the rows need.
func draftSums(ctx context.Context, tx *db.Tx, rows []row) (sums, error) {
	var drafts []row
	for i := range rows {
		if rows[i].ID.IsZero() {
			drafts = append(drafts, rows[i])
		}
	}
	if len(drafts) == 0 {
		return sums{}, nil
	}
	last := drafts[0].StartAt
	for i := range drafts {
		if drafts[i].StartAt.After(last) {
			last = drafts[i].StartAt
		}
	}
	return sumsOf(ctx, tx, periodsOf(drafts), last.LastOfMonth())
}

func (t *told) financials(r *row) Financials {
	f := Financials{BalanceStart: r.BalanceStart, NetRevenue: r.NetRevenue, Expenses: r.Expenses, Payouts: r.Payouts}
	if r.ID.IsZero() {
		f = t.sums.figures(r.key())
	}
	f.Reserve = r.Reserve
	return f.complete()
}

func (t *told) statement(r *row) Statement {
	f := t.financials(r)
	owners := t.owners[r.OwnershipPeriodID]
	members := make([]Member, len(owners))
	for i := range owners {
		members[i] = Member{OwnerID: owners[i].ContactID, ContactID: owners[i].ContactID, Split: owners[i].Split}
	}
	payouts := []Payout{}
	var received money.Cents
	for _, p := range t.payouts[r.ID] {
		received -= p.Total
		payouts = append(payouts, Payout{ID: p.ID, Date: p.Date, Total: p.Total, TotalFormatted: p.Total.Format(r.Currency, "en")})
	}
	s := Statement{
		ID: r.id(), ShortRef: r.id().ShortRef(), Currency: r.Currency, StartAt: r.StartAt, EndAt: r.StartAt.LastOfMonth(), Status: r.Status,
		Listing:   Listing{ID: r.ListingID, Name: r.ListingName, UniqueRef: r.ListingRef},
		Ownership: Ownership{ID: r.OwnershipPeriodID, StartAt: r.PeriodStartAt, EndAt: r.PeriodEndAt, Reserve: f.Reserve, Members: members},
		Total:     f.NetIncome, Financials: f, Shares: share(f.Available, owners), Summary: f.summary(),
		Payment: paymentOf(f.Available, received), Payouts: payouts,
		JournalStatus: t.journalStatus(r), Issues: []Issue{},
	}
	if r.ShortRef != nil {
		s.ShortRef = *r.ShortRef
	}
	if !t.asOwner {
		s.Drilldown, s.Drilldowns = t.drilldowns(r)
	}
	return s
}

// journalStatus names the operations to the manager alone.
func (t *told) journalStatus(r *row) ledger.JournalStatus {
	status := t.journals[r.ListingID]
	if t.asOwner {
		status.OperationIDs = []id.ID{}
	}
	return status
}

// drilldowns are the report filters of the statement and of its figures; they follow the same cases as section does.
func (t *told) drilldowns(r *row) (*Drilldown, *Drilldowns) {
	all := Drilldown{Type: "journalEntryReport", Filter: DrilldownFilter{
		OwnershipPeriodIDs: []id.ID{r.OwnershipPeriodID}, Party: "owners", Currency: r.Currency,
		DateRange: r.StartAt.String() + "..." + r.StartAt.LastOfMonth().String(), IsDateRangeEndInclusive: true,
	}}
	var apart []id.ID
	for _, account := range []id.ID{t.special.Opening, t.special.Payout} {
		if !account.IsZero() {
			apart = append(apart, account)
		}
	}
	figures := Drilldowns{NetRevenue: all, Expenses: all}
	figures.NetRevenue.Filter.NotAccountIDs, figures.NetRevenue.Filter.NotTransactionTypes = apart, []string{"expense"}
	figures.Expenses.Filter.NotAccountIDs, figures.Expenses.Filter.TransactionTypes = apart, []string{"expense"}
	if !t.special.Payout.IsZero() {
		payouts := all
		payouts.Filter.AccountIDs = []id.ID{t.special.Payout}
		figures.Payouts = &payouts
	}
	return &all, &figures
}

// list reads a page of the selected statements.
func list(ctx context.Context, tx *db.Tx, f *Filter, p page.Params) (*page.Page[Statement], error) {
	q, err := selection(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	rows, err := page.List[row](ctx, tx, q, p, f.Sort)
	if err != nil {
		return nil, err
	}
	statements, err := tell(ctx, tx, rows.Data, tx.Actor.Owner != nil)
	if err != nil {
		return nil, err
	}
	return &page.Page[Statement]{Data: statements, Pagination: rows.Pagination}, nil
}

func selection(ctx context.Context, tx *db.Tx, f *Filter) (page.Query, error) {
	var at []key
	if len(f.StatementIDs) > 0 {
		var err error
		if at, err = resolve(ctx, tx, f.StatementIDs); err != nil {
			return page.Query{}, err
		}
	}
	return f.query(tx, at), nil
}

func selectRows(ctx context.Context, tx *db.Tx, f *Filter) ([]row, error) {
	q, err := selection(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	rows, err := db.Select[row](ctx, tx, q.SQL(f.Sort), q.Args)
	if err != nil {
		return nil, fmt.Errorf("select statements: %w", err)
	}
	return rows, nil
}

// Select gives the ids of all selected statements, drafts included, in the order that the filter asks for and as far as the actor may see
// them. Ids in StatementIDs that name nothing are left out.
func Select(ctx context.Context, tx *db.Tx, f Filter) ([]id.ID, error) {
	rows, err := selectRows(ctx, tx, &f)
	if err != nil {
		return nil, err
	}
	ids := make([]id.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].id()
	}
	return ids, nil
}

// eachChunk bounds how many statements Each holds at a time.
const eachChunk = 500

// Each hands all selected statements to f in their order, without their lines; memory grows with their number by a row each.
func Each(ctx context.Context, tx *db.Tx, filter Filter, f func(*Statement) error) error {
	rows, err := selectRows(ctx, tx, &filter)
	if err != nil {
		return err
	}
	for len(rows) > 0 {
		n := min(len(rows), eachChunk)
		statements, err := tell(ctx, tx, rows[:n], tx.Actor.Owner != nil)
		if err != nil {
			return err
		}
		for i := range statements {
			if err := f(&statements[i]); err != nil {
				return err
			}
		}
		rows = rows[n:]
	}
	return nil
}
