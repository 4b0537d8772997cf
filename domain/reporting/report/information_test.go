package report_test

import (
	"strconv"
	"testing"

	"stayledger/platform/apierr"
	whole "stayledger/test/world"
)

// returnOf is the figure of a contact on a form; all is the answer's list.
func returnOf(w *whole.World, year int, form, contact string) (amount int64, exempt string) {
	w.T.Helper()

	r := w.Get("/reports/information-returns?year=" + strconv.Itoa(year) + "&form=" + form + "&contactIds=" + contact).Want(200)
	if r.Len("data") == 0 {
		return 0, "absent"
	}

	if r.Has("data.0.exempt") && r.Value("data.0.exempt") != nil {
		exempt = r.String("data.0.exempt")
	}

	if entriesBetween(w, r.String("data.0.drilldowns.0.filter.startDate"), r.String("data.0.drilldowns.0.filter.endDate")) == 0 {
		w.T.Errorf("the drill-down of %s leads nowhere", contact)
	}

	return r.Int("data.0.amount"), exempt
}

func entriesBetween(w *whole.World, from, to string) int64 {
	w.T.Helper()
	return w.Get("/reports/journal-entries?startDate=" + from + "&endDate=" + to).Want(200).Int("pagination.total")
}

// Gross rents are the earned rents, not those paid out: fees, expenses and payouts do not lower them, and owners
// share them by their part.
func TestInformationReturnsOfOwners(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	ada, ben := w.Contact("owner", "Ada"), w.Contact("owner", "Ben")
	villa, barn := w.Listing("Villa", ada, ben), w.Listing("Barn", ada)
	w.Stay(villa, "2026-01-10", 300_001)
	w.Stay(villa, "2026-06-10", 99_999)
	w.Stay(barn, "2026-03-10", 50_000)
	w.Expense(villa, "2026-02-01", 70_000)

	if amount, exempt := returnOf(w, 2026, "1099-MISC", ada.String()); amount != 250_000 || exempt != "" {
		t.Errorf("Ada: %d %q", amount, exempt)
	}

	if amount, exempt := returnOf(w, 2026, "1099-MISC", ben.String()); amount != 200_000 || exempt != "" {
		t.Errorf("Ben, at the threshold: %d %q", amount, exempt)
	}

	w.Put("/contacts/"+ben.String(), whole.Object{"companyType": "s_corporation"}).Want(200)

	if _, exempt := returnOf(w, 2026, "1099-MISC", ben.String()); exempt != "corporation" {
		t.Errorf("a corporation is exempt for %q", exempt)
	}

	if _, exempt := returnOf(w, 2025, "1099-MISC", ada.String()); exempt != "absent" {
		t.Errorf("the year before: %q", exempt)
	}

	if only := w.Get("/reports/information-returns?year=2026&reportable=true").Want(200); only.Len("data") != 1 || only.Int("pagination.total") != 1 {
		t.Errorf("reportable: %s", only.Body)
	}

	foreign := whole.New(t).Get("/reports/information-returns?year=2026").Want(200)
	if foreign.Len("data") != 0 {
		t.Errorf("another team sees %s", foreign.Body)
	}
}

// Rent counts as far as it was paid: a cent of a part payment at a time, the rest in the year in which it comes, what
// was paid ahead with the nights. It is the same for the owner whatever tax the guest pays besides.
func TestInformationReturnsCountWhatWasCollected(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	w.Exec(`update team set statement_start_at = '2025-01-01' where id = @team`, nil)
	ada := w.Contact("owner", "Ada")
	villa := w.Listing("Villa", ada)
	book := func(checkIn, checkOut string, rent int) string {
		return w.Post("/reservations", whole.Object{
			"listingId": villa.ID, "checkIn": checkIn, "checkOut": checkOut, "bookedAt": checkIn,
			"lines": whole.Array{whole.Object{"type": "rent", "amount": rent}},
		}).Want(201).String("id")
	}
	pay := func(stay, date string, cents int) {
		w.Post("/transactions", whole.Object{
			"type": "deposit", "date": date, "lines": whole.Array{whole.Object{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay}},
		}).Want(201)
	}
	want := func(year int, cents int64) {
		t.Helper()

		if amount, _ := returnOf(w, year, "1099-MISC", ada.String()); amount != cents {
			t.Errorf("%d: %d, want %d", year, amount, cents)
		}
	}

	book("2025-11-10", "2025-11-12", 40_000) // never paid
	late := book("2025-12-10", "2025-12-12", 30_001)

	want(2025, 0)
	pay(late, "2025-12-12", 10_000)
	want(2025, 10_000)
	pay(late, "2026-02-03", 20_001)
	want(2025, 10_000)
	want(2026, 20_001)

	ahead := book("2026-03-10", "2026-03-12", 50_000)
	pay(ahead, "2025-12-20", 50_000)
	want(2025, 10_000)
	want(2026, 70_001)
	pay(ahead, "2026-04-01", 7) // too much is no rent
	want(2026, 70_001)

	r := w.Get("/reports/information-returns?year=2026&form=1099-MISC").Want(200)
	if r.Len("data.0.drilldowns") != 2 || r.String("data.0.drilldowns.1.filter.reservationIds.0") != late ||
		r.String("data.0.drilldowns.1.filter.endDate") != "2025-12-31" {
		t.Errorf("the rent of last year that came in this year: %s", r.String("data.0.drilldowns"))
	}

	entries := w.Get("/reports/journal-entries?endDate=2025-12-31&party=owners&accountClassifications=revenue&reservationIds=" + late).Want(200)
	if entries.Len("data") == 0 {
		t.Error("the drill-down of a late payment leads nowhere")
	}
}

// What a channel pays to the owner directly is nothing that the manager collected, whatever the manager gets of it.
func TestInformationReturnsLeaveOutCoHosts(t *testing.T) {
	t.Parallel()

	for _, model := range []string{"co_host", "co_host_airbnb"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			w := whole.New(t)
			ada := w.Contact("owner", "Ada")
			villa, barn := w.Listing("Villa", ada), w.Listing("Barn", ada)
			w.Put("/listings/ownership-periods/"+barn.Period.String(), whole.Object{"businessModel": model}).Want(202)
			w.Work()
			w.Stay(villa, "2026-01-10", 30_000)
			w.Post("/reservations", whole.Object{
				"listingId": barn.ID, "checkIn": "2026-01-10", "checkOut": "2026-01-11", "bookedAt": "2026-01-01",
				"lines": whole.Array{whole.Object{"type": "rent", "amount": 90_000}},
			}).Want(201)
			w.Post("/transactions", whole.Object{"type": "deposit", "date": "2026-01-20", "lines": whole.Array{whole.Object{
				"accountId": w.Account("4000"), "amount": 500, "listingId": barn.ID, "party": "owners",
			}}}).Want(201)

			r := w.Get("/reports/information-returns?year=2026&form=1099-MISC").Want(200)
			if r.Int("data.0.amount") != 30_500 || r.Len("data.0.drilldowns") != 2 {
				t.Errorf("got %s", r.Body)
			}
		})
	}
}

// A vendor's bill counts in the year in which it is paid.
func TestInformationReturnsOfVendors(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	plumber := w.Contact("vendor", "Plumber")
	bill := func(date string, cents int, payment any) {
		w.Post("/transactions", whole.Object{
			"type": "expense", "date": date, "contactId": plumber, "payment": payment,
			"lines": whole.Array{whole.Object{"accountId": w.Account("5200"), "amount": cents, "listingId": villa.ID}},
		}).Want(201)
	}
	bill("2026-03-01", 150_000, whole.Object{"date": "2026-03-20"})
	bill("2026-10-01", 49_999, whole.Object{"date": "2026-11-02"})
	bill("2026-11-01", 70_000, nil)

	if amount, exempt := returnOf(w, 2026, "1099-NEC", plumber.String()); amount != 199_999 || exempt != "belowThreshold" {
		t.Errorf("%d %q", amount, exempt)
	}
}

// Whoever is paid for work by an expense is reported, whatever the contact is else: an owner who mends the roof gets
// both forms, for rent and for work (decision of 2026-11-25). Payouts of earned money to an owner are no work.
func TestInformationReturnsOfOwnersWhoWork(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	ada := w.Contact("owner", "Ada")
	villa := w.Listing("Villa", ada)
	w.Stay(villa, "2026-01-10", 300_000)
	w.Publish("2026-01", villa)
	w.Post("/transactions", whole.Object{
		"type": "expense", "date": "2026-03-01", "contactId": ada, "payment": whole.Object{"date": "2026-03-20"},
		"lines": whole.Array{whole.Object{"accountId": w.Account("5200"), "amount": 210_000, "listingId": villa.ID}},
	}).Want(201)
	w.Post("/transactions", whole.Object{"type": "payout", "date": "2026-02-05", "lines": whole.Array{
		whole.Object{"amount": 50_000, "listingId": villa.ID, "contactId": ada, "ownerStatementId": w.Statement(villa, "2026-01")},
	}}).Want(201)

	if amount, exempt := returnOf(w, 2026, "1099-NEC", ada.String()); amount != 210_000 || exempt != "" {
		t.Errorf("%d %q", amount, exempt)
	}

	r := w.Get("/reports/information-returns?year=2026&form=1099-NEC").Want(200)
	if r.Len("data") != 1 || r.Len("data.0.drilldowns") != 1 {
		t.Fatalf("got %s", r.Body)
	}

	entries := w.Get("/reports/journal-entries?startDate=2026-01-01&endDate=2026-12-31&contactIds=" + r.String("data.0.drilldowns.0.filter.contactIds.0") +
		"&accountIds=" + r.String("data.0.drilldowns.0.filter.accountIds.0") + "&triggerTypes=expense,expensePayment").Want(200)
	if entries.Len("data") != 1 || entries.Int("data.0.centTotal") != -210_000 {
		t.Errorf("the drill-down leads to %s", entries.Body)
	}
}

func TestInformationReturnThresholdsAreData(t *testing.T) {
	t.Parallel()

	w := whole.New(t)
	for year, want := range map[string]int64{"2025": 60_000, "2026": 200_000, "2031": 200_000} {
		r := w.Get("/reports/information-returns?year=" + year).Want(200)
		if r.Len("thresholds") != 2 || r.Int("thresholds.0.cents") != want || r.Int("thresholds.1.cents") != want {
			t.Errorf("%s: %s", year, r.Body)
		}
	}

	w.Get("/reports/information-returns").WantError(apierr.CodeBadRequest, "").WantIssue("required", "year")
	w.As([]string{"reports:read"}, nil).Get("/reports/information-returns?year=2026").WantError(apierr.CodeForbidden, "")
}

// A figure that no number of an answer can tell is refused, whether a client or the database could not hold it.
func TestFiguresBeyondTheSafeRangeAreRefused(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	w.Stay(w.Listing("Villa", w.Contact("owner", "Ada")), "2026-01-10", 100)

	path := "/reports/trial-balance?startDate=2026-01&endDate=2026-01"

	for _, more := range []string{"9007199254740991 - 400", "9007199254740991", "9223372036854775807 - 3 * 9007199254740991"} {
		for _, kept := range []string{"ledger_month_kept", "ledger_delta"} {
			w.Exec(`update `+kept+` set debit = debit + (`+more+`), credit = credit + (`+more+`) where team_id = @team`, nil)
		}

		w.Get(path).WantError(apierr.CodeBadRequest, "").WantIssue("range", "")
	}
}
