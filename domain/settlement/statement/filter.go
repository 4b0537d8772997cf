package statement

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects statements, drafts included. The same fields select what an export shows.
type Filter struct {
	PeriodIDs          page.IDs   `query:"periodIds" json:"periodIds,omitempty" doc:"Ownership periods."`
	OwnershipPeriodIDs page.IDs   `query:"ownershipPeriodIds" json:"ownershipPeriodIds,omitempty" doc:"The same as periodIds."`
	StatementIDs       page.IDs   `query:"statementIds" json:"statementIds,omitempty" doc:"Only these; an id with a leading ! is left out."`
	ListingIDs         page.IDs   `query:"listingIds" json:"listingIds,omitempty"`
	OwnerIDs           page.IDs   `query:"ownerIds" json:"ownerIds,omitempty" doc:"Contacts that are members of the ownership period."`
	UniqueRefs         []string   `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
	RecurringFeeIDs    page.IDs   `query:"recurringFeeIds" json:"recurringFeeIds,omitempty" doc:"Statements with entries of these recurring fees."`
	Year               *int64     `query:"year" json:"year,omitempty" minimum:"1" maximum:"9999"`
	Month              *day.Month `query:"month" json:"month,omitempty" doc:"YYYY-MM."`
	Status             Status     `query:"status" json:"status,omitempty"`
	Search             string     `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the name of the listing or of an owner, or of a reference: uniqueRef of the statement or its listing, shortRef of a saved statement."`
	// The months that start in the range.
	page.Dates
	Currency string `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$"`
	Sort     Sort   `query:"sort" json:"sort,omitempty"`
}

var sorts = page.Sorts{
	{Name: "startAt", Expr: "g.start_at"},
	{Name: "listing", Expr: "l.name", Text: true},
	{Name: "status", Expr: "coalesce(g.status, 'draft')"},
}

// Sort is an order of statements.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

// keyFilter holds the conditions on the key columns that drafts and saved statements share. They are applied to
// both before the two are joined.
type keyFilter struct {
	page.Query

	// first and last are the months that the conditions leave; nil where they leave all.
	first, last *day.Day
	// saved leaves drafts out, and drafts leaves saved statements out.
	saved, drafts bool
	// bare leaves out all columns but the key.
	bare bool
}

// within narrows to the months from that of the first day to that of the last day; the zero Day is no end.
func (k *keyFilter) within(first, last day.Day) {
	first, last = first.FirstOfMonth(), last.FirstOfMonth()
	if !first.IsZero() && (k.first == nil || first.After(*k.first)) {
		k.first = &first
	}

	if !last.IsZero() && (k.last == nil || last.Before(*k.last)) {
		k.last = &last
	}
}

// sql returns the conditions as one SQL condition.
func (k *keyFilter) sql() string {
	if len(k.Where) == 0 {
		return "true"
	}

	return strings.Join(k.Where, " and ")
}

// keys returns the conditions on the key columns that the filter contains.
func (f *Filter) keys() keyFilter {
	var k keyFilter
	k.IDs("ownership_period_id = any(?)", f.PeriodIDs)
	k.IDs("ownership_period_id = any(?)", f.OwnershipPeriodIDs)
	k.IDs("listing_id = any(?)", f.ListingIDs)

	// Conditions on dates also bound the months, so that drafts of other months are never generated.
	if k.Narrow("extract(year from start_at) = ?", f.Year); f.Year != nil {
		year := int(*f.Year)
		first, last := day.Month{Year: year, Month: time.January}, day.Month{Year: year, Month: time.December}
		k.within(first.First(), last.First())
	}

	if f.Month != nil {
		k.Days("start_at", day.Span{First: f.Month.First(), Last: f.Month.Last()}, nil)
		k.within(f.Month.First(), f.Month.Last())
	}

	k.Narrow("currency = ?", strings.ToLower(f.Currency))

	if k.Dates("start_at", f.Dates); !f.DateRange.IsZero() {
		k.within(f.DateRange.First, f.DateRange.Last)
	}

	return k
}

// isByKey reports whether the key of a statement decides whether the filter selects it for the actor, and its place.
func (f *Filter) isByKey(tx *db.Tx) bool {
	return f.Status == "" && len(f.UniqueRefs) == 0 && f.Search == "" && strings.TrimPrefix(string(cmp.Or(f.Sort, "startAt")), "-") == "startAt" &&
		tx.Actor.Owner == nil && tx.Actor.Kind != db.Embedded
}

// query returns the query that lists the selected statements. It reads the database to find the statements that ids
// name. Bare asks for a query that has no other columns than the key, where that is enough.
func (f *Filter) query(ctx context.Context, tx *db.Tx, bare bool) (page.Query, error) {
	k := f.keys()
	k.bare = bare && f.isByKey(tx)

	// An id does not tell a draft's ownership period, so ids are resolved to keys first.
	only, but := f.StatementIDs.Parts()
	if len(only) > 0 {
		at, err := resolve(ctx, tx, only)
		if err != nil {
			return page.Query{}, err
		}

		k.restrictTo(at)
	}

	if len(but) > 0 {
		at, err := resolve(ctx, tx, but)
		if err != nil {
			return page.Query{}, err
		}

		k.Narrow("("+keyName+" = any(?)) is not true", keyTexts(at))
	}

	// Drafts have no other status than draft, and no reference: leave their computation out if one is asked for.
	k.saved = f.Status != "" && f.Status != Draft || len(f.UniqueRefs) > 0
	q := listQuery(tx, &k)
	q.Narrow("coalesce(g.status, 'draft') = ?", f.Status)
	q.Narrow("g.unique_ref = any(?)", f.UniqueRefs)

	// The remaining conditions need the joined tables, so they apply to the result.
	if f.Search != "" {
		q.And(`(`+page.ContainsSQL("@search", "l.name", "l.unique_ref", "g.unique_ref", "g.short_ref")+`
			or g.ownership_period_id in (select m.period_id from listing_ownership_member m join contact c on c.team_id = m.team_id and c.id = m.contact_id
				where m.team_id = @team and `+page.ContainsSQL("@search", "c.name")+`))`, db.Args{"search": f.Search})
	}

	q.IDs(memberSQL("any(?)"), f.OwnerIDs)

	// A statement contains the fee if one of its month's entries does.
	q.IDs(`(g.ownership_period_id, g.currency, g.start_at) in (
		select e.ownership_period_id, e.currency, date_trunc('month', e.txn_at::timestamp)::date from ledger_entry e
		where `+ledger.OwnersEntry+` and e.recurring_fee_id = any(?))`, f.RecurringFeeIDs)

	return q, nil
}

// keyName is the SQL of a statement's key as one text. A join with its three columns would be planned without
// knowing how few statements are asked for, and a list of statements that were just saved took seconds.
const keyName = "ownership_period_id::text || currency || start_at"

// keyTexts returns the keys as texts, in the form of keyName.
func keyTexts(at []key) []string {
	texts := make([]string, len(at))
	for i := range at {
		texts[i] = at[i].OwnershipPeriodID.String() + at[i].Currency + at[i].StartAt.String()
	}

	return texts
}

// restrictTo restricts to the given statements.
func (k *keyFilter) restrictTo(at []key) {
	_, _, starts := columns(at)
	if len(starts) > 0 {
		k.within(slices.MinFunc(starts, day.Day.Compare), slices.MaxFunc(starts, day.Day.Compare))
	}

	// The condition on the months follows from the names, but it narrows the rows before keys are compared as text.
	k.And(
		"start_at = any(@key_starts)",
		db.Args{"key_starts": slices.Compact(slices.SortedFunc(slices.Values(starts), day.Day.Compare))},
	)
	k.And(keyName+" = any(@key_names)", db.Args{"key_names": keyTexts(at)})
}

// columns returns the fields of keys as columns for unnest.
func columns(at []key) (periods []id.ID, currencies []string, starts []day.Day) {
	periods, currencies, starts = make([]id.ID, len(at)), make([]string, len(at)), make([]day.Day, len(at))
	for i := range at {
		periods[i], currencies[i], starts[i] = at[i].OwnershipPeriodID, at[i].Currency, at[i].StartAt
	}

	return periods, currencies, starts
}

// memberSQL returns the SQL condition that a contact is a member of the ownership period of g.
func memberSQL(contact string) string {
	return `exists (select from listing_ownership_member m
		where m.team_id = @team and m.period_id = g.ownership_period_id and m.contact_id = ` + contact + `)`
}

// listQuery returns the list under conditions on the keys, restricted to the statements that the actor may see: an
// owner sees the published statements of the ownership periods that he or she is a member of, and their drafts when
// the team shows them; an embedded session sees published ones, or the one that it is bound to.
func listQuery(tx *db.Tx, k *keyFilter) page.Query {
	// Clone the arguments: the caller may build another query from the same conditions.
	args := maps.Clone(k.Args)
	if args == nil {
		args = db.Args{}
	}

	args["team"] = tx.Team
	args["this_month"] = tx.Today().FirstOfMonth()
	args["first_month"] = k.first
	args["last_month"] = k.last
	rows := rowsSQL(k)
	q := page.Query{
		Columns: rowColumns,
		From:    rows + joined,
		Rows:    rows,
		Joined:  "l p",
		Args:    args,
		Default: "-startAt",
		ID:      "g.ownership_period_id, g.start_at, g.currency",
		Sorts:   sorts,
	}
	onlyVisible(tx, &q)

	return q
}

// onlyVisible restricts statements g to those that the actor may see.
func onlyVisible(tx *db.Tx, q *page.Query) {
	if tx.Actor.Owner != nil {
		q.And(memberSQL("@visible_to"), db.Args{"visible_to": *tx.Actor.Owner})
		q.And(`(g.status = 'published' or g.status is null and (select owner_portal_show_draft_statements from team where id = @team))`, nil)
	}

	if tx.Actor.Kind == db.Embedded {
		q.And(`g.status = 'published'`, nil)

		if tx.Actor.Statement != nil {
			q.And(`g.id = @bound_to`, db.Args{"bound_to": *tx.Actor.Statement})
		}
	}
}
