package report

import (
	"strconv"
	"strings"

	"stayledger/domain/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const entryColumns = `e.id, e.txn_code, e.ref as unique_ref, e.ledger, e.status, e.txn_at,
	jsonb_build_object('id', e.account_id, 'code', a.code, 'name', a.name) as account, e.cent_total, greatest(e.cent_total, 0) as debit,
	greatest(-e.cent_total, 0) as credit, e.currency, e.party, e.listing_id, e.ownership_period_id, e.contact_id, e.reservation_id,
	e.transaction_id, e.recurring_fee_id, e.statement_id as owner_statement_id, e.trigger_type, e.description, e.created_at`

// EntryQuery is the list of entries that a valid selection selects, in rows of Entry; its conditions name no table but ledger_entry e. The
// caller sets the argument team.
func EntryQuery(f Selection) page.Query {
	q := entryQuery{page.Query{
		Columns: entryColumns, From: "ledger_entry e left join account a on a.team_id = e.team_id and a.id = e.account_id",
		Where: []string{"e.team_id = @team"}, Args: db.Args{},
		Sorts: page.Sorts{
			"txnAt": {Expr: "e.txn_at"}, "amount": {Expr: "e.cent_total"}, "createdAt": {Expr: "e.created_at"}, "account": {Expr: "a.code", Nullable: true},
		},
		Default: "txnAt", ID: "e.id",
	}}
	q.ids(&f)
	q.references(&f)
	q.kinds(&f)
	q.books(&f)
	q.stays(&f)
	q.dates(&f)
	return q.Query
}

// entryQuery collects the conditions of a selection. They name no table but ledger_entry e, so that the totals need no join.
type entryQuery struct{ page.Query }

func (q *entryQuery) ids(f *Selection) {
	anyOf := func(ids []id.ID, name, condition string) {
		if ids != nil {
			q.And(strings.ReplaceAll(condition, "?", "@"+name+"::uuid[]"), db.Args{name: ids})
		}
	}
	// Categories and classes are turned into the few accounts they have, which the index on accounts can use.
	const inCategory = "(select c.id from account c where c.team_id = @team and c.category_id = any(?))"
	anyOf(f.IDs, "ids", "e.id = any(?)")
	anyOf(f.AccountIDs, "accounts", "e.account_id = any(?)")
	anyOf(f.NotAccountIDs, "not_accounts", "e.account_id <> all(?)")
	anyOf(f.CategoryIDs, "categories", "e.account_id in "+inCategory)
	anyOf(f.NotCategoryIDs, "not_categories", "e.account_id not in "+inCategory)
	const inClass = `e.account_id in (select c.id from account c join account_category k on k.team_id = c.team_id and k.id = c.category_id
		where c.team_id = @team and k.classification = any(`
	if f.AccountClassifications != nil {
		q.And(inClass+"@classifications))", db.Args{"classifications": texts(f.AccountClassifications)})
	}
	if f.BalanceSheetRows != nil {
		q.And(`case when e.party is not null and e.account_id not in `+heldAccounts+` then e.party
			when `+inClass+`array['asset'])) then 'assets' when `+inClass+`array['liability'])) then 'liabilities' else 'unassigned' end = any(@sheet_rows)`,
			db.Args{"sheet_rows": texts(f.BalanceSheetRows)})
	}
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func (q *entryQuery) references(f *Selection) {
	for _, r := range []struct {
		column     string
		refs, nots []Ref
	}{
		{"listing_id", f.ListingIDs, f.NotListingIDs},
		{"contact_id", f.ContactIDs, f.NotContactIDs},
		{"reservation_id", f.ReservationIDs, f.NotReservationIDs},
		{"transaction_id", f.TransactionIDs, f.NotTransactionIDs},
		{"ownership_period_id", f.OwnershipPeriodIDs, f.NotOwnershipPeriodIDs},
		{"statement_id", f.StatementIDs, f.NotStatementIDs},
		{"recurring_fee_id", f.RecurringFeeIDs, f.NotRecurringFeeIDs},
	} {
		column, without := "e."+r.column, "e."+r.column+" is null"
		if r.refs != nil {
			q.And(among(column, r.column+"s", r.refs))
		}
		if r.nots == nil {
			continue
		}
		ids, none := named(r.nots)
		if none {
			q.And(column+" is not null", nil)
		}
		if len(ids) > 0 {
			q.And("("+column+" <> all(@not_"+r.column+"s::uuid[]) or "+without+")", db.Args{"not_" + r.column + "s": ids})
		}
	}
}

func (q *entryQuery) kinds(f *Selection) {
	anyOf := func(names []string, name, condition string) {
		if names != nil {
			q.And(strings.ReplaceAll(condition, "?", "@"+name+"::text[]"), db.Args{name: names})
		}
	}
	const ofType = "exists (select from transaction t where t.team_id = e.team_id and t.id = e.transaction_id and t.type = any(?))"
	anyOf(f.TransactionTypes, "types", ofType)
	anyOf(f.NotTransactionTypes, "not_types", "not "+ofType)
	anyOf(f.TriggerTypes, "triggers", "e.trigger_type = any(?)")
	anyOf(f.NotTriggerTypes, "not_triggers", "e.trigger_type <> all(?)")
	anyOf(f.BusinessModels, "models", `exists (select from listing_ownership_period p
		where p.team_id = e.team_id and p.id = e.ownership_period_id and p.business_model = any(?))`)
	const fromChannel = "exists (select from reservation r where r.team_id = e.team_id and r.id = e.reservation_id and coalesce(r.booking_platform, 'null') = any(?))"
	anyOf(f.Channels, "channels", fromChannel)
	anyOf(f.NotChannels, "not_channels", "not "+fromChannel)
	if f.Search != "" {
		q.And("(e.description ilike @search or e.txn_code ilike @search)", db.Args{"search": page.Like(f.Search)})
	}
	ranges := make([]string, len(f.Amount))
	for i, text := range f.Amount {
		n := strconv.Itoa(i)
		low, high, _ := amounts(text) // Resolve has checked the form
		ranges[i] = "e.cent_total between @low" + n + " and @high" + n
		q.Args["low"+n], q.Args["high"+n] = low, high
	}
	if len(ranges) > 0 {
		q.And("("+strings.Join(ranges, " or ")+")", nil)
	}
}

func (q *entryQuery) books(f *Selection) {
	equal := func(value, column string) {
		if value != "" {
			q.And("e."+column+" = @"+column, db.Args{column: value})
		}
	}
	if f.Party == nobody {
		q.And("e.party is null", nil)
	} else {
		equal(string(f.Party), "party")
	}
	equal(string(f.Ledger), "ledger")
	if f.Ledger == "" {
		q.And("e.ledger <> 'historical'", nil)
	}
	status := f.Status
	if status == "" {
		status = ledger.Active
	}
	equal(string(status), "status")
	equal(f.TxnCode, "txn_code")
	equal(strings.ToLower(f.Currency), "currency")
	switch {
	case f.Attached == nil:
	case *f.Attached:
		q.And("e.statement_id is not null", nil)
	default:
		q.And("e.statement_id is null", nil)
	}
	if f.Locked != nil {
		q.And(ledger.HeldEntry("e")+" = @locked", db.Args{"locked": *f.Locked})
	}
}

// stays selects by what became of the reservation at the end of a day. A guest who leaves on that day has departed.
func (q *entryQuery) stays(f *Selection) {
	var state string
	switch f.OccupancyStatus {
	case "":
		return
	case Unassigned:
		q.And("e.reservation_id is null", nil)
		return
	case Departed:
		state = "r.status = 'booked' and r.check_out <= @as_of"
	case InHouse:
		state = "r.status = 'booked' and r.check_in <= @as_of and r.check_out > @as_of"
	case Upcoming:
		state = "r.status = 'booked' and r.check_in > @as_of"
	case Cancelled:
		q.And("e.reservation_id in (select r.id from reservation r where r.team_id = @team and r.status <> 'booked')", nil)
		return
	}
	if f.EndDate != nil { // Resolve has asked for it
		q.And("e.reservation_id in (select r.id from reservation r where r.team_id = @team and "+state+")", db.Args{"as_of": f.EndDate.Day})
	}
}

func (q *entryQuery) dates(f *Selection) {
	if f.StartDate != nil {
		q.And("e.txn_at >= @start", db.Args{"start": f.StartDate.Day})
	}
	if f.EndDate != nil {
		q.And("e.txn_at <= @end", db.Args{"end": f.EndDate.Day})
	}
	if days, err := f.days(); f.DateRange != "" && err == nil {
		q.And("e.txn_at >= @from and e.txn_at < @to", db.Args{"from": days.From, "to": days.To})
	}
	if f.CreatedAtFrom != nil {
		q.And("e.created_at >= @created_from", db.Args{"created_from": f.CreatedAtFrom.Time})
	}
	if f.CreatedAtTo != nil {
		q.And("e.created_at < @created_to", db.Args{"created_to": f.CreatedAtTo.Time})
	}
}
