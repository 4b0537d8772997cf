package statement

import (
	"context"
	"fmt"
	"maps"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
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

// The codes of issues. Rules ERR-112 to ERR-114.
const (
	issueLayoutMismatch = "netRevenueLayoutMismatch"
	issueUnassigned     = "line_unassignedAccount"
	issueEmptyColumns   = "emptyJournalEntryAccountIds"
	issueMismatchStart  = "balanceMismatch_start"
	issueMismatchEnd    = "balanceMismatch_end"
	issueEmailMissing   = "emailMissing"
	issueChanged        = "changedSincePublished"
)

// blockingIssues returns the issues that keep a statement from being saved.
func blockingIssues(issues []finding.Finding) []finding.Finding {
	var out []finding.Finding

	for i := range issues {
		if issues[i].Severity == finding.Error {
			out = append(out, issues[i])
		}
	}

	return out
}

// issue returns a finding about a statement. An error keeps a computed statement from being saved. An imported one
// is saved as it is, so its findings are warnings.
func (r *row) issue(code string, context map[string]any) finding.Finding {
	if r.Imported {
		return finding.Finding{Code: code, Severity: finding.Warning, Context: context}
	}

	return finding.Finding{Code: code, Severity: finding.Error, Context: context}
}

// paymentIssues returns the payouts that have not arrived. A payout that was given back and booked so is an issue
// until the statement is paid in another way. These issues do not affect the figures, so they keep no statement
// from being saved.
func paymentIssues(s *Statement, payouts []chain.Payout) []finding.Finding {
	var issues []finding.Finding

	for i := range payouts {
		// Skip payouts that arrived, and returned ones if the statement is paid by now.
		p := &payouts[i]
		if p.PaymentID == nil || p.Missing == 0 && (s.Payment.Status == Paid || s.Payment.Status == Overpaid) {
			continue
		}

		// A payment that waits for approval is on its way.
		severity := finding.Error
		if p.Code == transaction.AwaitingApproval {
			severity = finding.Warning
		}

		issues = append(issues, finding.Finding{Code: p.Code, Severity: severity, Context: map[string]any{
			"transactionId": p.ID,
			"paymentId":     *p.PaymentID,
			"contactId":     p.ContactID,
			"amount":        p.Refused,
			"currency":      s.Currency,
		}})
	}

	return issues
}

// emailIssues returns a warning for each owner who could not be sent an e-mail about the published statement.
func emailIssues(contacts []id.ID) []finding.Finding {
	var issues []finding.Finding
	for _, contact := range contacts {
		issues = append(issues, finding.Finding{
			Code: issueEmailMissing, Severity: finding.Warning, Context: map[string]any{"contactId": contact},
		})
	}

	return issues
}

// issueData is what the issues of statements are found from, besides their rows.
type issueData struct {
	before      map[key]*predecessor
	twice       map[id.ID][]id.ID
	changed     map[id.ID]money.Cents // nil where warnings do not count
	unaccounted map[id.ID]finding.Finding
	sums        map[id.ID][]layout.Entry
	frozen      map[id.ID]*layout.Design
}

// findIssues returns what is wrong with statements, by their ids, in a few queries for all of them: what keeps them from
// being saved. Drafts must be computed.
func findIssues(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID][]finding.Finding, error) {
	var d issueData

	works := append(d.works(rows), func(ctx context.Context, tx *db.Tx) (err error) {
		if d.before, err = loadPredecessors(ctx, tx, rows); err != nil {
			return err
		}

		return loadGapMonths(ctx, tx, rows, d.before)
	})

	if err := tx.Together(ctx, works...); err != nil {
		return nil, err
	}

	return d.find(rows), nil
}

// works returns the work that loads the data, except the statements before the rows and what is kept of them. Each kind
// of issue has its own source.
func (d *issueData) works(rows []row) []db.Work {
	works := []db.Work{db.LoadBy(&d.twice, loadDuplicates, rows), db.LoadBy(&d.unaccounted, loadUnaccounted, rows)}

	var laidOut []row

	for i := range rows {
		if rows[i].isLaidOut() {
			laidOut = append(laidOut, rows[i])
		}
	}

	if len(laidOut) > 0 {
		works = append(works, db.LoadBy(&d.sums, loadAccountSums, laidOut), db.LoadBy(&d.frozen, loadFrozen, laidOut))
	}

	return works
}

// isLaidOut reports whether the layout of the statement is compared with its sums. That of a saved computed statement is
// not checked again: neither it nor the entries have changed since it fitted. A row with a design shows an unsaved layout
// or is a draft.
func (r *row) isLaidOut() bool { return r.isDraft() || r.Imported || r.design != nil }

// find returns the issues of statements by their ids.
func (d *issueData) find(rows []row) map[id.ID][]finding.Finding {
	out := make(map[id.ID][]finding.Finding, len(rows))

	for i := range rows {
		r := &rows[i]
		of := r.id()
		found := r.chainIssues(d.before[r.key()])

		if stays := d.twice[of]; stays != nil {
			found = append(found, reservation.DuplicateFinding(stays))
		}

		if cents := d.changed[of]; cents != 0 {
			found = append(found, finding.Finding{
				Code: issueChanged, Severity: finding.Warning,
				Context: map[string]any{"centTotal": cents, "currency": r.Currency},
			})
		}

		if f, is := d.unaccounted[of]; is {
			found = append(found, f)
		}

		// A statement without a layout shows no tables, so nothing can be missing there.
		design := r.design
		if design == nil {
			design = d.frozen[of]
		}

		if r.isLaidOut() && design != nil {
			found = append(found, r.layoutIssues(design, d.sums[of])...)
		}

		out[of] = found
	}

	return out
}

// changedSQL is the SQL of what locks hold back of the days of a saved statement s, positive for what the owners get more.
// GET /journals/held-back says what it is.
const changedSQL = `coalesce((select -sum(l.cent_total)::bigint from ledger_held_line l where l.team_id = @team
	and l.ownership_period_id = s.ownership_period_id and l.party = 'owners' and l.currency = s.currency and l.txn_at between s.start_at and s.end_at), 0)`

// loadUnaccounted returns, by draft, the issue that lines of its stays have a type that no account takes: they would
// be missing in it.
func loadUnaccounted(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID]finding.Finding, error) {
	var (
		months []reservation.OwnersMonth
		drafts []*row
	)

	for i := range rows {
		if r := &rows[i]; r.isDraft() {
			drafts = append(drafts, r)
			months = append(months, reservation.OwnersMonth{
				PeriodID: r.OwnershipPeriodID, Currency: r.Currency, StartAt: r.StartAt, EndAt: r.EndAt,
			})
		}
	}

	if len(drafts) == 0 {
		return nil, nil
	}

	found, err := reservation.LoadUnaccounted(ctx, tx, months)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]finding.Finding, len(found))

	for i := range found {
		f, r := &found[i], drafts[found[i].Place-1]
		out[r.id()] = r.issue(issueUnassigned, map[string]any{
			"lineTypes": f.Types, "centTotal": f.Cents, "currency": r.Currency, "reservationIds": f.StayIDs,
		})
	}

	return out, nil
}

// layoutIssues returns an issue for each kind of amount that a layout leaves out of a statement. Sums by section
// and account are enough as entries.
func (r *row) layoutIssues(design *layout.Design, entries []layout.Entry) []finding.Finding {
	var issues []finding.Finding

	shown, f := design.Render(entries, false), r.financials()

	// The sections for net revenue must add up to the figure.
	if shown.NetRevenue != f.NetRevenue {
		issues = append(issues, r.issue(issueLayoutMismatch, map[string]any{
			"netRevenue":       f.NetRevenue,
			"layoutNetRevenue": shown.NetRevenue,
			"difference":       shown.NetRevenue - f.NetRevenue,
		}))
	}

	// Accounts with amounts that no column shows.
	if len(shown.Unplaced) > 0 {
		issues = append(issues, r.issue(issueUnassigned, map[string]any{"accountIds": shown.Unplaced}))
	}

	// Columns that name no account.
	if len(shown.EmptyColumns) > 0 {
		issues = append(issues, r.issue(issueEmptyColumns, map[string]any{"affected": shown.EmptyColumns}))
	}

	return issues
}

// predecessor is the last stored statement before another of its chain.
type predecessor struct {
	Place      int64
	ID         id.ID
	EndAt      day.Day
	BalanceEnd money.Cents
	Imported   bool
	// Rest adds up the entries after the last day of an imported statement in the same month: that month has no draft
	// that could show them.
	Rest money.Cents
}

// chainIssues returns an issue for each balance of a statement that does not follow from the others. The statement before
// it is nil for the first one.
func (r *row) chainIssues(p *predecessor) []finding.Finding {
	var issues []finding.Finding

	// Within an imported statement, the end must follow from the start.
	f := r.financials()
	if derived := f.complete().BalanceEnd; r.Imported && f.BalanceEnd != derived {
		issues = append(issues, r.issue(issueMismatchEnd, map[string]any{
			"balanceEnd": f.BalanceEnd, "expectedBalanceEnd": derived, "difference": f.BalanceEnd - derived,
		}))
	}

	if p == nil {
		return issues
	}

	// Between two statements, the start must follow from the end of the one before.
	if expected := p.expectedStart(r); f.BalanceStart != expected {
		issues = append(issues, r.issue(issueMismatchStart, map[string]any{
			"balanceStart":         f.BalanceStart,
			"expectedBalanceStart": expected,
			"difference":           f.BalanceStart - expected,
			"previousStatementId":  p.ID,
		}))
	}

	return issues
}

// expectedStart returns the balance that a statement must start with after its predecessor: the predecessor's balance
// at the end plus the entries between the two. Opening balances are added unless the predecessor is imported: they
// bring the balance of an imported statement into the books.
func (p *predecessor) expectedStart(r *row) money.Cents {
	expected := p.BalanceEnd
	if r.Imported {
		return expected
	}

	expected += p.Rest

	// Months that the predecessor covers, and those after the start, do not count.
	for i := range r.months {
		m := &r.months[i]
		if !m.Month.After(p.EndAt) || m.Month.After(r.StartAt) {
			continue
		}

		// Of the statement's own month, only opening balances belong to the start.
		if m.Month.Before(r.StartAt) {
			expected += m.NetRevenue + m.Expenses + m.Payouts
		}

		if !p.Imported {
			expected += m.Opening
		}
	}

	return expected
}

// findPredecessors returns the last saved statement before each row in its history. Rows without one are left out. The
// database is asked only for what was booked after imported statements that end within a month.
func findPredecessors(ctx context.Context, tx *db.Tx, rows []row, all *chain.Histories) (map[key]*predecessor, error) {
	out := make(map[key]*predecessor, len(rows))

	var broken []row

	for i := range rows {
		r := &rows[i]

		b := all.Chain(r.chain()).Last(r.StartAt, false)
		if b == nil {
			continue
		}

		out[r.key()] = &predecessor{ID: b.ID, EndAt: b.EndAt, BalanceEnd: b.Available + b.Reserve, Imported: b.Imported}
		if b.Imported && b.EndAt != b.EndAt.LastOfMonth() {
			broken = append(broken, *r)
		}
	}

	if len(broken) == 0 {
		return out, nil
	}

	found, err := loadPredecessors(ctx, tx, broken)
	maps.Copy(out, found)

	return out, err
}

// loadPredecessors loads the last saved statement before each row of its chain. Rows without one are left out.
func loadPredecessors(ctx context.Context, tx *db.Tx, rows []row) (map[key]*predecessor, error) {
	at := rowKeys(rows)
	periods, currencies, starts := columns(at)

	// After an imported statement that ends within a month, the rest of the month is added up as well: no statement
	// shows it.
	found, err := db.Select[predecessor](ctx, tx, `
		select k.place, p.* from unnest(@periods::uuid[], @currencies::text[], @starts::date[]) with ordinality k (period, currency, start_at, place)
		cross join lateral (
			select v.id, v.end_at, v.balance_end, v.imported, case when v.imported and v.end_at < m.last_day then coalesce((
				select -sum(e.cent_total) from ledger_entry e cross join `+specialAccounts+`
				where `+ledger.OwnersEntry+` and e.ownership_period_id = k.period and e.currency = k.currency and e.txn_at > v.end_at and e.txn_at <= m.last_day
					and e.account_id is distinct from s.opening), 0) else 0 end::bigint as rest
			from statement v cross join lateral (select (date_trunc('month', v.end_at::timestamp) + interval '1 month')::date - 1 as last_day) m
			where v.team_id = @team and v.ownership_period_id = k.period and v.currency = k.currency and v.start_at < k.start_at
			order by v.start_at desc limit 1
		) p`, db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "starts": starts})
	if err != nil {
		return nil, fmt.Errorf("find previous statements: %w", err)
	}

	out := make(map[key]*predecessor, len(found))
	for i := range found {
		out[at[found[i].Place-1]] = &found[i]
	}

	return out, nil
}

// loadGapMonths loads the months of saved statements that do not start where the one before them ended. There are few
// of them.
func loadGapMonths(ctx context.Context, tx *db.Tx, rows []row, before map[key]*predecessor) error {
	var (
		late []*row
		last day.Day
	)

	// Drafts have their months already, and imported statements are compared without them.
	gap := func(r *row) bool {
		p := before[r.key()]

		return !r.isDraft() && !r.Imported && p != nil &&
			(p.BalanceEnd != r.BalanceStart || p.EndAt.AddDays(1) != r.StartAt)
	}
	for i := range rows {
		if r := &rows[i]; gap(r) {
			late = append(late, r)
			if r.EndAt.After(last) {
				last = r.EndAt
			}
		}
	}

	if len(late) == 0 {
		return nil
	}

	// The sums of all their chains in one query, up to the latest end.
	months, err := loadMonthSums(ctx, tx, firstsOfChains(late), last)
	if err != nil {
		return err
	}

	for _, r := range late {
		r.added = months[r.chain()]
	}

	return nil
}

// accountSum adds up the entries of a statement on one account.
type accountSum struct {
	StatementID       id.ID // of a saved statement
	OwnershipPeriodID id.ID
	Currency          string
	Month             *day.Day
	Section           Section
	AccountID         id.ID
	AccountName       string
	AccountCode       string
	Classification    string
	Total             money.Cents
}

// entry returns the sum in the form that layouts add up.
func (s *accountSum) entry() layout.Entry {
	return layout.Entry{
		Section: string(s.Section), AccountID: s.AccountID, AccountName: s.AccountName, AccountCode: s.AccountCode,
		Classification: s.Classification, Total: s.Total,
	}
}

// loadAccountSums adds up the entries of statements by section and account.
func loadAccountSums(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID][]layout.Entry, error) {
	var (
		saved  []id.ID
		drafts []key
	)

	// Saved statements are found by id, drafts by ownership period and month.
	for i := range rows {
		if r := &rows[i]; r.isDraft() {
			drafts = append(drafts, r.key())
		} else {
			saved = append(saved, r.ID)
		}
	}

	periods, currencies, starts := columns(drafts)

	// Drafts read the kept month sums of ledger_owner, which are far fewer than entries; saved ones read their own
	// entries. A group without entries is left out even if its sum is 0.
	found, err := db.Select[accountSum](ctx, tx, `
		with draft as materialized (
			select k.*, s.* from unnest(@periods::uuid[], @currencies::text[], @starts::date[]) k (ownership_period_id, currency, start_at)
			cross join `+specialAccounts+`
		), noted as materialized (`+ledger.NotedOwnerSumsSQL("draft", "c.start_at", "c.start_at")+`)
		select e.statement_id, e.ownership_period_id, e.currency, e.month, e.section, e.account_id, a.name as account_name, coalesce(a.code, '') as account_code,
			c.classification, e.total
		from (
			select e.statement_id, e.ownership_period_id, e.currency, e.month, e.section, e.account_id, -sum(e.cents)::bigint as total
			from (
				select null::uuid as statement_id, c.ownership_period_id, c.currency, e.month, `+keptSection+` as section, e.account_id, e.cents, e.entries
				from draft c cross join lateral (select * from `+ledger.OwnerSumsSQL("c.start_at", "c.start_at")+` e`+db.Fence+`) e
				union all
				select e.statement_id, e.ownership_period_id, e.currency, null, `+section+`, e.account_id, e.cent_total, 1
				from ledger_entry e cross join `+specialAccounts+`
				where e.team_id = @team and e.statement_id = any(@saved)
			) e where e.section <> 'balanceStart' group by 1, 2, 3, 4, 5, 6 having sum(e.entries) > 0
		) e
		join account a on a.team_id = @team and a.id = e.account_id
		join account_category c on c.team_id = @team and c.id = a.category_id
		order by `+page.TextSQL("a.code")+`, `+page.TextSQL("a.name")+`, a.id`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "starts": starts, "saved": saved})
	if err != nil {
		return nil, fmt.Errorf("add up statements by account: %w", err)
	}

	out := map[id.ID][]layout.Entry{}

	for i := range found {
		s := &found[i]

		at := s.StatementID
		if at.IsZero() {
			at = key{s.OwnershipPeriodID, s.Currency, *s.Month}.ID()
		}

		out[at] = append(out[at], s.entry())
	}

	return out, nil
}
