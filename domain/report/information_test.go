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

// Gross rents are what was earned, not what was paid out: fees, expenses and payouts do not lower them, and owners share them by their part.
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
