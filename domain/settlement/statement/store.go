package statement

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// row is a statement as read from the database. Saved statements have stored figures; drafts have none until
// loadDraftData fills in what they are computed from.
type row struct {
	ID                id.ID
	ShortRef          *string
	OwnershipPeriodID id.ID
	ListingID         id.ID
	Currency          string
	StartAt           day.Day
	EndAt             day.Day
	Status            Status
	BalanceStart      money.Cents
	NetRevenue        money.Cents
	Expenses          money.Cents
	Payouts           money.Cents
	BalanceEnd        money.Cents
	Reserve           money.Cents
	Collected         *money.Cents // of a published statement
	ListingName       string
	ListingRef        *string
	DefaultCurrency   string
	PeriodStartAt     *day.Day
	PeriodEndAt       *day.Day
	Imported          bool
	UniqueRef         *string
	PublishedAt       *day.Instant
	StatementsFrom    *day.Day // of the team
	// A draft is computed from base, months and design; loadDraftData fills them in. A saved statement has its figures
	// and its own copy of a design.
	added
	design *layout.Design
}

// isDraft reports whether the statement has no stored row.
func (r *row) isDraft() bool { return r.ID.IsZero() }

// firstMonth returns the month of the first statement of a draft's chain.
func (r *row) firstMonth() day.Day {
	// The later of two starts counts: that of the ownership and that of the team's statements. Without either, the
	// chain starts with its first entry; of a chain with a saved statement it is enough that it starts by then.
	first := r.StartAt
	switch {
	case r.PeriodStartAt != nil && r.StatementsFrom != nil:
		first = day.Max(*r.PeriodStartAt, *r.StatementsFrom)
	case r.PeriodStartAt != nil:
		first = *r.PeriodStartAt
	case r.StatementsFrom != nil:
		first = *r.StatementsFrom
	case r.base != nil:
		first = r.base.StartAt
	case len(r.months) > 0:
		first = r.months[0].Month
	}

	return first.FirstOfMonth()
}

// key returns the key of the statement.
func (r *row) key() key { return key{r.OwnershipPeriodID, r.Currency, r.StartAt} }

// chain returns the chain that the statement is part of.
func (r *row) chain() chain.Chain {
	return chain.Chain{OwnershipPeriodID: r.OwnershipPeriodID, Currency: r.Currency}
}

// id returns the stored id, or the one that is derived for a draft.
func (r *row) id() id.ID {
	if r.ID.IsZero() {
		return r.key().ID()
	}

	return r.ID
}

// shortRef returns the stored short reference, or that of a draft.
func (r *row) shortRef() string {
	if r.ShortRef != nil {
		return *r.ShortRef
	}

	return r.id().ShortRef()
}

var rowColumns = `g.id, g.short_ref, g.unique_ref, g.ownership_period_id, g.listing_id, g.currency, g.start_at,
	coalesce(g.end_at, (g.start_at + interval '1 month')::date - 1) as end_at, coalesce(g.status, 'draft') as status,
	coalesce(g.balance_start, 0) as balance_start, coalesce(g.net_revenue, 0) as net_revenue, coalesce(g.expenses, 0) as expenses,
	coalesce(g.payouts, 0) as payouts, coalesce(g.balance_end, 0) as balance_end, coalesce(g.reserve, ` + chain.ReserveSQL("g.currency", "((g.start_at + interval '1 month')::date - 1)") + `) as reserve,
	l.name as listing_name, l.unique_ref as listing_ref, l.default_currency, p.start_at as period_start_at, p.end_at as period_end_at,
	coalesce(g.imported, false) as imported, g.published_at, g.collected,
	(select statement_start_at from team where id = @team) as statements_from`

// joined is the SQL of the listing l and the ownership period p of statements g.
const joined = `
	join listing l on l.team_id = @team and l.id = g.listing_id
	join listing_ownership_period p on p.team_id = @team and p.id = g.ownership_period_id`

// keyTablesSQL returns the SQL of the statements of keys k, in the form of listQuery with the places of the keys. The keys
// are the SQL of a table with place, ownership_period_id, currency and start_at, and more are further columns to select.
func keyTablesSQL(keys, more string) string {
	return `(
	select k.place, k.ownership_period_id, o.listing_id, k.currency, k.start_at, s.end_at, s.id, s.short_ref, s.unique_ref, s.status, s.balance_start, s.net_revenue,
		s.expenses, s.payouts, s.balance_end, s.reserve, s.imported, s.published_at, s.collected` + more + `
	from ` + keys + `
	join listing_ownership_period o on o.team_id = @team and o.id = k.ownership_period_id
	left join statement s on s.team_id = @team and s.ownership_period_id = k.ownership_period_id and s.currency = k.currency and s.start_at = k.start_at
	) g` + joined
}

// loadSavedRow loads the row of a saved statement, none if the id names none that the actor may see.
func loadSavedRow(ctx context.Context, tx *db.Tx, statement id.ID) ([]row, error) {
	q := page.Query{Args: db.Args{"team": tx.Team, "id": statement}, Where: []string{"true"}}
	onlyVisible(tx, &q)

	rows, err := db.Select[row](ctx, tx,
		"select "+rowColumns+" from "+
			keyTablesSQL("(select 1 as place, ownership_period_id, currency, start_at from statement where team_id = @team and id = @id) k", "")+
			" where "+strings.Join(q.Where, " and "),
		q.Args,
	)
	if err != nil {
		return nil, fmt.Errorf("read a statement: %w", err)
	}

	return rows, nil
}

//go:embed sql/statement_months.sql
var statementMonthsFile string

// statementMonths is the query without its comments, which would be sent with each statement.
var statementMonths = regexp.MustCompile(`(?m)^\s*--.*\n`).ReplaceAllString(statementMonthsFile, "")

// The columns of statements besides their keys.
const (
	draftColumnsSQL = `, d.listing_id, null::date as end_at, null::uuid as id, null::text as short_ref, null::text as unique_ref,
	null::text as status, null::bigint as balance_start, null::bigint as net_revenue, null::bigint as expenses, null::bigint as payouts,
	null::bigint as balance_end, null::bigint as reserve, null::boolean as imported, null::timestamptz as published_at, null::bigint as collected`
	savedColumnsSQL = `, listing_id, end_at, id, short_ref, unique_ref, status, balance_start, net_revenue, expenses, payouts,
	balance_end, reserve, imported, published_at, collected`
)

// rowsSQL returns the SQL of the statements that k selects as g.
func rowsSQL(k *keyFilter) string {
	// A condition that is always false lets PostgreSQL skip the drafts, or the saved statements.
	withDrafts, withSaved := "true", "true"
	if k.saved {
		withDrafts = "false"
	}

	if k.drafts {
		withSaved = "false"
	}

	draftColumns, savedColumns := draftColumnsSQL, savedColumnsSQL
	if k.bare {
		draftColumns, savedColumns = "", ""
	}

	return strings.NewReplacer(
		"{draft_columns}", draftColumns,
		"{saved_columns}", savedColumns,
		"{owners_entry}", ledger.OwnersEntry,
		"{with_drafts}", withDrafts,
		"{with_saved}", withSaved,
		"{keys}", k.sql(),
	).Replace(statementMonths)
}

// liveSectionSQL returns the SQL that says which figure an entry e of the live books (or a sum e of ledger_owner)
// belongs to. The special accounts are columns of a row, and expense is the condition that it was entered as an expense.
// The account for payouts wins over the kind of entry: an expense that is booked on the distribution account is a
// payout.
func liveSectionSQL(special, expense string) string {
	return `case
		when e.account_id is not distinct from ` + special + `.opening then 'balanceStart'
		when e.account_id is not distinct from ` + special + `.payout then 'payouts'
		when ` + expense + ` then 'expenses'
		else 'netRevenue' end`
}

var (
	// Section is the SQL of the figure that an entry e belongs to. Entries of imported statements name it by their
	// trigger.
	section = `case
		when e.ledger = 'historical' then case e.trigger_type when 'historicalPayout' then 'payouts' when 'historicalExpense' then 'expenses' else 'netRevenue' end
		else ` + liveSectionSQL("s", "e.trigger_type = '"+ledger.TriggerExpense+"'") + ` end`
	// KeptSection is the same for the sums e of ledger_owner, with the special accounts in the chain c.
	keptSection = liveSectionSQL("c", "e.expense")
)

// The accounts that have their own place on a statement.
const (
	openingAccount = `(select account_id from account_assignment where team_id = @team and assignment = 'openingBalance')`
	payoutAccount  = `(select account_id from account_assignment where team_id = @team and assignment = 'payout_distribution')`
)

// specialAccounts are looked up once, and not for every figure that asks for them.
const specialAccounts = `(select ` + openingAccount + ` as opening, ` + payoutAccount + ` as payout` + db.Fence + `) s`

// loadRows loads the rows of the given statements, as far as the actor may see them.
func loadRows(ctx context.Context, tx *db.Tx, at []key) ([]row, error) {
	var k keyFilter
	k.restrictTo(at)
	q := listQuery(tx, &k)

	rows, err := db.Select[row](ctx, tx, q.SQL("startAt"), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read statements: %w", err)
	}

	return rows, nil
}

// resolve returns the keys of the statements that the ids name. A saved one is found by its id. A draft's id
// contains its month, so it is compared with the ids of all drafts of that month. Ids that name nothing, or nothing
// that the actor may see, are left out.
func resolve(ctx context.Context, tx *db.Tx, ids []id.ID) ([]key, error) {
	type stored struct {
		ID id.ID
		key
	}

	// First look among the saved statements.
	saved, err := db.Select[stored](ctx, tx, `select id, ownership_period_id, currency, start_at from statement where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("find statements: %w", err)
	}

	var found []key

	// What is not found may be drafts.
	open := idSet(ids)

	for i := range saved {
		found = append(found, saved[i].key)
		delete(open, saved[i].ID)
	}

	drafts, err := resolveDrafts(ctx, tx, slices.Collect(maps.Keys(open)))

	return append(found, drafts...), err
}

// resolveDrafts returns the keys of the drafts that the ids name: it derives the ids of all drafts of their months, and
// compares. Only their keys are read.
func resolveDrafts(ctx context.Context, tx *db.Tx, ids []id.ID) ([]key, error) {
	open := map[id.ID]bool{}
	months := []day.Day{}

	for _, v := range ids {
		if month := monthFromID(v); !month.IsZero() {
			open[v] = true

			months = append(months, month)
		}
	}

	// In most cases everything is found by now.
	if len(open) == 0 {
		return nil, nil
	}

	k := keyFilter{drafts: true}
	k.And("start_at = any(@months)", db.Args{"months": months})
	k.within(slices.MinFunc(months, day.Day.Compare), slices.MaxFunc(months, day.Day.Compare))
	q := listQuery(tx, &k)
	q.Columns = "g.ownership_period_id, g.currency, g.start_at"

	var drafts, found []key

	// The right plan depends on how many months are asked for (ADR 12).
	err := db.Afresh(func(ctx context.Context, tx *db.Tx) (err error) {
		drafts, err = db.Select[key](ctx, tx, q.SQL("startAt"), q.Args)
		return err
	})(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find drafts: %w", err)
	}

	for i := range drafts {
		if open[drafts[i].ID()] {
			found = append(found, drafts[i])
		}
	}

	return found, nil
}

// idTail is the SQL of the end of the id that a key has as a draft of the month @month, which begins @month_ms
// milliseconds after 1970. It has the 7 bytes of id.Derive that are of nothing but the key.
const idTail = `substr(sha256('statement\000'::bytea || ownership_period_id::text::bytea || '\000'::bytea || currency::bytea || '\000'::bytea
	|| @month_ms::text::bytea), 4, 7)`

// loadDraft loads the row of the draft that an id names, none if the actor may not see it. The database derives the ids of
// the chains and looks at the months of those that match.
func loadDraft(ctx context.Context, tx *db.Tx, draft id.ID) ([]row, error) {
	month := monthFromID(draft)
	if month.IsZero() {
		return nil, nil
	}

	k := keyFilter{drafts: true}
	k.And("start_at = @month and "+idTail+" = @tail", db.Args{"month": month, "month_ms": strconv.FormatInt(draft.Time().UnixMilli(), 10), "tail": draft[9:]})
	k.within(month, month)
	q := listQuery(tx, &k)

	rows, err := db.Select[row](ctx, tx, q.SQL("startAt"), q.Args)
	if err != nil {
		return nil, fmt.Errorf("find draft: %w", err)
	}

	return slices.DeleteFunc(rows, func(r row) bool { return r.id() != draft }), nil
}

// FindDrafts returns the chains of the drafts that ids name, by their ids. Ids that name none are left out.
func FindDrafts(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]chain.Chain, error) {
	if len(ids) == 0 {
		return map[id.ID]chain.Chain{}, nil
	}

	at, err := resolve(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]chain.Chain, len(at))
	for _, k := range at {
		out[k.ID()] = chain.Chain{OwnershipPeriodID: k.OwnershipPeriodID, Currency: k.Currency}
	}

	return out, nil
}

// loadMonthSums adds up the entries of chains by month, up to the month of a day. Each chain begins after the last
// statement saved from the books before the given first draft of it: that one has added up everything before its end.
func loadMonthSums(ctx context.Context, tx *db.Tx, firsts []key, last day.Day) (sums, error) {
	type row struct {
		OwnershipPeriodID id.ID
		Currency          string
		BaseStartAt       *day.Day
		BaseBalanceEnd    money.Cents
		Month             *day.Day
		Opening           money.Cents
		NetRevenue        money.Cents
		Expenses          money.Cents
		Payouts           money.Cents
	}

	periods, currencies, starts := columns(firsts)

	// Months without entries are skipped; that happens if all of them were taken back.
	found, err := db.Select[row](ctx, tx, `
		with chain as materialized (
			select k.ownership_period_id, k.currency, b.start_at, b.balance_end, coalesce(b.end_at + 1, '-infinity') as since, s.opening, s.payout
			from unnest(@periods::uuid[], @currencies::text[], @starts::date[]) k (ownership_period_id, currency, start_at)
			cross join `+specialAccounts+`
			left join lateral (select v.start_at, v.end_at, v.balance_end from statement v
				where v.team_id = @team and v.ownership_period_id = k.ownership_period_id and v.currency = k.currency and v.start_at < k.start_at and not v.imported
				order by v.start_at desc limit 1) b on true
		), noted as materialized (`+ledger.NotedOwnerSumsSQL("chain", "c.since", "@last")+`)
		select c.ownership_period_id, c.currency, c.start_at as base_start_at, coalesce(c.balance_end, 0) as base_balance_end,
			m.month, coalesce(m.opening, 0) as opening, coalesce(m.net_revenue, 0) as net_revenue, coalesce(m.expenses, 0) as expenses, coalesce(m.payouts, 0) as payouts
		from chain c left join lateral (
			select e.month,
				-sum(e.cents) filter (where e.section = 'balanceStart')::bigint as opening,
				-sum(e.cents) filter (where e.section = 'netRevenue')::bigint as net_revenue,
				-sum(e.cents) filter (where e.section = 'expenses')::bigint as expenses,
				-sum(e.cents) filter (where e.section = 'payouts')::bigint as payouts
			from (
				select e.month, e.cents, e.entries, `+keptSection+` as section from `+ledger.OwnerSumsSQL("c.since", "@last")+` e`+db.Fence+`
			) e group by e.month having sum(e.entries) > 0
		) m on true order by 1, 2, m.month`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "starts": starts, "last": last})
	if err != nil {
		return nil, fmt.Errorf("add up statements: %w", err)
	}

	out := sums{}

	for i := range found {
		r := &found[i]
		c := chain.Chain{OwnershipPeriodID: r.OwnershipPeriodID, Currency: r.Currency}
		a := out[c]

		if r.BaseStartAt != nil {
			a.base = &base{StartAt: *r.BaseStartAt, BalanceEnd: r.BaseBalanceEnd}
		}

		if r.Month != nil {
			a.months = append(a.months, monthSum{
				Month: *r.Month, Opening: r.Opening, NetRevenue: r.NetRevenue, Expenses: r.Expenses, Payouts: r.Payouts,
			})
		}

		out[c] = a
	}

	return out, nil
}

// firstsOfChains returns of each chain the key of its first statement among some.
func firstsOfChains(rows []*row) []key {
	first := map[chain.Chain]key{}

	for _, r := range rows {
		if k, seen := first[r.chain()]; !seen || r.StartAt.Before(k.StartAt) {
			first[r.chain()] = r.key()
		}
	}

	return slices.Collect(maps.Values(first))
}

// loadHistories loads the histories of the chains of statements, as far as these statements need them.
func loadHistories(ctx context.Context, tx *db.Tx, rows []row) (*chain.Histories, error) {
	firsts := firstsOfChains(db.Refs(rows))

	since := make([]chain.Since, len(firsts))
	for i, k := range firsts {
		since[i] = chain.Since{Chain: chain.Chain{OwnershipPeriodID: k.OwnershipPeriodID, Currency: k.Currency}, Day: k.StartAt}
	}

	return chain.LoadHistoriesSince(ctx, tx, since)
}

// special holds the accounts that have their own place on a statement; the zero id where none is assigned.
type special struct{ Opening, Payout id.ID }

// teamTerms are the settings of the team that statements depend on.
type teamTerms struct{ StatementStartAt *day.Day }

// loadTerms loads the settings of the team that statements depend on.
func loadTerms(ctx context.Context, tx *db.Tx) (teamTerms, error) {
	t, err := db.Get[teamTerms](ctx, tx, `select statement_start_at from team where id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return teamTerms{}, fmt.Errorf("read team: %w", err)
	}

	return t, nil
}

// loadOne loads a single statement that the actor may see. It fails with apierr.NotFound.
func loadOne(ctx context.Context, tx *db.Tx, statement id.ID) (*row, error) {
	rows, err := loadSavedRow(ctx, tx, statement)

	// Most statements that are read by themselves are saved ones; what is none of these can only be a draft.
	if err == nil && len(rows) == 0 {
		rows, err = loadDraft(ctx, tx, statement)
	}

	if err != nil {
		return nil, err
	}

	if len(rows) == 0 {
		return nil, apierr.NotFound
	}

	return &rows[0], nil
}

// lockOne loads a single statement that the actor may see, for a change. It fails with apierr.NotFound. The ownership
// period is locked before the row is read, because the row may change while we wait for the lock.
func lockOne(ctx context.Context, tx *db.Tx, statement id.ID) (*row, error) {
	at, err := resolve(ctx, tx, []id.ID{statement})
	if err != nil {
		return nil, err
	}

	if len(at) == 0 {
		return nil, apierr.NotFound
	}

	// The key does not change, so it can be found before the lock.
	if _, err := lockPeriods(ctx, tx, []id.ID{at[0].OwnershipPeriodID}); err != nil {
		return nil, err
	}

	rows, err := loadRows(ctx, tx, at[:1])
	if err != nil {
		return nil, err
	}

	// The row may have another id by now.
	if len(rows) == 0 || rows[0].id() != statement {
		return nil, apierr.NotFound
	}

	return &rows[0], nil
}

// listingIDs returns the listings of rows, each once.
func listingIDs(rows []row) []id.ID {
	out := make([]id.ID, len(rows))
	for i := range rows {
		out[i] = rows[i].ListingID
	}

	return id.Distinct(out)
}

// periodIDs returns the ownership periods of rows, each once.
func periodIDs(rows []row) []id.ID {
	out := make([]id.ID, len(rows))
	for i := range rows {
		out[i] = rows[i].OwnershipPeriodID
	}

	return id.Distinct(out)
}

// collectSaved returns the ids of the saved ones among rows.
func collectSaved(rows []row) []id.ID {
	var saved []id.ID

	for i := range rows {
		if !rows[i].isDraft() {
			saved = append(saved, rows[i].ID)
		}
	}

	return saved
}

// rowKeys returns the keys of rows in their order.
func rowKeys(rows []row) []key {
	at := make([]key, len(rows))
	for i := range rows {
		at[i] = rows[i].key()
	}

	return at
}

// rowIDs returns the ids of rows in their order.
func rowIDs(rows []row) []id.ID {
	ids := make([]id.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].id()
	}

	return ids
}
