package transaction_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

func wantBalances(t *testing.T, w *world, want map[string]int64) {
	t.Helper()

	if got := fixture.Balances(w.Team, "true"); !maps.Equal(got, want) {
		t.Errorf("balances %v, want %v", got, want)
	}
}

// Example A over HTTP: what the caller leaves out comes from assignments, the reservation and the kind of account.
func TestDepositOfAGuest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := object{"type": "deposit", "date": "2026-01-05", "description": "Card", "lines": list{
		object{"assignment": "accountsReceivable", "amount": 64400, "reservationId": w.stay, "party": "owners"},
		object{"assignment": "deposit_merchantFee", "amount": -1898, "reservationId": w.stay},
	}}

	r := w.Post("/transactions", body).Want(201)
	for path, want := range map[string]string{
		"type": "deposit", "status": "active", "date": "2026-01-05", "currency": "usd", "total": "62502", "account.code": "1000", "payment": "null",
		"isOpeningBalance": "false", "uniqueRef": "null", "description": "Card", "attachmentIds": "[]",
		"lines.0.account.code": "2000", "lines.0.party": "null", "lines.0.listing.name": "Villa", "lines.0.reservation.status": "booked",
		"lines.0.assignment": "accountsReceivable", "lines.0.total": "64400", "lines.1.party": "manager", "lines.1.account.code": "5010",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	wantBalances(t, w, map[string]int64{"1000": 62502, "2000": -64400, "5010": 1898})

	got := w.Get("/transactions/" + r.String("id")).Want(200)
	if string(got.Body) != string(r.Body) {
		t.Errorf("read\n%s\nwritten\n%s", got.Body, r.Body)
	}
}

// Example F over HTTP: taxes and markup are computed, the payment is booked on its own date.
func TestExpenseWithMarkupAndTax(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tax := object{"taxRateId": w.tax}
	body := object{"type": "expense", "date": "2026-01-15", "contactId": w.vendor, "lines": list{object{
		"accountId": w.accounts["5200"], "amount": 10000, "listingId": w.villa, "appliedAmount": tax,
		"markup": object{"amount": 1000, "taxRateId": w.tax, "taxBehavior": "excluded"},
	}}}

	r := w.Post("/transactions", body).Want(201)
	if r.Int("lines.0.total") != 12650 || r.Int("total") != 10000 || r.String("account.code") != "2200" || r.String("lines.0.party") != "owners" ||
		r.Int("lines.0.appliedAmount.taxAmount") != 1500 || r.Int("lines.0.markup.taxAmount") != 150 {
		t.Errorf("got %s", r.Body)
	}

	wantBalances(t, w, map[string]int64{"5200": 12650, "2200": -10000, "4190": -1000, "2110": -1650})

	paid := w.Put("/transactions/"+r.String("id"), object{"payment": object{"date": "2026-01-20"}}).Want(200)
	if paid.ID("payment.accountId") != w.accounts["1000"] || paid.String("payment.date") != "2026-01-20" {
		t.Errorf("got %s", paid.Body)
	}

	wantBalances(t, w, map[string]int64{"5200": 12650, "1000": -10000, "4190": -1000, "2110": -1650})
	included := fixture.With(object{}, "lines_update", list{object{
		"id": r.String("lines.0.id"), "amount": 11500, "markup": nil,
		"appliedAmount": object{"taxRateId": w.tax, "taxBehavior": "included", "taxPayee": "authority"},
	}})

	changed := w.Put("/transactions/"+r.String("id"), included).Want(200)
	if changed.Int("lines.0.total") != 11500 || changed.Int("total") != 10000 || changed.Int("lines.0.appliedAmount.taxAmount") != 1500 {
		t.Errorf("got %s", changed.Body)
	}

	wantBalances(t, w, map[string]int64{"5200": 11500, "1000": -10000, "2110": -1500})
	w.Put("/transactions/"+r.String("id"), object{"payment": nil}).Want(200)
	wantBalances(t, w, map[string]int64{"5200": 11500, "2200": -10000, "2110": -1500})
}

// A vendor's bill that contains its tax is paid whole, whatever the rate leaves of a cent: the vendor remits the tax,
// and the manager owes that on the markup alone. What is on top of the bill can be the vendor's too, and what is inside
// can be the manager's to remit.
func TestVendorGetsTheTaxOnTheBill(t *testing.T) {
	t.Parallel()

	cases := []struct {
		behavior, payee string
		amount          int64
		paid, tax, owed int64
	}{
		{"included", "", 10001, 10001, 1304, 0},
		{"included", "", 9999, 9999, 1304, 0},
		{"included", "", 3, 3, 0, 0},
		{"included", "vendor", 11500, 11500, 1500, 0},
		{"included", "authority", 11500, 10000, 1500, 1500},
		{"excluded", "vendor", 10000, 11500, 1500, 0},
		{"excluded", "", 10000, 10000, 1500, 1500},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.amount, c.behavior, c.payee), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			tax := object{"taxRateId": w.tax, "taxBehavior": c.behavior}
			if c.payee != "" {
				tax["taxPayee"] = c.payee
			}

			r := w.Post("/transactions", object{"type": "expense", "date": "2026-01-15", "contactId": w.vendor, "lines": list{object{
				"accountId": w.accounts["5200"], "amount": c.amount, "listingId": w.villa, "appliedAmount": tax,
				"markup": object{"amount": 1150, "taxRateId": w.tax, "taxBehavior": "included"},
			}}}).Want(201)

			charged := c.paid + c.owed + 1150
			if r.Int("total") != c.paid || r.Int("lines.0.total") != charged || r.Int("lines.0.appliedAmount.taxAmount") != c.tax {
				t.Errorf("got %s", r.Body)
			}

			wantBalances(t, w, map[string]int64{"5200": charged, "2200": -c.paid, "4190": -1000, "2110": -c.owed - 150})
			w.Put("/transactions/"+r.String("id"), object{"payment": object{"date": "2026-01-20"}}).Want(200)
			wantBalances(t, w, map[string]int64{"5200": charged, "1000": -c.paid, "4190": -1000, "2110": -c.owed - 150})
		})
	}
}

// What was ever debited stays in the range that a number of an answer can tell, whatever the accounts, listings and
// months: a cent more is refused and changes nothing.
func TestBooksStayInTheSafeRange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	most := w.Post("/transactions", w.expense("2026-01-15", money.MaxCents-10)).Want(201).String("id")
	w.Post("/transactions", fixture.With(w.expense("2026-02-15", 10), "accountId", w.accounts["2200"])).Want(201)

	full := map[string]int64{"5200": money.MaxCents, "1000": 10 - money.MaxCents, "2200": -10}
	wantBalances(t, w, full)

	for _, body := range []object{w.expense("2026-01-15", 1), w.expense("2026-03-15", 1), w.expense("2026-03-15", money.MaxCents)} {
		w.Post("/transactions", body).WantError(apierr.CodeBadRequest, "").WantIssue("range", "")
		w.Post("/transactions?dryRun=true", body).WantError(apierr.CodeBadRequest, "").WantIssue("range", "")
	}

	w.Put("/transactions/"+most, object{"payment": object{"date": "2026-03-20"}}).WantError(apierr.CodeBadRequest, "").WantIssue("range", "")
	wantBalances(t, w, full)
	w.Put("/transactions/"+most, object{"status": "inactive"}).Want(200)
	w.Post("/transactions", w.expense("2026-01-15", 1)).Want(201)
	wantBalances(t, w, map[string]int64{"5200": 11, "1000": -1, "2200": -10})
}

// Bill and payment lock apart: a bill in closed books can still be paid on an open day, and nothing else of it changes.
func TestBillInClosedBooksCanBePaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bill := w.Post("/transactions", fixture.With(w.expense("2026-01-15", 10000), "accountId", w.accounts["2200"])).Want(201).String("id")
	fixture.CloseBooks(w.Team, "2026-02-01")
	w.Put("/transactions/"+bill, object{"payment": object{"date": "2026-01-20"}}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	w.Put("/transactions/"+bill, object{"payment": object{"date": "2026-02-20"}}).Want(200)
	w.Put("/transactions/"+bill, object{"payment": object{"date": "2026-02-21"}}).Want(200)
	w.Put("/transactions/"+bill, object{"date": "2026-02-15"}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	w.Put("/transactions/"+bill, object{"uniqueRef": "bill-1"}).Want(200)
}

func TestTypeRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	oneLine := list{object{"assignment": "payout_distribution", "amount": 1, "party": "manager"}}
	twoLines := append(slices.Clone(oneLine), oneLine...)
	paid := w.statement("published", "2026-01-01", "2026-01-31", false)
	payout := object{"type": "payout", "date": "2026-01-15", "lines": oneLine}

	tests := map[string]struct {
		body       object
		code, path string
	}{
		"two lines of a payout":           {fixture.With(payout, "lines", twoLines), "exactlyOneLine", "lines"},
		"two lines of a transfer":         {fixture.With(payout, "type", "transfer", "lines", twoLines), "exactlyOneLine", "lines"},
		"attachments of a deposit":        {fixture.With(w.deposit("2026-01-15", 1), "attachmentIds", list{w.id()}), "attachmentsNotSupported", "attachmentIds"},
		"attachments of a payout":         {fixture.With(payout, "attachmentIds", list{w.id()}), "attachmentsNotSupported", "attachmentIds"},
		"attachments of a transfer":       {fixture.With(payout, "type", "transfer", "attachmentIds", list{w.id()}), "attachmentsNotSupported", "attachmentIds"},
		"unknown attachment":              {fixture.With(w.expense("2026-01-15", 1), "attachmentIds", list{w.id()}), "attachmentNotFound", "attachmentIds.0"},
		"payment of a deposit":            {fixture.With(w.deposit("2026-01-15", 1), "payment", object{"date": "2026-01-16"}), "paymentNotSupported", "payment"},
		"opening balance by an expense":   {fixture.With(w.expense("2026-01-15", 1), "isOpeningBalance", true), "openingBalanceNotSupported", "isOpeningBalance"},
		"no account":                      {fixture.With(w.deposit("2026-01-15", 1), "lines", list{object{"amount": 1}}), "required", "lines.0.accountId"},
		"unknown assignment":              {fixture.With(w.deposit("2026-01-15", 1), "lines", list{object{"amount": 1, "assignment": "bank"}}), "enum", "lines.0.assignment"},
		"unknown account":                 {fixture.With(w.deposit("2026-01-15", 1), "lines", list{object{"amount": 1, "accountId": w.id()}}), "notFound", "lines.0.accountId"},
		"unknown listing":                 {fixture.With(payout, "lines", list{object{"amount": 1, "listingId": w.id()}}), "notFound", "lines.0.listingId"},
		"unknown reservation":             {fixture.With(payout, "lines", list{object{"amount": 1, "reservationId": w.id()}}), "notFound", "lines.0.reservationId"},
		"unknown contact":                 {fixture.With(payout, "contactId", w.id()), "notFound", "contactId"},
		"unknown bank":                    {fixture.With(payout, "accountId", w.id()), "notFound", "accountId"},
		"unknown tax rate":                {fixture.With(w.expense("2026-01-15", 1), "lines", list{object{"amount": 1, "accountId": w.accounts["5200"], "appliedAmount": object{"taxRateId": w.id()}}}), "notFound", "lines.0.appliedAmount"},
		"an owner without a listing":      {fixture.With(payout, "lines", list{object{"amount": 1, "party": "owners"}}), "required", "lines.0.listingId"},
		"a listing of another stay":       {fixture.With(payout, "lines", list{object{"amount": 1, "reservationId": w.stay, "listingId": w.listingWithOwner("Other")}}), "listingMismatch", "lines.0.listingId"},
		"a listing without an owner":      {fixture.With(payout, "lines", list{object{"amount": 1, "listingId": fixture.Listing(w.Team, "Unowned")}}), "ownershipPeriodMissing", "lines.0.listingId"},
		"a markup that nobody pays":       {fixture.With(w.expense("2026-01-15", 1), "lines", list{object{"amount": 1, "accountId": w.accounts["5200"], "markup": object{"amount": 1}}}), "markupNotSupported", "lines.0.markup"},
		"a currency that does not exist":  {fixture.With(payout, "currency", "XXX"), "currency", "currency"},
		"a stay in another currency":      {fixture.With(payout, "currency", "eur", "accountId", w.euros(), "lines", list{object{"amount": 1, "reservationId": w.stay}}), "currencyMismatch", "lines.0.reservationId"},
		"a deposit in another currency":   {fixture.With(w.deposit("2026-01-15", 1), "currency", "EUR", "accountId", w.euros(), "lines", list{object{"amount": 1, "assignment": "accountsReceivable", "reservationId": w.stay}}), "currencyMismatch", "lines.0.reservationId"},
		"a statement of another currency": {fixture.With(payout, "currency", "eur", "accountId", w.euros(), "lines", list{object{"amount": 1, "ownerStatementId": paid}}), "currencyMismatch", "lines.0.ownerStatementId"},
		"a transfer to itself":            {fixture.With(payout, "type", "transfer", "lines", list{object{"amount": 1, "accountId": w.accounts["1000"]}}), "sameAccount", "lines.0.accountId"},
		"amounts that cannot be added up": {fixture.With(w.deposit("2026-01-15", 1), "lines", list{
			object{"amount": 9007199254740991, "assignment": "accountsReceivable"}, object{"amount": 1, "assignment": "accountsReceivable"},
		}), "range", "lines.1.amount"},
	}
	for name, test := range tests {
		r := w.Post("/transactions", test.body)
		if r.Status != 400 || r.Has("reason") || r.Len("issues") != 1 {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
			continue
		}

		r.WantIssue(test.code, test.path)
	}
}

// euros makes a bank account like the first one, in euros.
func (w *world) euros() id.ID {
	a := id.New(w.DB.Now())
	w.Exec(`insert into account select x.* from account a, jsonb_populate_record(a, jsonb_build_object(
			'id', @new::uuid, 'code', null, 'name', @new::uuid, 'unique_ref', null, 'banking_currency', 'eur', 'banking_last4', null)) x
		where a.team_id = @team and a.id = @old`, db.Args{"new": a, "old": w.accounts["1000"]})

	return a
}

// A change of either side is held to the currency of the other, and what waits for a reservation takes none of another
// currency.
func TestCurrencyOfAStayAndItsMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.Post("/transactions", fixture.With(w.deposit("2026-01-15", 500), "lines",
		list{object{"amount": 500, "assignment": "accountsReceivable", "reservationId": w.stay}})).Want(201)
	path := "/transactions/" + made.String("id")
	w.Put(path, object{"currency": "eur"}).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "lines.0.reservationId")
	w.Exec(`update reservation set currency = 'eur' where team_id = @team and id = @stay`, db.Args{"stay": w.stay})
	w.Put(path, object{"description": "stored before"}).Want(200)
	w.Put(path, object{"lines_create": list{object{"amount": 1, "assignment": "accountsReceivable", "reservationId": fixture.Stay(w.Team, w.villa, "booked", "2026-02-10", "2026-02-15")}}}).Want(200)
	w.Exec(`update reservation set confirmation_code = 'HM7' where team_id = @team and id = @stay`, db.Args{"stay": w.stay})

	waits := fixture.With(w.deposit("2026-01-15", 500), "lines",
		list{object{"amount": 500, "assignment": "accountsReceivable", "matchReservationConfirmationCode": "HM7"}})
	if got := w.Post("/transactions", waits).Want(201).String("lines.0.matchStatus"); got != "unmatched" {
		t.Errorf("a stay in euros takes dollars: %s", got)
	}

	if got := w.Post("/transactions", fixture.With(waits, "currency", "eur", "accountId", w.euros())).Want(201).ID("lines.0.reservationId"); got != w.stay {
		t.Errorf("a stay in euros does not take euros: %v", got)
	}
}

func TestAttachmentsMayBeAnEmptyList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Post("/transactions", fixture.With(w.deposit("2026-01-15", 1), "attachmentIds", list{})).Want(201)
	made := w.Post("/transactions", fixture.With(w.expense("2026-01-15", 1), "attachmentIds", list{})).Want(201)
	w.Put("/transactions/"+made.String("id"), object{"attachmentIds": list{}}).Want(200)
}

func TestMoneyMovesThroughBankAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rent := w.accounts["4000"]
	w.Post("/transactions", fixture.With(w.deposit("2026-01-15", 1), "accountId", rent)).WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount)
	w.Post("/transactions", fixture.With(w.expense("2026-01-15", 1), "payment", object{"date": "2026-01-15", "accountId": rent})).
		WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount)
}

func TestChangeLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest := func(cents int64) object {
		return object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay}
	}
	made := w.Post("/transactions", fixture.With(w.deposit("2026-01-15", 1), "lines", list{guest(100), guest(200), guest(300)})).Want(201)
	path := "/transactions/" + made.String("id")

	changed := w.Put(path, object{
		"lines_create": list{guest(1000)}, "lines_delete": list{made.String("lines.0.id")},
		"lines_update": list{object{"id": made.String("lines.1.id"), "amount": 201, "description": "more"}},
	}).Want(200)
	if changed.Int("total") != 1501 || changed.Len("lines") != 3 || changed.String("lines.0.id") != made.String("lines.1.id") ||
		changed.String("lines.0.description") != "more" || changed.Int("lines.1.amount") != 300 || changed.Int("lines.2.amount") != 1000 {
		t.Errorf("got %s", changed.Body)
	}

	replaced := w.Put(path, object{"lines": list{guest(5)}}).Want(200)
	if replaced.Int("total") != 5 || replaced.Len("lines") != 1 {
		t.Errorf("got %s", replaced.Body)
	}

	wantBalances(t, w, map[string]int64{"1000": 5, "2000": -5})

	w.Put(path, object{"lines": list{guest(5)}, "lines_create": list{guest(5)}}).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "lines")
	w.Put(path, object{"lines_update": list{object{"id": w.id(), "amount": 5}}}).WantIssue("notFound", "lines_update.0.id")
	w.Put(path, object{"lines_delete": list{w.id()}}).WantIssue("notFound", "lines_delete.0")
	w.Put(path, object{"lines_delete": list{replaced.String("lines.0.id")}}).WantIssue("items", "lines")
	w.Put(path, object{"lines_create": list{object{"amount": 1, "accountId": w.id()}}}).WantIssue("notFound", "lines_create.0.accountId")
	w.Put("/transactions/"+w.id().String(), object{"description": "x"}).WantError(apierr.CodeNotFound, "")
}

// A transaction that is sent again as it is stored keeps its journal, so a lock does not matter.
func TestSendingItAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := w.expense("2026-01-15", 10000)
	made := w.Post("/transactions", body).Want(201)
	fixture.CloseBooks(w.Team, "2026-02-01")

	same := fixture.With(body)
	delete(same, "type")
	w.Put("/transactions/"+made.String("id"), same).Want(200)
	w.Put("/transactions/"+made.String("id"), fixture.With(same, "date", "2026-01-16")).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
}

// Proves: ERR-106, ERR-107, RSN-20.
func TestUniqueRefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	add := func(ref any) *apitest.Response {
		return w.Post("/transactions", fixture.With(w.deposit("2026-01-15", 1), "uniqueRef", ref))
	}

	var paths []string
	for range 3 {
		paths = append(paths, "/transactions/"+add(nil).Want(201).String("id"))
	}

	w.Post("/transactions", w.deposit("2026-01-15", 1)).Want(201)

	taken := func(r *apitest.Response) { r.WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef) }

	w.Put(paths[0], object{"uniqueRef": ""}).Want(200)
	taken(w.Put(paths[1], object{"uniqueRef": ""}))
	w.Put(paths[0], object{"uniqueRef": nil}).Want(200)
	w.Put(paths[1], object{"uniqueRef": nil}).Want(200)
	w.Put(paths[0], object{"description": "omitted"}).Want(200)
	w.Put(paths[1], object{"description": "omitted"}).Want(200)

	if got := w.Put(paths[1], object{"uniqueRef": ""}).Want(200).String("uniqueRef"); got != "" {
		t.Errorf("uniqueRef %q", got)
	}

	taken(add(""))
	add("a").Want(201)
	taken(add("a"))
	taken(w.Put(paths[2], object{"uniqueRef": "a"}))
}

// Proves: RSN-15.
func TestDatesBeforeTheStatementStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	early := func(r *apitest.Response, path string) {
		r.WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate).WantIssue("beforeStatementStartDate", path)
	}
	early(w.Post("/transactions", w.deposit("2025-12-31", 1)), "date")
	early(w.Post("/transactions", fixture.With(w.expense("2026-01-01", 1), "payment", object{"date": "2025-12-31"})), "payment.date")
	made := w.Post("/transactions", w.deposit("2026-01-01", 1)).Want(201).String("id")
	early(w.Put("/transactions/"+made, object{"date": "2025-12-31"}), "date")
	w.Post("/transactions", fixture.With(w.deposit("2025-12-31", 1), "isOpeningBalance", true)).Want(201)
	w.Exec(`update team set statement_start_at = '2026-02-01' where team_id = @team`, nil)
	w.Put("/transactions/"+made, object{"uniqueRef": "kept"}).Want(200)
}

// Proves: RSN-28.
func TestInactiveListings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inactive := func(r *apitest.Response) {
		r.WantError(apierr.CodeBadRequest, apierr.ReasonListingInactive).WantIssue("listingInactive", "lines.0.listingId")
	}
	made := w.Post("/transactions", w.expense("2026-01-15", 1)).Want(201).String("id")
	w.Exec(`update listing set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": w.villa})
	inactive(w.Post("/transactions", w.expense("2026-01-15", 1)))
	w.Put("/transactions/"+made, object{"description": "still there"}).Want(200)
	inactive(w.Put("/transactions/"+made, object{"date": "2026-01-16"}))

	// A period that switches its listing off does so from its end.
	chalet := fixture.Listing(w.Team, "Chalet")
	p := w.ownership(chalet, "", "2026-03-01")
	w.Exec(`update listing_ownership_period set set_listing_inactive = true where team_id = @team and id = @id`, db.Args{"id": p})

	spent := func(date string) object {
		return fixture.With(w.expense(date, 1), "lines", list{object{"accountId": w.accounts["5200"], "amount": 1, "listingId": chalet}})
	}

	for _, status := range []string{"active", "inactive"} {
		w.Exec(`update listing set status = @status where team_id = @team and id = @id`, db.Args{"id": chalet, "status": status})
		w.Post("/transactions", spent("2026-02-28")).Want(201)
		inactive(w.Post("/transactions", spent("2026-03-01")))
	}
}

// Proves: RSN-52.
func TestMissingAssignments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	missing := func(assignment string, body object) {
		t.Helper()
		w.Exec(`delete from account_assignment where team_id = @team and assignment = @assignment`, db.Args{"assignment": assignment})

		r := w.Post("/transactions", body).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
		if got := r.String("context.assignments.0"); got != assignment {
			t.Errorf("missing %s, want %s", got, assignment)
		}
	}
	missing("payout_distribution", object{"type": "payout", "date": "2026-01-15", "lines": list{object{"amount": 1, "listingId": w.villa}}})
	missing("dueToFromTrust", fixture.With(w.expense("2026-01-15", 1), "accountId", w.accounts["1010"]))
	missing("accountsReceivable", w.deposit("2026-01-15", 1))
	bill := w.expense("2026-01-15", 1)
	delete(bill, "accountId")
	missing("accountsPayable", bill)
	missing("payout_bankAccount", fixture.With(w.deposit("2026-01-15", 1), "lines", list{object{"accountId": w.accounts["2300"], "amount": 1}}))
}

// Proves: RSN-65.
func TestDeleteAndArchive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	add := func() string {
		return "/transactions/" + w.Post("/transactions", w.deposit("2026-01-15", 500)).Want(201).String("id")
	}
	gone, archived := add(), add()
	w.Delete(gone).Want(204)
	w.Get(gone).WantError(apierr.CodeNotFound, "")
	w.Delete(gone).WantError(apierr.CodeNotFound, "")
	w.Delete(archived + "?onLocked=archive").Want(204)

	if got := w.Get(archived).Want(200).String("status"); got != "inactive" {
		t.Errorf("status %s", got)
	}

	wantBalances(t, w, map[string]int64{})
	w.Put(archived, object{"description": "x"}).WantError(apierr.CodeBadRequest, apierr.ReasonTransactionInactive)
	w.Put(archived, object{"status": "active"}).Want(200)
	wantBalances(t, w, map[string]int64{"1000": 500, "2000": -500})
	w.Put(archived, object{"status": "inactive"}).Want(200)
	wantBalances(t, w, map[string]int64{})
	w.Delete(archived + "?onLocked=unlock").Want(400)
}

// Deposits for one stay wait for each other.
func TestDepositsOfOneStayTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fees()

	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			paid, kept := transaction.LineInput{Amount: 100}, transaction.LineInput{Amount: -1}
			paid.Assignment, kept.Assignment = api.Set(account.AccountsReceivable), api.Set(account.DepositMerchantFee)
			paid.ReservationID, kept.ReservationID = api.Set(w.stay), api.Set(w.stay)

			err := w.DB.Write(t.Context(), w.Scope(), func(ctx context.Context, tx *db.Tx) error {
				_, err := transaction.Add(ctx, tx, &transaction.Create{
					Type: transaction.Deposit, Date: date("2026-01-15"), Lines: []transaction.LineInput{paid, kept},
				}, ledger.Lenience{})

				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	wantBalances(t, w, map[string]int64{"1000": 594, "2000": -600, "5010": 6, "4120": -6, "5120": 6})
}

// Nothing new is posted to accounts that were put away or are none; what is on them stays and can change.
func TestClosedAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.Post("/transactions", w.expense("2026-01-15", 100)).Want(201).String("id")
	w.Exec(`update account set status = 'inactive' where team_id = @team and code in ('1000', '5200')`, nil)
	w.Exec(`update account set type = 'nonPosting' where team_id = @team and code in ('5100', '2200')`, nil)

	line := func(code string) list {
		return list{object{"accountId": w.accounts[code], "amount": 5, "party": "manager"}}
	}
	fromOperating := object{"type": "expense", "date": "2026-01-15", "accountId": w.accounts["1010"], "lines": line("5110")}
	w.Post("/transactions", fromOperating).Want(201)
	w.Post("/transactions", fixture.With(fromOperating, "lines", line("5200"))).WantIssue("accountInactive", "lines.0.accountId")
	w.Post("/transactions", fixture.With(fromOperating, "lines", line("5100"))).WantIssue("nonPostingAccount", "lines.0.accountId")
	w.Post("/transactions", fixture.With(fromOperating, "accountId", w.accounts["1000"])).WantIssue("accountInactive", "accountId")
	w.Post("/transactions", object{"type": "deposit", "date": "2026-01-15", "lines": line("5110")}).WantIssue("accountInactive", "accountId")
	w.Post("/transactions", fixture.With(fromOperating, "accountId", w.accounts["2200"])).WantIssue("nonPostingAccount", "accountId")
	w.Post("/transactions", fixture.With(fromOperating, "payment", object{"date": "2026-01-15", "accountId": w.accounts["1000"]})).
		WantIssue("accountInactive", "payment.accountId")
	w.Put("/transactions/"+made, object{"date": "2026-01-16", "lines": list{object{"accountId": w.accounts["5200"], "amount": 7, "listingId": w.villa}}}).Want(200)
	w.Put("/transactions/"+made, object{"lines_create": line("5100")}).WantIssue("nonPostingAccount", "lines_create.0.accountId")
}

// A bill says what its tax is: another rate counts for what changes.
func TestSettledTaxesStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tax := object{"taxRateId": w.tax, "taxBehavior": "excluded"}
	line := object{
		"accountId": w.accounts["5200"], "amount": 10000, "listingId": w.villa, "appliedAmount": tax,
		"markup": object{"amount": 1000, "taxRateId": w.tax, "taxBehavior": "included"},
	}
	body := object{"type": "expense", "date": "2026-01-15", "lines": list{line}}
	made := w.Post("/transactions", body).Want(201)
	path := "/transactions/" + made.String("id")

	w.Exec(`update tax_rate set basis_points = 20000 where team_id = @team`, nil)

	want := func(amount, markup int64) {
		t.Helper()

		r := w.Get(path).Want(200)
		if r.Int("lines.0.appliedAmount.taxAmount") != amount || r.Int("lines.0.markup.taxAmount") != markup {
			t.Errorf("got %s, want %d and %d", r.String("lines.0"), amount, markup)
		}
	}

	w.Put(path, object{"description": "Boiler"}).Want(200)
	w.Put(path, object{"lines": list{line}}).Want(200)
	want(1500, 130)

	one := object{"id": made.String("lines.0.id")}
	w.Put(path, object{"lines_update": list{fixture.With(one, "markup", object{"amount": 1200, "taxRateId": w.tax, "taxBehavior": "included"})}}).Want(200)
	want(1500, 200)
	w.Put(path, object{"lines_update": list{fixture.With(one, "amount", 10001)}}).Want(200)
	want(2000, 200)
	w.Put(path, object{"lines_update": list{fixture.With(one, "appliedAmount", object{"taxRateId": w.tax, "taxBehavior": "included"})}}).Want(200)
	want(1667, 200)
}

// What was booked stays on its account when the assignment moves on, until the line names the assignment again.
func TestAssignmentsAreResolvedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.Post("/transactions", w.deposit("2026-01-15", 100)).Want(201)
	w.Exec(`update account_assignment set account_id = @other where team_id = @team and assignment = 'accountsReceivable'`,
		db.Args{"other": w.accounts["2300"]})

	line := object{"id": made.String("lines.0.id"), "amount": 200}

	changed := w.Put("/transactions/"+made.String("id"), object{"lines_update": list{line}}).Want(200)
	if changed.String("lines.0.account.code") != "2000" {
		t.Errorf("got %s", changed.Body)
	}

	wantBalances(t, w, map[string]int64{"1000": 200, "2000": -200})
	w.Put("/transactions/"+made.String("id"), object{"lines_update": list{fixture.With(line, "assignment", "accountsReceivable")}}).Want(200)
	wantBalances(t, w, map[string]int64{"1000": 200, "2300": -200})
}

// Example A's last step: the processor's fee is charged on to the owner as soon as a deposit carries it, and given back
// with it.
func TestDepositRefreshesTheStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fees()
	body := w.guestPays("2026-01-05", 64400, 1898)
	made := w.Post("/transactions", body).Want(201)
	wantBalances(t, w, map[string]int64{"1000": 62502, "2000": -64400, "5010": 1898, "5120": 1898, "4120": -1898})
	w.Put("/transactions/"+made.String("id"), object{"lines_delete": list{made.String("lines.1.id")}}).Want(200)
	wantBalances(t, w, map[string]int64{"1000": 64400, "2000": -64400})
	w.Put("/transactions/"+made.String("id"), object{"lines": body["lines"]}).Want(200)
	w.Put("/transactions/"+made.String("id"), object{"lines": list{object{"assignment": "accountsReceivable", "amount": 7}}}).Want(200)
	wantBalances(t, w, map[string]int64{"1000": 7, "2000": -7})
	w.Put("/transactions/"+made.String("id"), object{"lines": body["lines"]}).Want(200)
	w.Delete("/transactions/" + made.String("id")).Want(204)
	wantBalances(t, w, map[string]int64{})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.Post("/transactions", w.expense("2026-01-15", 100)).Want(201).ID("id")
	refresh := func(want ledger.Change) {
		t.Helper()
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			got, err := transaction.Source().Book(ctx, tx, []id.ID{made}, ledger.Lenience{})
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}

			return err
		})
	}
	refresh(ledger.Change{})
	// The owner of January turns out to be another one.
	w.Exec(`update listing_ownership_period set end_at = '2026-01-01' where team_id = @team and id = @id`, db.Args{"id": w.period})
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := transaction.Source().Book(ctx, tx, []id.ID{made}, ledger.Lenience{}); !apierr.IsRefusal(err) {
			t.Errorf("a listing without an owner: %v", err)
		}

		return nil
	})
	w.ownership(w.villa, "2026-01-01", "")
	refresh(ledger.Change{Added: 1, Removed: 1})
	refresh(ledger.Change{})
}

// Many transactions are stored and booked at once, in the order given, or not at all.
func TestAddAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(cents money.Cents, ref string) transaction.Create {
		return transaction.Create{
			Type: transaction.Payout, Date: date("2026-01-31"), UniqueRef: api.Set(ref),
			Lines: []transaction.LineInput{{Amount: cents, LineFields: transaction.LineFields{ListingID: api.Set(w.villa)}}},
		}
	}

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		got, err := transaction.AddAll(ctx, tx, []transaction.Create{create(3, "c"), create(1, "a"), create(2, "b")}, ledger.Lenience{})
		if err == nil && (len(got) != 3 || got[0].Total != 3 || got[1].Total != 1 || got[2].Total != 2) {
			t.Errorf("got %+v", got)
		}

		return err
	})
	wantBalances(t, w, map[string]int64{"1000": -6, "2400": 6})

	err := w.DB.Write(t.Context(), w.Scope(), func(ctx context.Context, tx *db.Tx) error {
		_, err := transaction.AddAll(ctx, tx, []transaction.Create{create(4, "d"), create(5, "a")}, ledger.Lenience{})
		return err
	})
	if reasonOf(err) != apierr.ReasonDuplicateUniqueRef {
		t.Errorf("got %v", err)
	}

	wantBalances(t, w, map[string]int64{"1000": -6, "2400": 6})
}

// A payout names the published statement that it pays and takes its listing.
//
// Proves: RSN-62.
func TestPayoutOfStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.statement("inReview", "2026-01-01", "2026-01-31", false)
	body := object{"type": "payout", "date": "2026-02-05", "lines": list{object{"amount": 38132, "ownerStatementId": s, "contactId": w.owner}}}
	w.Post("/transactions", body).WantError(apierr.CodeBadRequest, apierr.ReasonStatementNotReadyForPayment)
	w.Exec(`update statement set status = 'published' where team_id = @team and id = @id`, db.Args{"id": s})

	made := w.Post("/transactions", body).Want(201)
	if made.ID("lines.0.listingId") != w.villa || made.ID("lines.0.ownerStatementId") != s || made.String("lines.0.contact.name") != "Ann Owner" ||
		made.String("lines.0.assignment") != "payout_distribution" || made.String("lines.0.party") != "owners" {
		t.Errorf("got %s", made.Body)
	}

	review := w.statement("inReview", "2025-12-01", "2025-12-31", false)
	line := object{"id": made.ID("lines.0.id"), "ownerStatementId": review}
	w.Put("/transactions/"+made.String("id"), object{"lines_update": list{line}}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementNotReadyForPayment)
	wantBalances(t, w, map[string]int64{"1000": -38132, "2400": 38132})
}
