package fee_test

import (
	"slices"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// Proves: DRY-40.
func TestFeeAndItsJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay("2026-01-29")

	f := b.Post("/recurring-fees", b.fee("uniqueRef", "f-1", "listingSubscriptions", b.subscriptions(object{"endAt": "2026-01-29"},
		object{"startAt": "2026-01-29", "rate": 10_000}))).Want(201)
	for name, want := range map[string]string{
		"status": "active", "creditAccount.name": "Management commission revenue", "revenueRecognition": "null", "chargeBasis": "perReservation",
		"statusFilter": "booked", "ownerStayFilter": "exclude", "taxRate": "null", "taxBehavior": "null", "accountTotalConditions": "[]",
		"bookingChannelsFilter": "[]", "linkedAccounts.0.name": "Rent", "includedFinancials.0.lineType": "rent", "includedFinancials.0.name": "Rent",
		"includedFinancials.0.app": "null", "journalStatus.status": "recalculating", "journalStatus.reason": "feeChanged", "journalStatus.action": "wait",
	} {
		if got := f.String(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}

	if f.Len("listingPeriods") != 2 || f.Len("journalStatus.operationIds") != 1 {
		t.Errorf("%s", f.Body)
	}

	b.wantCharged(10_000)

	path := "/recurring-fees/" + f.String("id")
	if got := b.Get(path).String("journalStatus.status"); got != "current" {
		t.Errorf("the journals are %s", got)
	}

	b.Put(path, object{"listingSubscriptions": b.subscriptions(object{})}).Want(200)
	b.wantCharged(20_000)
	b.Put(path, object{"defaultRate": 2_500, "revenueRecognition": "checkOut"}).Want(200)
	b.wantCharged(2_500)
	b.Put(path, object{"defaultRate": 12_500}).Want(200)
	b.wantCharged(12_500)

	if got := b.Put(path, object{"bookingChannelsFilter": []string{"airbnb"}, "uniqueRef": nil}).Want(200); got.String("uniqueRef") != "null" ||
		got.String("revenueRecognition") != "checkOut" || got.String("name") != "Management" {
		t.Errorf("%s", got.Body)
	}

	b.wantCharged(0)
	b.Put(path, object{"bookingChannelsFilter": []string{}, "revenueRecognition": nil}).Want(200)
	b.wantCharged(12_500)
	b.Put(path, object{"status": "inactive"}).Want(200)
	b.wantCharged(0)

	if got := b.Get(path).Want(200); got.Len("listingPeriods") != 1 || got.String("status") != "inactive" {
		t.Errorf("%s", got.Body)
	}
}

// What does not change a journal outdates none.
func TestChangesThatChargeTheSame(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	stay := b.stay("2026-01-29")
	path := b.add("bookingChannelsFilter", nil)
	b.wantStale(path, stay)

	for _, change := range []object{
		{}, {"icon": "broom"}, {"uniqueRef": "f"}, {"name": "Management"}, {"formula": "rent"}, {"listingSubscriptions": b.subscriptions(object{})},
	} {
		b.Put(path, change).Want(200)
		b.wantStale(path)
	}

	b.Put(path, object{"name": "Commission"}).Want(200)
	b.wantStale(path, stay)
}

// Only the stays that a fee is charged on, or may be, follow a change of it.
func TestTouchedReservations(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	other := b.addListing("Cabin")
	january, march := b.stay("2026-01-29"), b.stay("2026-03-01")
	canceled := b.stayOn(b.listing, "2026-03-10", "canceled")
	b.stayOn(b.listing, "2026-03-20", "inactive")
	elsewhere := b.stayOn(other, "2026-03-01", "booked")
	path := b.add("listingSubscriptions", b.subscriptions(object{"startAt": "2026-02-15"}))
	b.wantStale(path, march)
	b.Put(path, object{"statusFilter": "all"}).Want(200)
	b.wantStale(path, march, canceled)
	b.Put(path, object{"statusFilter": "booked"}).Want(200)
	b.wantStale(path, march, canceled)
	p := b.Get(path).String("listingPeriods.0.id")
	b.Put("/recurring-fees/listing-periods/"+p, object{"startAt": "2026-02-03"}).Want(200)
	b.wantStale(path, january, march) // the last day of the first stay
	b.Post("/recurring-fees/listing-periods", object{"recurringFeeId": path[len("/recurring-fees/"):], "listingId": other}).Want(201)
	b.wantStale(path, elsewhere)
	b.Put(path, object{"listingSubscriptions": b.subscriptions(object{"startAt": "2026-02-03"}, object{"listingId": other, "endAt": "2026-02-01"})}).Want(200)
	b.wantStale(path, elsewhere)
	b.Put(path, object{"status": "inactive"}).Want(200)
	b.wantStale(path, january, march)
	b.Put(path, object{"defaultRate": 1}).Want(200)
	b.wantStale(path) // no one is charged
}

// Entries that the fee has made follow it, even where no listing period is left to say so.
func TestEntriesFollowTheirFee(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	stay := b.stay("2026-01-29")
	path := b.add()
	b.wantCharged(20_000)
	b.Exec(`delete from fee_listing_period where team_id = @team`, nil)
	b.Put(path, object{"defaultRate": 1}).Want(200)
	b.wantStale(path, stay)
}

// Proves: STM-12, STM-14.
func TestFeesLeaveLockedJournalsAlone(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay("2026-01-29")
	b.stay("2026-02-10")
	b.Exec(`update team set books_closed_at = '2026-02-01' where id = @team`, nil)
	path := b.add()
	want := func(status, reason, action string) {
		t.Helper()

		s := b.Get(path).Want(200)
		if s.String("journalStatus.status") != status || s.String("journalStatus.reason") != reason || s.String("journalStatus.action") != action {
			t.Errorf("%s", s.String("journalStatus"))
		}
	}
	want("recalculating", "feeChanged", "wait")
	b.wantCharged(20_000)
	want("stale", "journalLocked", "unlock")

	if got := b.Get("/recurring-fees").String("data.0.journalStatus.reason"); got != "journalLocked" {
		t.Errorf("the list says %s", got)
	}

	b.Exec(`insert into ledger_stale (team_id, source_id, cause_id, source, reason, since)
		select @team, @id, id, 'reservation', 'feeChanged', now() from fee where team_id = @team`, db.Args{"id": id.New(b.DB.Now())})
	want("stale", "feeChanged", "refresh")
}

// The lock of a fee names what holds the entries that it made, in the list as well as in the single read.
func TestFeeLock(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	period := fixture.Period(b.Team, b.listing, "", "")
	b.stay("2026-01-29")
	path := b.add()
	b.wantCharged(20_000)
	b.Post("/recurring-fees", b.fee("name", "Unused")).Want(201)

	if got := b.Get(path).Want(200); got.String("lock.status") != "open" || got.String("lock.booksClosed") != "null" || got.String("lock.reconciled") != "null" {
		t.Errorf("%s", got.Body)
	}

	b.Exec(`update team set books_closed_at = '2026-01-29' where id = @team`, nil)

	if got := b.Get(path); got.String("lock.status") != "open" {
		t.Errorf("%s", got.Body)
	}

	fixture.CloseBooks(b.Team, "2026-01-30")
	statement := fixture.Statement(b.Team, period, "published", "2026-01-01", "2026-01-31")
	b.Exec(`with gone as (delete from ledger_entry where team_id = @team returning *)
		insert into ledger_entry select x.* from gone g cross join jsonb_populate_record(null::ledger_entry, to_jsonb(g) || case when g.party = 'owners'
			then jsonb_build_object('statement_id', @statement::uuid, 'ownership_period_id', @period::uuid) else '{}' end) x`,
		db.Args{"statement": statement, "period": period})

	list := b.Get("/recurring-fees?sort=name").Want(200)
	for at, r := range map[string]*apitest.Response{"lock": b.Get(path).Want(200), "data.0.lock": list} {
		for name, want := range map[string]string{
			".status": "locked", ".booksClosed.date": "2026-01-30", ".ownerStatement.ids.0": statement.String(),
			".statementPeriod.hits.0.listingId": b.listing.String(), ".statementPeriod.hits.0.txnAt": "2026-01-29", ".statementPeriod.hits.0.openFrom": "2026-02-01",
		} {
			if got := r.String(at + name); got != want {
				t.Errorf("%s is %s, want %s", at+name, got, want)
			}
		}
	}

	if list.String("data.1.lock.status") != "open" {
		t.Errorf("%s", list.Body)
	}
}

func TestFeeRefusals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	unknown := id.New(b.DB.Now())
	archived := b.Post("/tax-rates", object{"name": "Archived", "basisPoints": 1}).Want(201).String("id")
	b.Put("/tax-rates/"+archived, object{"status": "inactive"}).Want(200)

	condition := object{"accountId": unknown, "operator": ">", "centValue": 1}
	refused := b.Refuses("/recurring-fees")
	refused("unknown credit account", b.fee("creditAccountId", unknown), "notFound", "creditAccountId")
	refused("unknown debit account", b.fee("debitAccountId", unknown), "notFound", "debitAccountId")
	refused("unknown listing", b.fee("listingSubscriptions", []any{object{"listingId": unknown}}), "notFound", "listingSubscriptions.0.listingId")
	refused("unknown condition", b.fee("accountTotalConditions", []any{condition}), "notFound", "accountTotalConditions.0.accountId")
	refused("unknown operator", b.fee("accountTotalConditions", []any{object{"accountId": b.credit, "operator": "<>", "centValue": 1}}), "enum", "accountTotalConditions.0.operator")
	refused("unknown tax rate", b.fee("taxRateId", unknown), "notFound", "taxRateId")
	refused("archived tax rate", b.fee("taxRateId", archived), "inactive", "taxRateId")
	refused("tax without a rate", b.fee("taxBehavior", "included"), "required", "taxRateId")
	refused("unknown behavior", b.fee("taxBehavior", "extra"), "enum", "taxBehavior")
	refused("percentage per night", b.fee("chargeBasis", "perNight"), "contradiction", "chargeBasis")
	refused("no formula", b.fee("formula", nil), "formulaInvalid", "formula")
	refused("wrong formula", b.fee("formula", "rent +"), "formulaInvalid", "formula")
	refused("unknown line type", b.fee("formula", "rent + rnet"), "formulaInvalid", "formula")
	refused("unknown fee", b.fee("formula", `fee("Cleaning")`), "formulaInvalid", "formula")
	refused("unknown account", b.fee("formula", `account("4711")`), "formulaInvalid", "formula")
	refused("wrong flat formula", b.fee("rateType", "flat", "formula", "?"), "formulaInvalid", "formula")
	refused("overlap", b.fee("listingSubscriptions", b.subscriptions(object{}, object{})), "overlap", "startAt")
	refused("empty period", b.fee("listingSubscriptions", b.subscriptions(object{"startAt": "2026-01-02", "endAt": "2026-01-02"})), "dateOrder", "endAt")
	refused("unknown type", b.fee("type", "tip"), "enum", "type")
	refused("unknown status filter", b.fee("statusFilter", "inactive"), "enum", "statusFilter")
	refused("no name", b.fee("name", nil), "required", "name")
	b.Post("/recurring-fees", b.fee("uniqueRef", "f")).Want(201)
	b.Post("/recurring-fees", b.fee()).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	b.Post("/recurring-fees", b.fee("name", "Other", "uniqueRef", "f")).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	b.Get("/recurring-fees/"+unknown.String()).WantError(apierr.CodeNotFound, "")
	b.Put("/recurring-fees/"+unknown.String(), object{}).WantError(apierr.CodeNotFound, "")
	b.Delete("/recurring-fees/"+unknown.String()).WantError(apierr.CodeNotFound, "")
}

func TestFeeTaxAndConditions(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay("2026-01-29")
	rate := b.Post("/tax-rates", object{"name": "Sales tax", "basisPoints": 15_000}).Want(201).String("id")
	rent := b.account("4000")
	path := b.add("taxRateId", rate, "accountTotalConditions", []any{object{"accountId": rent, "operator": "<=", "centValue": 0}})

	f := b.Get(path).Want(200)
	for name, want := range map[string]string{
		"taxRate.name": "Sales tax", "taxRate.basisPoints": "15000", "taxBehavior": "excluded", "accountTotalConditions.0.operator": "<=",
		"accountTotalConditions.0.centValue": "0", "linkedAccounts.0.name": "Rent",
	} {
		if got := f.String(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}

	b.wantCharged(23_000)
	b.Put(path, object{"taxBehavior": "included"}).Want(200)

	if got := b.Put(path, object{"taxBehavior": nil}).Want(200).String("taxBehavior"); got != "excluded" {
		t.Errorf("without a tax behavior it is %s", got)
	}

	b.Put(path, object{"taxBehavior": "included"}).Want(200)
	b.wantCharged(20_000)
	b.Put(path, object{"taxBehavior": "excluded"}).Want(200)
	b.Put("/tax-rates/"+rate, object{"basisPoints": 10_000}).Want(200)
	b.wantCharged(22_000)
	b.Put("/tax-rates/"+rate, object{"status": "inactive"}).Want(200)
	b.Put(path, object{"icon": "tax"}).Want(200) // an archived rate stays where it is

	if got := b.Put(path, object{"taxRateId": nil}).Want(200); got.String("taxBehavior") != "null" || got.String("taxRate") != "null" {
		t.Errorf("%s", got.Body)
	}

	b.wantCharged(20_000)
	b.Put(path, object{"accountTotalConditions": []any{object{"accountId": rent, "operator": ">", "centValue": 0}}}).Want(200)
	b.wantCharged(0)
	b.Put(path, object{"accountTotalConditions": []any{}}).Want(200)
	b.wantCharged(20_000)
	b.Exec(`delete from account_assignment where team_id = @team and assignment = 'expense_salesTax'`, nil)
	rate = b.Post("/tax-rates", object{"name": "Other", "basisPoints": 1}).Want(201).String("id")
	b.Put(path, object{"taxRateId": rate}).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
}

// Proves: RSN-24, PAG-31, DRY-40.
func TestDeleteFee(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	unused := b.add("name", "Unused", "accountTotalConditions", []any{object{"accountId": b.credit, "operator": ">", "centValue": 1}}, "formula", `account("4000")`)
	b.Delete(unused).Want(204)
	b.Get(unused).WantError(apierr.CodeNotFound, "")

	if got := b.Get("/recurring-fees/listing-periods").Len("data"); got != 0 {
		t.Errorf("%d listing periods of a deleted fee", got)
	}

	b.stay("2026-01-29")
	used := b.add()
	b.wantCharged(20_000)
	b.Post("/recurring-fees", b.fee("name", "On top", "formula", `fee("Management")`)).Want(201)

	stranger := newBooks(t)
	stranger.Delete(used).WantError(apierr.CodeNotFound, "")
	stranger.Put(used, object{}).WantError(apierr.CodeNotFound, "")
	stranger.Get(used).WantError(apierr.CodeNotFound, "")

	r := b.Delete(used).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if r.String("context.lockReasons") != `["journalEntries","recurringFees"]` || r.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("%s", r.Body)
	}

	b.Delete(used+"?onLocked=remove").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "onLocked")
	b.Delete(used + "?onLocked=archive").Want(204)

	if got := b.Get(used).Want(200); got.String("status") != "inactive" || got.String("journalStatus.reason") != "feeChanged" {
		t.Errorf("%s", got.Body)
	}

	b.wantCharged(0)

	if r := b.Delete(used).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons") != `["recurringFees"]` {
		t.Errorf("%s", r.Body)
	}
}

// An adjustment of a reservation keeps its fee, and follows it.
func TestFeeOfAdjustment(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	stay := b.stay("2026-01-29")
	path := "/recurring-fees/" + b.Post("/recurring-fees", b.fee()).Want(201).String("id")
	b.Exec(`insert into reservation_adjustment (team_id, id, reservation_id, type, amount, recurring_fee_id, created_at, updated_at)
		select @team, @id, @stay, 'fee', 100, id, now(), now() from fee where team_id = @team`, db.Args{"id": id.New(b.DB.Now()), "stay": stay})

	if r := b.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons") != `["reservations"]` {
		t.Errorf("%s", r.Body)
	}

	b.Put(path, object{"creditParty": "owners"}).Want(200)
	b.wantStale(path, stay)
}

func TestFeeLists(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	cabin := b.addListing("Cabin")
	b.Post("/recurring-fees", b.fee("uniqueRef", "m-1", "listingSubscriptions", b.subscriptions(object{}))).Want(201)
	b.Post("/recurring-fees", b.fee("name", "Linen", "type", "additionalFee", "rateType", "flat", "formula", nil, "defaultRate", 1, "creditAccountId", b.account("4120"),
		"listingSubscriptions", b.subscriptions(object{"listingId": cabin}))).Want(201)
	b.Post("/recurring-fees", b.fee("name", "Old", "status", "inactive")).Want(201)

	for query, want := range map[string][]string{
		"":                                {"Linen", "Management", "Old"},
		"?sort=-name":                     {"Old", "Management", "Linen"},
		"?sort=createdAt":                 {"Management", "Linen", "Old"},
		"?status=inactive":                {"Old"},
		"?type=additionalFee":             {"Linen"},
		"?type=additionalFee,cleaningFee": {"Linen"},
		"?rateType=flat":                  {"Linen"},
		"?search=MANAG":                   {"Management"},
		"?search=m-1":                     {"Management"},
		"?uniqueRefs=m-1,none":            {"Management"},
		"?listingIds=" + cabin.String():   {"Linen"},
		"?accountIds=" + b.account("4120").String():                {"Linen"},
		"?listingIds=" + cabin.String() + "," + b.listing.String(): {"Linen", "Management"},
		"?listingIds=" + cabin.String() + "&status=inactive":       {},
	} {
		r := b.Get("/recurring-fees" + query).Want(200)

		got := []string{}
		for i := range r.Len("data") {
			got = append(got, r.String("data."+string(rune('0'+i))+".name"))
		}

		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
}

// A rate keeps its meaning: 30.00 of a listing never becomes 3 %.
func TestRatesKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	path := b.add("rateType", "flat", "formula", "", "defaultRate", 2_500, "listingSubscriptions", b.subscriptions(object{"rate": 3_000}))
	percentage := object{"rateType": "percentage", "formula": "rent", "defaultRate": 20_000}

	refused := func(change object, field, reasons string) {
		t.Helper()

		r := b.Put(path, change).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
		r.WantIssue("contradiction", field)

		if got := r.String("context.lockReasons"); got != reasons {
			t.Errorf("the reasons are %s, want %s", got, reasons)
		}
	}

	// The listing has a rate of its own, whether or not anything was charged yet.
	refused(percentage, "rateType", `["listingPeriods"]`)
	refused(object{"chargeBasis": "perNight"}, "chargeBasis", `["listingPeriods"]`)
	b.Put(path, object{"rateType": "flat", "chargeBasis": "perReservation", "defaultRate": 2_600}).Want(200)

	// With the subscriptions the rates are given anew.
	b.Put(path, object{"chargeBasis": "perNight", "listingSubscriptions": b.subscriptions(object{"rate": 600})}).Want(200)
	b.Put(path, fixture.With(percentage, "chargeBasis", "perReservation", "listingSubscriptions", b.subscriptions(object{"rate": 10_000}))).Want(200)
	b.Put(path, object{"rateType": "flat", "defaultRate": 2_500, "listingSubscriptions": b.subscriptions(object{})}).Want(200)

	// Once something was charged, the rate type stays; what is charged a night restates the books, as another rate does.
	b.stay("2026-01-29")
	b.Put(path, object{"defaultRate": 3_000}).Want(200)
	b.wantCharged(3_000)
	refused(percentage, "rateType", `["journalEntries"]`)
	b.Put(path, object{"chargeBasis": "perNight"}).Want(200)
	b.wantCharged(15_000)
}
