package upload_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
)

// guideFile returns a file of the guide "Your first hour".
func guideFile(t *testing.T, name string) string {
	t.Helper()

	content, err := os.ReadFile("../../docs/guides/first-hour/" + name)
	if err != nil {
		t.Fatal(err)
	}

	return string(content)
}

// The files of the guide in another order: owners after their houses, money before the stays that it is for.
func TestFilesComeInAnyOrder(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Put("/team", object{"statementStartAt": "2026-10-01"}).Want(200)

	o.take("bank-records", guideFile(t, "bank.csv"), "bankAccountId", o.Account("1000").String())
	o.take("listings", guideFile(t, "houses.csv"), "encoding", "windows-1252")
	o.take("contacts", guideFile(t, "owners.csv"))
	o.take("transactions", guideFile(t, "expenses.csv"))
	o.take("reservations", guideFile(t, "stays.csv"))
	o.take("opening-balances", guideFile(t, "opening-balances.csv"))

	// 11 owners and 3 vendors: owners who came with their houses are the same people.
	if got := o.Get("/contacts").String("pagination.total"); got != "14" {
		t.Errorf("%s contacts", got)
	}

	// All 16 stays of October that were not canceled are paid.
	r := o.Get("/reservations?dateRange=2026-10&limit=250&status=booked").Want(200)
	for i := range r.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		if r.String(at+"financials.balance") != "0" || r.String(at+"financials.paid") == "0" {
			t.Errorf("the stay %s: %s of %s are paid", r.String(at+"confirmationCode"), r.String(at+"financials.paid"), r.String(at+"financials.total"))
		}
	}

	if r.Len("data") != 16 {
		t.Errorf("%d stays", r.Len("data"))
	}

	if got := o.Get("/reports/trial-balance?startDate=2026-10&endDate=2026-10").Want(200).String("totals.ending"); got != "0" {
		t.Errorf("the trial balance ends with %s", got)
	}
}

// The same rows in another form are the same records: another encoding, further columns, and a sum below.
func TestAFileInAnotherFormIsTheSame(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Put("/team", object{"statementStartAt": "2026-10-01"}).Want(200)

	houses := guideFile(t, "houses.csv")
	o.take("listings", houses, "encoding", "windows-1252")
	o.take("reservations", guideFile(t, "stays.csv"))

	inUTF8, err := charmap.Windows1252.NewDecoder().String(houses)
	if err != nil {
		t.Fatal(err)
	}

	again := o.preview("listings", "\ufeff"+inUTF8)
	if got := o.counts(again); got != "16 rows 12 duplicates 4 parts ->" {
		t.Errorf("houses in UTF-8: %s: %s", got, o.Get(again+"/rows").Body)
	}

	var wider strings.Builder

	for i, line := range strings.Split(strings.TrimSpace(guideFile(t, "stays.csv")), "\n") {
		if wider.WriteString(line); i == 0 {
			wider.WriteString(",Internal note\n")
		} else {
			wider.WriteString(",late arrival\n")
		}
	}

	wider.WriteString("Total,,,,,,,,\"$31,000.00\",,,,,\n")

	again = o.preview("reservations", wider.String())
	if got := o.counts(again); got != "20 rows 19 duplicates 1 ignored ->" {
		t.Errorf("stays with a note: %s: %s", got, o.Get(again+"/rows").Body)
	}
}
