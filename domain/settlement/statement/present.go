package statement

import (
	"context"
	"fmt"
	"maps"

	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// viewData is everything that statements show besides their rows, loaded for all of them in one round trip.
type viewData struct {
	histories *chain.Histories
	payouts   map[id.ID][]chain.Payout
	journals  map[id.ID]ledger.JournalStatus // by listing
	issues    map[id.ID][]finding.Finding
	owed      map[id.ID]money.Cents // the part of the balance that guests still owe
	kept      map[id.ID]*kept
	entries   map[id.ID][]entry
	// asOwner leaves out what leads into the manager's books, and withLines adds the entries and designs.
	asOwner, withLines bool
}

// render returns statements of rows. The figures of saved ones are stored; those of drafts are added up now.
func render(ctx context.Context, tx *db.Tx, rows []row, asOwner bool) ([]Statement, error) {
	if len(rows) == 0 {
		return []Statement{}, nil
	}

	t := viewData{asOwner: asOwner}
	if err := t.load(ctx, tx, rows); err != nil {
		return nil, err
	}

	return t.statements(rows), nil
}

// statements returns rows as the API shows them.
func (t *viewData) statements(rows []row) []Statement {
	out := make([]Statement, len(rows))
	for i := range rows {
		out[i] = t.statement(&rows[i])
	}

	return out
}

// load loads the data of statements in one round trip, with what drafts are computed from.
func (t *viewData) load(ctx context.Context, tx *db.Tx, rows []row) error {
	var found issueData

	// Every reader sees these.
	works := []db.Work{
		func(ctx context.Context, tx *db.Tx) error { return loadDraftData(ctx, tx, rows) },
		func(ctx context.Context, tx *db.Tx) error { return t.loadKeptWithDesigns(ctx, tx, rows) },
		db.LoadBy(&t.owed, loadUncollected, rows),
		db.LoadBy(&t.journals, ledger.LoadListingStatuses, listingIDs(rows)),
		func(ctx context.Context, tx *db.Tx) error { return t.loadChains(ctx, tx, rows, &found) },
	}

	if t.withLines {
		works = append(works, func(ctx context.Context, tx *db.Tx) error { return t.loadEntries(ctx, tx, rows) })
	}

	// Only saved statements have payouts.
	if saved := collectSaved(rows); len(saved) > 0 {
		works = append(works, db.LoadBy(&t.payouts, chain.LoadPayouts, saved))
	}

	// Issues are for the manager.
	if t.asOwner {
		return tx.Together(ctx, works...)
	}

	if err := tx.Together(ctx, append(works, found.works(rows)...)...); err != nil {
		return err
	}

	found.changed = make(map[id.ID]money.Cents, len(rows))
	for of, k := range t.kept {
		found.changed[of] = k.Changed
	}

	t.issues = found.find(rows)

	return nil
}

// loadChains loads the histories of statements. For the manager it adds to the data of issues the statements before them.
func (t *viewData) loadChains(ctx context.Context, tx *db.Tx, rows []row, found *issueData) (err error) {
	if t.histories, err = loadHistories(ctx, tx, rows); err != nil || t.asOwner {
		return err
	}

	if found.before, err = findPredecessors(ctx, tx, rows, t.histories); err != nil {
		return err
	}

	// Only statements that leave a gap to the one before need their months for this.
	return loadGapMonths(ctx, tx, rows, found.before)
}

// loadEntries loads the entries of statements, with the files of expenses that the reader may see.
func (t *viewData) loadEntries(ctx context.Context, tx *db.Tx, rows []row) (err error) {
	t.entries, err = loadEntriesOfToday(ctx, tx, rows, entryFilesSQL(t.asOwner))

	return err
}

// loadDraftData loads the data that drafts are computed from: the months of their chains and the designs that their
// listings have now.
func loadDraftData(ctx context.Context, tx *db.Tx, rows []row) error {
	var (
		drafts   []*row
		listings []id.ID
		last     day.Day
	)

	for i := range rows {
		// The data of a row with a design was loaded before, or it shows an unsaved layout.
		r := &rows[i]
		if !r.isDraft() || r.design != nil {
			continue
		}

		drafts = append(drafts, r)

		listings = append(listings, r.ListingID)
		if r.StartAt.After(last) {
			last = r.StartAt
		}
	}

	if len(drafts) == 0 {
		return nil
	}

	// Load all months up to the last draft: a balance at the start adds up the earlier months.
	var (
		months  sums
		designs map[id.ID]*layout.Design
	)

	err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			months, err = loadMonthSums(ctx, tx, firstsOfChains(drafts), last.LastOfMonth())
			return err
		},
		db.LoadBy(&designs, layout.LoadChosen, id.Distinct(listings)))
	if err != nil {
		return err
	}

	for _, r := range drafts {
		r.added, r.design = months[r.chain()], designs[r.ListingID]
	}

	return nil
}

// loadUncollected returns the amounts of statements, by id, that guests owe or that are kept until their stays.
// Imported statements have none, because their money was collected in the earlier system.
func loadUncollected(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID]money.Cents, error) {
	var (
		ids    []id.ID
		chains []chain.Until
	)

	for i := range rows {
		// Each statement is a chain with its own last day.
		if r := &rows[i]; !r.Imported {
			ids, chains = append(ids, r.id()), append(chains, chain.Until{Chain: r.chain(), Day: r.EndAt})
		}
	}

	held, err := chain.LoadHeld(ctx, tx, chains, tx.Today())

	out := make(map[id.ID]money.Cents, len(ids))
	for i := range held {
		out[ids[i]] = held[i].Total()
	}

	return out, err
}

// loadOneDraftData does the same as loadDraftData for a single statement.
func loadOneDraftData(ctx context.Context, tx *db.Tx, r *row) error {
	rows := []row{*r}
	err := loadDraftData(ctx, tx, rows)
	*r = rows[0]

	return err
}

// summaryType returns how the layout of a statement shows the summary.
func (t *viewData) summaryType(r *row) string {
	if r.design != nil {
		return r.design.SummaryType
	}

	return t.kept[r.id()].SummaryType
}

// statement returns a row as the API shows it.
func (t *viewData) statement(r *row) Statement {
	f := r.financials()
	h, kept := t.histories.Chain(r.chain()), t.kept[r.id()]
	owners, standings := h.Owners, r.standings(h, &f)

	// The members of the ownership, in their order.
	members := make([]Member, len(owners))
	for i := range owners {
		members[i] = Member{
			ID:        owners[i].ContactID,
			OwnerID:   owners[i].ContactID,
			ContactID: owners[i].ContactID,
			Split:     owners[i].Split,
		}
	}

	// The payouts that name the statement; a draft has none.
	payouts := []Payout{}
	for _, p := range t.payouts[r.ID] {
		payouts = append(payouts, Payout{
			ID:             p.ID,
			ContactID:      p.ContactID,
			Date:           p.Date,
			Total:          p.Total,
			TotalFormatted: p.Total.Format(r.Currency, "en"),
			Received:       p.AmountReceived(),
		})
	}

	// Then the statement itself, in the names of today.
	s := Statement{
		ID:          r.id(),
		ShortRef:    r.shortRef(),
		UniqueRef:   r.UniqueRef,
		Currency:    r.Currency,
		StartAt:     r.StartAt,
		EndAt:       r.EndAt,
		Status:      r.Status,
		Source:      Source{Type: Computed},
		Version:     kept.Versions,
		PublishedAt: r.PublishedAt,
		Listing:     Listing{ID: r.ListingID, Name: r.ListingName, UniqueRef: r.ListingRef},
		Ownership: Ownership{
			ID:      r.OwnershipPeriodID,
			StartAt: r.PeriodStartAt,
			EndAt:   r.PeriodEndAt,
			Reserve: f.Reserve,
			Members: members,
		},
		Total:         f.NetIncome,
		Financials:    r.funds(f, t.owed[r.id()]),
		Shares:        shares(owners, standings),
		Summary:       f.summary(t.summaryType(r)),
		Parts:         r.divideFigures(h, &f),
		Earned:        f.BalanceStart - chain.Total(r.ownBefore(h)),
		Payment:       payment(standings),
		Payouts:       payouts,
		JournalStatus: t.journalStatus(r),
		Issues:        []finding.Finding{},
	}
	if r.Imported {
		s.Source.Type = Import
	}

	// The stored versions are those that were reopened; the published one counts as well.
	if r.Status == Published {
		s.Version++
	}

	if found := t.issues[s.ID]; len(found) > 0 {
		s.Issues = found
	}

	// Published statements keep the names that they were published with.
	kept.Words.describe(&s)

	// Last, what leads into the manager's books. Issues of payments depend on the payment status that was set
	// before.
	if !t.asOwner {
		s.Issues = append(s.Issues, paymentIssues(&s, t.payouts[r.ID])...)
		s.Issues = append(s.Issues, emailIssues(kept.Unmailed)...)
		s.Drilldown, s.Drilldowns = kept.drilldowns(r)
	}

	return s
}

// journalStatus returns the status of the listing's journals. Only the manager sees the operations.
func (t *viewData) journalStatus(r *row) ledger.JournalStatus {
	status := t.journals[r.ListingID]
	if t.asOwner {
		status.OperationIDs = []id.ID{}
	}

	return status
}

// list returns a page of the selected statements.
func list(ctx context.Context, tx *db.Tx, f *Filter, p page.Params, asOwner bool) (*page.Page[Statement], error) {
	q, err := f.query(ctx, tx, true)
	if err != nil {
		return nil, err
	}

	rows, total, err := loadPage(ctx, tx, q, p, f.Sort)
	if err != nil {
		return nil, err
	}

	statements, err := render(ctx, tx, rows, asOwner || tx.Actor.SeesAsOwner())
	if err != nil {
		return nil, err
	}

	return &page.Page[Statement]{Data: statements, Pagination: p.Of(total)}, nil
}

// loadPage returns the statements on a page of a query, in their order, and the number of all that it selects. Of a
// statement outside the page only its key is read.
func loadPage(ctx context.Context, tx *db.Tx, q page.Query, p page.Params, sort Sort) ([]row, int64, error) {
	type counted struct {
		row
		Total int64
	}

	args := maps.Clone(q.Args)
	q.Columns = "g.ownership_period_id, g.currency, g.start_at, count(*) over () as total"
	q.From = q.Narrowest(string(sort))
	keys := "(select row_number() over () as place, p.* from (" + p.PageSQL(q.SQL(string(sort)), args) + ") p) k"

	// The total comes with each row, so page and total agree.
	found, err := db.Select[counted](ctx, tx, "select "+rowColumns+", g.total from "+keyTablesSQL(keys, ", k.total")+" order by g.place", args)
	if err != nil {
		return nil, 0, fmt.Errorf("list statements: %w", err)
	}

	if len(found) == 0 {
		if p.Rows() == 0 {
			return nil, 0, nil
		}

		// After the last page no row carries the total, so ask for it with the first row.
		_, total, err := loadPage(ctx, tx, q, page.Params{Limit: 1}, sort)

		return nil, total, err
	}

	rows := make([]row, len(found))
	for i := range found {
		rows[i] = found[i].row
	}

	return rows, found[0].Total, nil
}

// selectRows loads the rows of all selected statements in the order of the filter.
func selectRows(ctx context.Context, tx *db.Tx, f *Filter) ([]row, error) {
	q, err := f.query(ctx, tx, false)
	if err != nil {
		return nil, err
	}

	rows, err := db.Select[row](ctx, tx, q.SQL(string(f.Sort)), q.Args)
	if err != nil {
		return nil, fmt.Errorf("select statements: %w", err)
	}

	return rows, nil
}

// Select returns the ids of all selected statements, drafts included, in the order of the filter and as far as the
// actor may see them. Ids in StatementIDs that name nothing are left out.
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
