package report_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

// ledgerOfEverything is a team with six postings that credit rent with 1, 2, 4, 8, 16 and 32 cents, so that a sum of
// credits shows which of them were selected. Each differs from the others in what it names.
type ledgerOfEverything struct {
	*books
	stays, contacts, listings, periods, transactions, fees, statements, sources []id.ID
}

func newLedgerOfEverything(t *testing.T) *ledgerOfEverything {
	t.Helper()
	b := &ledgerOfEverything{books: newBooks(t)}
	fresh := func(n int) []id.ID {
		out := make([]id.ID, n)
		for i := range out {
			out[i] = id.New(b.DB.Now())
		}

		return out
	}
	b.stays, b.contacts, b.transactions, b.fees, b.sources = fresh(4), fresh(2), fresh(2), fresh(1), fresh(6)
	b.statements, b.periods = fresh(2), fresh(2)
	b.listings = []id.ID{fixture.Listing(b.Team, "One"), fixture.Listing(b.Team, "Two")}
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		var rows []db.Stmt

		add := func(sql string, args db.Args) {
			args["team"], args["now"] = tx.Team, tx.Now
			rows = append(rows, db.Stmt{SQL: sql, Args: args})
		}
		for i, s := range []struct{ status, in, out, channel string }{
			{"booked", "2026-01-10", "2026-01-31", "airbnb"},
			{"booked", "2026-01-31", "2026-02-01", "vrbo"},
			{"booked", "2026-02-01", "2026-02-05", ""},
			{"canceled", "2026-01-01", "2026-01-05", "airbnb"},
		} {
			add(`insert into reservation (team_id, id, short_ref, listing_id, status, check_in, check_out, booking_platform, currency, created_at, updated_at)
				values (@team, @id, @ref, @listing, @status, @in::date, @out::date, nullif(@channel, ''), 'usd', @now, @now)`,
				db.Args{"id": b.stays[i], "ref": b.stays[i].String(), "listing": b.listings[0], "status": s.status, "in": s.in, "out": s.out, "channel": s.channel})
		}

		for i, kind := range []string{"deposit", "expense"} {
			add(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
				values (@team, @id, @ref, @type, '2026-01-20', 'usd', @account, 1, @now, @now)`,
				db.Args{"id": b.transactions[i], "ref": b.transactions[i].String(), "type": kind, "account": b.Accounts["1000"]})
		}

		for i, model := range []string{"managed", "co_host"} {
			add(`insert into listing_ownership_period (team_id, id, listing_id, business_model, created_at, updated_at) values (@team, @id, @listing, @model, @now, @now)`,
				db.Args{"id": b.periods[i], "listing": b.listings[i], "model": model})
		}

		return tx.Pipeline(ctx, rows...)
	})
	b.postEverything()

	return b
}

func (b *ledgerOfEverything) postEverything() {
	none := ledger.Line{}

	for i, p := range []struct {
		at, debit string
		rent      ledger.Line
	}{
		{"2026-01-10", "2000", ledger.Line{ReservationID: b.stays[0], ListingID: b.listings[0], OwnershipPeriodID: b.periods[0], Party: ledger.Owners, Trigger: "reservation", Description: "Rent of 100% Ann"}},
		{"2026-01-31", "2000", ledger.Line{ReservationID: b.stays[1], ListingID: b.listings[1], OwnershipPeriodID: b.periods[1], Party: ledger.Owners, Trigger: "reservation", Description: "Rent of Bob"}},
		{"2026-02-01", "2000", ledger.Line{ReservationID: b.stays[2], Party: ledger.Manager, RecurringFeeID: b.fees[0], Trigger: "recurringFee"}},
		{"2026-01-01", "2000", ledger.Line{ReservationID: b.stays[3], ContactID: b.contacts[0], Trigger: "reservation"}},
		{"2026-01-20", "1000", ledger.Line{TransactionID: b.transactions[0], ContactID: b.contacts[1], Trigger: "deposit"}},
		{"2026-01-21", "2200", ledger.Line{TransactionID: b.transactions[1], Trigger: "expense"}},
	} {
		at := ledger.Posting{SourceID: b.sources[i], TxnCode: fmt.Sprintf("made:%d_x", i), Ledger: ledger.Trust, Status: ledger.Active, TxnAt: date(p.at), Currency: "usd"}
		if !p.rent.TransactionID.IsZero() {
			at.SourceID = p.rent.TransactionID
		}

		rent, debit := p.rent, none
		rent.Ref, rent.AccountID, rent.CentTotal = "rent", b.Accounts["4000"], -money.Cents(1<<i)
		debit.Ref, debit.AccountID, debit.CentTotal, debit.Trigger = "debit", b.Accounts[p.debit], money.Cents(1<<i), p.rent.Trigger
		at.Lines = []ledger.Line{debit, rent}
		b.Replace([]id.ID{at.SourceID}, at)
	}
}

// selected are the postings with rent that a filter selects. A page that lacks some of the entries shows the same
// totals.
func (b *ledgerOfEverything) selected(t *testing.T, filter string) int64 {
	t.Helper()

	path := "/reports/journal-entries?accountIds=" + b.Accounts["4000"].String() + "&" + filter

	all := b.Get(path).Want(200)
	if !strings.Contains(filter, "limit=") {
		few := b.Get(path + "&limit=1").Want(200)
		for _, field := range []string{"pagination.total", "totals.debit", "totals.credit"} {
			if few.String(field) != all.String(field) {
				t.Errorf("%s: %s is %s on a page of one, %s on a page of all", filter, field, few.String(field), all.String(field))
			}
		}
	}

	return all.Int("totals.credit")
}

func TestEntryFilters(t *testing.T) {
	t.Parallel()
	b := newLedgerOfEverything(t)
	list := func(ids ...id.ID) string {
		out := make([]string, len(ids))
		for i := range ids {
			out[i] = ids[i].String()
		}

		return strings.Join(out, ",")
	}
	first := b.Get("/reports/journal-entries?txnCode=made:0_x&party=owners").Want(200)

	category := b.Get("/reports/profit-and-loss?startDate=2026&endDate=2026").String("netIncome.groups.0.categories.0.id")
	for filter, want := range map[string]int64{
		"limit=1": 63, "ids=" + first.String("data.0.id"): 1, "categoryIds=" + category: 63, "notCategoryIds=" + category: 0,
		"notAccountIds=" + b.Accounts["1000"].String(): 63, "accountClassifications=revenue": 63, "accountClassifications=asset,liability,expense": 0,
		"reservationIds=" + list(b.stays[0], b.stays[3]): 9, "notReservationIds=" + list(b.stays[0], b.stays[3]): 54, "reservationIds=null": 48,
		"reservationIds=unmapped": 48, "notReservationIds=null": 15, "notReservationIds=null," + list(b.stays[0]): 14,
		"reservationIds=null," + list(b.stays[0]): 49, "listingIds=" + list(b.listings[0]): 1, "listingIds=null," + list(b.listings[0]): 61,
		"notListingIds=" + list(b.listings...): 60, "notListingIds=null": 3, "contactIds=" + list(b.contacts...): 24, "contactIds=null": 39,
		"notContactIds=" + list(b.contacts[0]): 55, "transactionIds=" + list(b.transactions[0]): 16, "notTransactionIds=" + list(b.transactions[0]): 47,
		"transactionIds=null": 15, "ownershipPeriodIds=" + list(b.periods[1]): 2, "notOwnershipPeriodIds=null": 3, "ownershipPeriodIds=null": 60,
		"recurringFeeIds=" + list(b.fees[0]): 4, "recurringFeeIds=null": 59, "notRecurringFeeIds=" + list(b.fees[0]): 59,
		"transactionTypes=deposit": 16, "transactionTypes=deposit,expense": 48, "notTransactionTypes=expense": 31,
		"triggerTypes=reservation": 11, "triggerTypes=reservation,deposit": 27, "notTriggerTypes=reservation": 52,
		"channels=airbnb": 9, "channels=null": 4, "channels=null,vrbo": 6, "notChannels=airbnb": 54, "notChannels=null": 59,
		"businessModels=managed": 1, "businessModels=co_host,managed": 3, "businessModels=co_host_airbnb": 0,
		"party=owners": 3, "party=manager": 4, "party=null": 56, "search=rent": 3, "search=100%25": 1, "search=BOB": 2, "search=made%3A3": 8, "search=3_": 8,
		"search=%25": 1, "search=a_e": 0,
		"amount=-1": 1, "amount=-4...-2": 6, "amount=-1,-32...-16": 49, "amount=1...100": 0,
		"endDate=2026-01-31&occupancyStatus=departed": 1, "endDate=2026-01-31&occupancyStatus=inHouse": 2, "endDate=2026-02-01&occupancyStatus=upcoming": 0,
		"endDate=2026-02-01&occupancyStatus=inHouse": 4, "endDate=2026-02-01&occupancyStatus=departed": 3, "occupancyStatus=unassigned": 48,
		"endDate=2026-02-01&occupancyStatus=cancelled": 8, "endDate=2026-01-30&occupancyStatus=departed": 0, "endDate=2026-01-30&occupancyStatus=inHouse": 1,
		"createdAtFrom=2020-01-01T00:00:00Z": 63, "createdAtTo=2020-01-01T00:00:00Z": 0, "balanceSheetRows=owners,manager": 7, "balanceSheetRows=unassigned": 56,
		"balanceSheetRows=assets": 0, "startDate=2026-01-20&endDate=2026-01-31": 50, "startDate=2026-01-01&endDate=2026-01-31": 59, "dateRange=2026-02": 4,
		"dateRange=2026-01-10...2026-01-31": 51, "dateRange=2026-01&isDateRangeEndInclusive=false": 57, "dateRange=2026-01-01...2026-02-01&isDateRangeEndInclusive=false": 59,
		"dateRange=2026-01&listingIds=" + list(b.listings...): 3, "dateRange=2026-01-11...2026-01-31&listingIds=" + list(b.listings...): 2, "ledger=trust&party=null": 56,
		"ledger=operating": 0, "currency=usd&notListingIds=null": 3, "currency=eur": 0, "status=inactive": 0, "statementIds=null": 63, "attached=true": 0, "attached=false": 63,
	} {
		if got := b.selected(t, filter); got != want {
			t.Errorf("%s selects %06b, want %06b", filter, got, want)
		}
	}
}

// What closed books, owner statements and reconciliations hold is locked, and nothing else is.
func TestLockedAndAttachedEntries(t *testing.T) {
	t.Parallel()

	b := newLedgerOfEverything(t)
	if got := b.selected(t, "locked=true"); got != 0 {
		t.Errorf("%06b is locked before anything holds it", got)
	}

	b.Exec(`update team set books_closed_at = '2026-01-02' where id = @team`, nil)

	for i, s := range []struct{ start, end string }{{"2026-02-01", "2026-02-28"}, {"2026-01-01", "2026-01-31"}} {
		b.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
				expenses, payouts, balance_end, reserve, created_at, updated_at)
			values (@team, @id, @ref, @period, @listing, 'inReview', 'usd', @start::date, @end::date, 0, 0, 0, 0, 0, 0, '2026-01-01', '2026-01-01')`,
			db.Args{"id": b.statements[i], "ref": b.statements[i].String(), "period": b.periods[i], "listing": b.listings[i], "start": s.start, "end": s.end})
	}

	b.Exec(`update ledger_entry set statement_id = @statement where team_id = @team and txn_code = 'made:0_x'`, db.Args{"statement": b.statements[0]})
	record := id.New(b.DB.Now())
	b.Exec(`insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
		values (@team, @id, @account, '2026-01-20', 16, '2026-01-01', '2026-01-01')`, db.Args{"id": record, "account": b.Accounts["1000"]})

	for _, transaction := range b.transactions {
		b.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			values (@team, @record, @transaction, @account, 16, '2026-01-01')`,
			db.Args{"record": record, "transaction": transaction, "account": b.Accounts["1000"]})
	}
	// 1 is attached, 2 in the month of a statement, 8 before the books opened, 16 reconciled; 32 is reconciled too but
	// moves no money. The other side of a posting goes or stays with it.
	if got := b.Get("/reports/journal-entries?locked=true&accountIds=" + b.Accounts["2000"].String()).Want(200).Int("totals.debit"); got != 1+2+8 {
		t.Errorf("what guests owe is locked in %06b", got)
	}

	b.Exec(`update ledger_entry set statement_id = null where team_id = @team`, nil)

	if got := b.selected(t, "locked=true"); got != 1+2+8+16 {
		t.Errorf("%06b is locked: a statement of February holds January", got)
	}

	b.Exec(`update ledger_entry set statement_id = @statement where team_id = @team and txn_code = 'made:0_x' and party = 'owners'`,
		db.Args{"statement": b.statements[0]})

	for filter, want := range map[string]int64{
		"locked=true": 1 + 2 + 8 + 16, "locked=false": 4 + 32, "attached=true": 1, "attached=false": 62, "statementIds=" + b.statements[0].String(): 1,
		"notStatementIds=null": 1, "notStatementIds=" + b.statements[0].String(): 62, "statementIds=null": 62,
	} {
		if got := b.selected(t, filter); got != want {
			t.Errorf("%s selects %06b, want %06b", filter, got, want)
		}
	}
}

func TestEntryFilterRefusals(t *testing.T) {
	t.Parallel()

	b := newBooks(t)
	for filter, issue := range map[string][2]string{
		"occupancyStatus=departed": {"required", "endDate"}, "occupancyStatus=gone": {"enum", "occupancyStatus"}, "amount=5...1": {"malformed", "amount"},
		"amount=x": {"malformed", "amount"}, "amount=1...": {"malformed", "amount"}, "party=nobody": {"enum", "party"}, "listingIds=none": {"uuid", "listingIds"},
		"accountIds=null": {"uuid", "accountIds"}, "attached=1": {"boolean", "attached"}, "createdAtFrom=2026": {"dateTime", "createdAtFrom"},
		"transactionTypes=deposit,x": {"enum", "transactionTypes"}, "balanceSheetRows=equity": {"enum", "balanceSheetRows"}, "sort=party": {"enum", "sort"},
	} {
		b.Get("/reports/journal-entries?"+filter).WantError(apierr.CodeBadRequest, "").WantIssue(issue[0], issue[1])
	}
}

// The totals and the number of entries are those of all pages, wherever the page starts. Proves: LIM-05, LIM-06.
func TestEntryTotalsAreOfAllPages(t *testing.T) {
	t.Parallel()

	b := newLedgerOfEverything(t)
	for paging, rows := range map[string]int{"limit=250": 12, "limit=12": 12, "limit=5": 5, "limit=5&page=3": 2, "limit=5&page=9": 0, "offset=11": 1, "limit=1&page=2": 1} {
		r := b.Get("/reports/journal-entries?" + paging).Want(200)
		if r.Len("data") != rows || r.Int("pagination.total") != 12 || r.Int("totals.debit") != 63 || r.Int("totals.credit") != 63 {
			t.Errorf("%s: %s", paging, r.Body)
		}
	}

	b.Get("/reports/journal-entries?limit=0").WantIssue("range", "limit")
	b.Get("/reports/journal-entries?limit=251").WantIssue("range", "limit")

	for sort, want := range map[string]string{
		"-amount": "centTotal 32", "amount": "centTotal -32", "account": "account.code 1000", "-account": "account.code 4000", "txnAt": "txnAt 2026-01-01",
		"-txnAt": "txnAt 2026-02-01",
	} {
		field, value, _ := strings.Cut(want, " ")
		if got := b.Get("/reports/journal-entries?limit=1&sort=" + sort).String("data.0." + field); got != value {
			t.Errorf("%s starts with %s, want %s", sort, got, value)
		}
	}

	b.Get("/reports/journal-entries?sort=-createdAt").Want(200)
}
