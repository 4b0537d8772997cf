package statement

import (
	"maps"
	"slices"
	"strings"

	"stayledger/domain/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects statements, drafts included. The same fields select what an export shows.
type Filter struct {
	PeriodIDs               []id.ID    `query:"periodIds" json:"periodIds,omitempty" doc:"Ownership periods."`
	OwnershipPeriodIDs      []id.ID    `query:"ownershipPeriodIds" json:"ownershipPeriodIds,omitempty" doc:"The same as periodIds."`
	StatementIDs            []id.ID    `query:"statementIds" json:"statementIds,omitempty"`
	ListingIDs              []id.ID    `query:"listingIds" json:"listingIds,omitempty"`
	OwnerIDs                []id.ID    `query:"ownerIds" json:"ownerIds,omitempty" doc:"Contacts that are members of the ownership period."`
	RecurringFeeIDs         []id.ID    `query:"recurringFeeIds" json:"recurringFeeIds,omitempty" doc:"Statements with entries of these recurring fees."`
	Year                    *int64     `query:"year" json:"year,omitempty" minimum:"1" maximum:"9999"`
	Month                   *day.Month `query:"month" json:"month,omitempty" doc:"YYYY-MM."`
	Status                  Status     `query:"status" json:"status,omitempty"`
	Search                  string     `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the name of the listing or of an owner, or of a reference: uniqueRef of the statement or its listing, shortRef of a saved statement."`
	DateRange               string     `query:"dateRange" format:"date-range" json:"dateRange,omitempty" doc:"Months that start in YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	IsDateRangeEndInclusive *bool      `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" default:"true"`
	Currency                string     `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$"`
	Sort                    string     `query:"sort" json:"sort,omitempty" enum:"startAt,-startAt,listing,-listing,status,-status"`
}

// Resolve checks the date range.
func (f *Filter) Resolve() []apierr.Issue {
	if f.DateRange == "" {
		return nil
	}
	if _, err := f.dates(); err != nil {
		return []apierr.Issue{{Message: "Value is not a date range", Code: "dateRange", Path: []any{"dateRange"}, Schema: "query"}}
	}
	return nil
}

func (f *Filter) dates() (day.Range, error) {
	return day.ParseRange(f.DateRange, f.IsDateRangeEndInclusive == nil || *f.IsDateRangeEndInclusive)
}

// keyFilter are the conditions on the names that drafts and saved statements share; they are applied to both before the two are joined.
type keyFilter struct {
	where []string
	args  db.Args
}

func (k *keyFilter) and(condition, name string, value any) {
	k.where = append(k.where, condition)
	k.args[name] = value
}

func (k *keyFilter) sql() string {
	if len(k.where) == 0 {
		return "true"
	}
	return strings.Join(k.where, " and ")
}

func (f *Filter) keys() keyFilter {
	k := keyFilter{args: db.Args{}}
	if ids := f.PeriodIDs; len(ids) > 0 {
		k.and("ownership_period_id = any(@period_ids)", "period_ids", ids)
	}
	if ids := f.OwnershipPeriodIDs; len(ids) > 0 {
		k.and("ownership_period_id = any(@ownership_period_ids)", "ownership_period_ids", ids)
	}
	if ids := f.ListingIDs; len(ids) > 0 {
		k.and("listing_id = any(@listing_ids)", "listing_ids", ids)
	}
	if f.Year != nil {
		k.and("extract(year from start_at) = @year", "year", *f.Year)
	}
	if f.Month != nil {
		k.and("start_at >= @month", "month", f.Month.First())
		k.and("start_at <= @month_end", "month_end", f.Month.Last())
	}
	if f.Currency != "" {
		k.and("currency = @currency", "currency", strings.ToLower(f.Currency))
	}
	if f.DateRange != "" {
		days, err := f.dates() // refused by Resolve when it has no form
		if err != nil || days.Empty() {
			k.where = append(k.where, "false")
		} else {
			k.and("start_at >= @from_day", "from_day", days.From)
			k.and("start_at < @to_day", "to_day", days.To)
		}
	}
	return k
}

// query is the list of the selected statements; at holds those that StatementIDs name, found before.
func (f *Filter) query(tx *db.Tx, at []key) page.Query {
	k := f.keys()
	if len(f.StatementIDs) > 0 {
		k.named(at)
	}
	q := queryOf(tx, &k)
	if f.Status != "" {
		q.And("coalesce(g.status, 'draft') = @status", db.Args{"status": string(f.Status)})
	}
	if f.Search != "" {
		q.And(`(l.name ilike @search or l.unique_ref ilike @search or g.unique_ref ilike @search or g.short_ref ilike @search
			or g.ownership_period_id in (select m.period_id from listing_ownership_member m join contact c on c.team_id = m.team_id and c.id = m.contact_id
				where m.team_id = @team and c.name ilike @search))`, db.Args{"search": page.Like(f.Search)})
	}
	if len(f.OwnerIDs) > 0 {
		q.And(memberCondition("any(@owner_ids)"), db.Args{"owner_ids": f.OwnerIDs})
	}
	if len(f.RecurringFeeIDs) > 0 {
		q.And(`(g.ownership_period_id, g.currency, g.start_at) in (
			select e.ownership_period_id, e.currency, date_trunc('month', e.txn_at::timestamp)::date from ledger_entry e
			where `+ledger.OwnersEntry+` and e.recurring_fee_id = any(@fees))`, db.Args{"fees": f.RecurringFeeIDs})
	}
	return q
}

// named restricts to the given statements. They are compared as one text each: a join with their three columns would be planned without
// knowing how few they are, and a list of statements that were just saved took seconds.
func (k *keyFilter) named(at []key) {
	names := make([]string, len(at))
	for i := range at {
		names[i] = at[i].OwnershipPeriodID.String() + at[i].Currency + at[i].StartAt.String()
	}
	_, _, starts := columns(at)
	k.and("start_at = any(@key_starts)", "key_starts", slices.Compact(slices.SortedFunc(slices.Values(starts), day.Day.Compare)))
	k.and("ownership_period_id::text || currency || start_at = any(@key_names)", "key_names", names)
}

func columns(at []key) (periods []id.ID, currencies []string, starts []day.Day) {
	periods, currencies, starts = make([]id.ID, len(at)), make([]string, len(at)), make([]day.Day, len(at))
	for i := range at {
		periods[i], currencies[i], starts[i] = at[i].OwnershipPeriodID, at[i].Currency, at[i].StartAt
	}
	return periods, currencies, starts
}

func memberCondition(contact string) string {
	return `exists (select from listing_ownership_member m
		where m.team_id = @team and m.period_id = g.ownership_period_id and m.contact_id = ` + contact + `)`
}

// queryOf is the list under conditions on the keys, restricted to what the actor may see: an owner sees the published statements of the
// ownership periods that he or she is a member of, and their drafts when the team shows them.
func queryOf(tx *db.Tx, k *keyFilter) page.Query {
	args := maps.Clone(k.args)
	args["team"], args["this_month"] = tx.Team, day.Of(tx.Now).FirstOfMonth()
	q := page.Query{
		Columns: rowColumns, From: rowTables(k.sql()), Args: args, Default: "-startAt", ID: "g.ownership_period_id, g.start_at, g.currency",
		Sorts: page.Sorts{
			"startAt": {Expr: "g.start_at"}, "listing": {Expr: "l.name", Text: true}, "status": {Expr: "coalesce(g.status, 'draft')"},
		},
	}
	if tx.Actor.Owner != nil {
		q.And(memberCondition("@visible_to"), db.Args{"visible_to": *tx.Actor.Owner})
		q.And(`(g.status = 'published' or g.status is null and (select owner_portal_show_draft_statements from team where id = @team))`, nil)
	}
	return q
}
