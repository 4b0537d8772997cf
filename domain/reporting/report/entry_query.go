package report

import (
	"cmp"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/page"
)

// entryColumns are the columns of an Entry.
var entryColumns = `e.id, e.txn_code, e.ref as unique_ref, e.ledger, e.status, e.txn_at,
	` + account.RefSQL("e.account_id", "a") + ` as account, e.cent_total, greatest(e.cent_total, 0) as debit,
	greatest(-e.cent_total, 0) as credit, e.currency, e.party, e.listing_id, e.ownership_period_id, e.contact_id, e.reservation_id,
	e.transaction_id, e.recurring_fee_id, e.statement_id as owner_statement_id, e.trigger_type, e.description, e.created_at`

// entrySorts are the orders of the list.
var entrySorts = page.Sorts{
	{Name: "txnAt", Expr: "e.txn_at"},
	{Name: "amount", Expr: "e.cent_total"},
	{Name: "createdAt", Expr: "e.created_at"},
	{Name: "account", Expr: "a.code", Text: true, Nullable: true},
}

// EntrySort is an order of journal entries.
type EntrySort string

// Enum returns the names of the orders.
func (EntrySort) Enum() []string { return entrySorts.Enum() }

// EntryQuery returns the list of entries that a valid selection selects, in rows of Entry. Its conditions use no
// table but ledger_entry e, so that the totals need no join. The caller sets the argument team.
func EntryQuery(f Selection) page.Query {
	q := page.Query{
		Columns: entryColumns,
		From:    "ledger_entry e left join account a on a.team_id = e.team_id and a.id = e.account_id",
		Where:   []string{"e.team_id = @team"},
		Args:    db.Args{},
		Sorts:   entrySorts,
		Default: "txnAt",
		ID:      "e.id",
	}
	f.byAccount(&q)
	f.byReference(&q)
	f.byKind(&q)
	f.byBook(&q)
	f.byStay(&q)
	f.byDate(&q)

	return q
}

// byAccount adds the conditions on the entry itself and on its account.
func (f *Selection) byAccount(q *page.Query) {
	// Categories and classes are turned into the few accounts they have, which the index on accounts can use.
	const inCategory = "(select c.id from account c where c.team_id = @team and c.category_id = any(?))"

	// First the conditions on ids, accounts and categories.
	q.IDs("e.id = any(?)", f.IDs)
	q.IDs("e.account_id = any(?)", f.AccountIDs)
	q.Narrow("e.account_id <> all(?)", f.NotAccountIDs)
	q.IDs("e.account_id in "+inCategory, f.CategoryIDs)
	q.Narrow("e.account_id not in "+inCategory, f.NotCategoryIDs)

	// Then those on the classification of the account, and on the row of the balance sheet, which sheetRow decides in
	// the same way.
	const inClass = `e.account_id in (select c.id from account c join account_category k on k.team_id = c.team_id and k.id = c.category_id
		where c.team_id = @team and k.classification = any(`
	q.Narrow(inClass+"?))", f.AccountClassifications)
	q.Narrow(`case when e.party is not null and e.account_id not in `+heldAccountsSQL+` then e.party
		when `+inClass+`array['asset'])) then 'assets' when `+inClass+`array['liability'])) then 'liabilities' else 'unassigned' end = any(?)`,
		f.BalanceSheetRows)
}

// byReference adds the conditions on the records that an entry refers to.
func (f *Selection) byReference(q *page.Query) {
	for _, r := range []struct {
		column     string
		refs, nots page.Refs
	}{
		{"e.listing_id", f.ListingIDs, f.NotListingIDs},
		{"e.contact_id", f.ContactIDs, f.NotContactIDs},
		{"e.reservation_id", f.ReservationIDs, f.NotReservationIDs},
		{"e.transaction_id", f.TransactionIDs, f.NotTransactionIDs},
		{"e.ownership_period_id", f.OwnershipPeriodIDs, f.NotOwnershipPeriodIDs},
		{"e.statement_id", f.StatementIDs, f.NotStatementIDs},
		{"e.recurring_fee_id", f.RecurringFeeIDs, f.NotRecurringFeeIDs},
	} {
		// The same condition turned around leaves out what it would select.
		q.Refs(r.column, r.refs)
		q.Refs(r.column, r.nots.Invert())
	}
}

// byKind adds the conditions on what made the entry, its channel and business model, its text and its amount.
func (f *Selection) byKind(q *page.Query) {
	const (
		ofType = "exists (select from transaction t where t.team_id = e.team_id and t.id = e.transaction_id " +
			"and t.type = any(?))"
		fromChannel = "exists (select from reservation r where r.team_id = e.team_id and r.id = e.reservation_id " +
			"and coalesce(r.booking_platform, 'null') = any(?))"
	)
	q.Narrow(ofType, f.TransactionTypes)
	q.Narrow("not "+ofType, f.NotTransactionTypes)
	q.Narrow("e.trigger_type = any(?)", f.TriggerTypes)
	q.Narrow("e.trigger_type <> all(?)", f.NotTriggerTypes)
	q.Narrow("exists (select from listing_ownership_period p where p.team_id = e.team_id and p.id = "+
		"e.ownership_period_id and p.business_model = any(?))", f.BusinessModels)
	q.Narrow(fromChannel, f.Channels)
	q.Narrow("not "+fromChannel, f.NotChannels)
	q.Search(f.Search, "e.description", "e.txn_code")
	q.Amounts("e.cent_total", f.Amount)
}

// byBook adds the conditions on party, ledger, status and the like. Without a ledger the historical one is left
// out, without a status inactive entries are.
func (f *Selection) byBook(q *page.Query) {
	if f.Party == WithoutParty {
		q.And("e.party is null", nil)
	} else {
		q.Narrow("e.party = ?", f.Party)
	}

	q.Narrow("e.ledger = ?", f.Ledger)

	if f.Ledger == "" {
		q.And("e.ledger <> 'historical'", nil)
	}

	q.Narrow("e.status = ?", cmp.Or(f.Status, ledger.Active))
	q.Narrow("e.txn_code = ?", f.TxnCode)
	q.Narrow("e.currency = ?", strings.ToLower(f.Currency))
	q.Whether("e.statement_id is not null", f.Attached)
	q.Whether(ledger.EntryLockSQL("e"), f.Locked)
}

// byStay adds the condition on the state of the reservation at the end of a day. A guest who leaves on that day has
// departed.
func (f *Selection) byStay(q *page.Query) {
	var state string

	// Two states do not depend on a day, and return at once.
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
		q.And(
			"e.reservation_id in (select r.id from reservation r where r.team_id = @team and r.status <> 'booked')",
			nil,
		)

		return
	}

	if f.EndDate != nil { // Resolve has asked for it
		q.And(
			"e.reservation_id in (select r.id from reservation r where r.team_id = @team and "+state+")",
			db.Args{"as_of": f.EndDate.Day},
		)
	}
}

// byDate adds the conditions on the day of the entry and on the time of its creation.
func (f *Selection) byDate(q *page.Query) {
	if f.StartDate != nil {
		q.And("e.txn_at >= @start", db.Args{"start": f.StartDate.Day})
	}

	if f.EndDate != nil {
		q.And("e.txn_at <= @end", db.Args{"end": f.EndDate.Day})
	}

	// The dates of other lists work here too.
	q.Dates("e.txn_at", f.Dates)

	// Times of creation include the start and exclude the end.
	if f.CreatedAtFrom != nil {
		q.And("e.created_at >= @created_from", db.Args{"created_from": f.CreatedAtFrom.Time})
	}

	if f.CreatedAtTo != nil {
		q.And("e.created_at < @created_to", db.Args{"created_to": f.CreatedAtTo.Time})
	}
}
