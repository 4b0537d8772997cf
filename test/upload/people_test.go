package upload_test

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"stayledger/domain/exchange/upload"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// balances returns the ending balances of accounts in the trial balance, such as "1000=116950".
func (o *office) balances() string {
	o.T.Helper()

	r := o.Get("/reports/trial-balance?startDate=2026-01&endDate=2026-12").Want(200)

	var text []string

	for i := range r.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		if ending := r.String(at + "ending"); ending != "0" {
			text = append(text, r.String(at+"account.code")+"="+ending)
		}
	}

	return strings.Join(text, " ")
}

// Two people confirm the same rows at the same moment: the rows are booked once.
//
// Proves: INIT-18.
func TestTwoPeopleImportOneFile(t *testing.T) {
	t.Parallel()

	for kind, file := range map[string]string{
		"bank-records":    "Date,Description,Amount\n2026-02-13,ROW 1,1.11\n2026-02-14,ROW 2,2.11\n2026-02-15,ROW 3,3.11\n",
		"contacts":        "Name,Type\nAnn Miller,owner\nBen Cole,owner\nKeys Plumbing,vendor\n",
		"transactions":    "Date,Description,Category,Amount\n2026-02-13,Mop,5200,-85.00\n2026-02-14,Mop,5200,-86.00\n2026-02-15,Mop,5200,-87.00\n",
		"journal-entries": "Journal,Date,Account,Debit,Credit\nJ1,2026-02-13,1000,10.00,\nJ1,2026-02-13,2900,,10.00\n",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)

			var fields []string
			if kind == "bank-records" {
				fields = []string{"bankAccountId", o.Account("1000").String()}
			}

			// An earlier file has made the memory of the kind, so that its insertion holds nobody up.
			o.take(kind, strings.NewReplacer("2026-02-1", "2026-03-1", "Ann", "Eva", "Ben", "Eve", "Keys", "Sand").Replace(file), fields...)

			a, b := o.preview(kind, file, fields...), o.preview(kind, file, fields...)
			for _, path := range []string{a, b} {
				o.Post(path+"/confirm", object{"acceptIssues": true}).Want(202)
			}

			// Two jobs of one team run side by side.
			o.Work()

			first, second := o.counts(a), o.counts(b)
			if made := strings.Count(first+second, "created"); made != 1 || !strings.Contains(first+second, "skipped") {
				t.Errorf("%s, %s", first, second)
			}
		})
	}
}

// Undo of opening balances with one of the bank leaves nothing, in whatever order the file has them.
func TestOpeningBalancesAreTakenBack(t *testing.T) {
	t.Parallel()

	for name, file := range map[string]string{
		"bank last":  "Property,Bank Account,Opening Date,Balance\nDune House,,,1250.00\nShore House,,,-80.50\n,1000,2026-02-01,1169.50\n",
		"bank first": "Property,Bank Account,Opening Date,Balance\n,1000,2026-02-01,1300.00\nDune House,,,1250.00\nShore House,,,-80.50\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.Listing("Dune House", o.Contact("owner", "Ann"))
			o.Listing("Shore House", o.Contact("owner", "Ben"))

			before := o.balances()
			path := o.take("opening-balances", file)
			want := map[string]string{"bank last": "1000=116950", "bank first": "1000=130000"}[name]

			if got := o.balances(); !strings.Contains(got, want) {
				t.Errorf("the books have %s after the import, not %s", got, want)
			}

			o.undo(path)

			if got := o.balances(); got != before {
				t.Errorf("the books have %s after the undo, and %s before the import", got, before)
			}
		})
	}
}

// undo takes an import back and returns its counts.
func (o *office) undo(path string) string {
	o.T.Helper()
	o.Post(path+"/undo", object{}).Want(202)
	o.Work()

	return o.counts(path)
}

// Imports are taken back in the opposite order: an earlier one would take the changes of a later one with it, and the
// edits of people.
func TestUndoKeepsWhatOthersHaveChanged(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	const head = "Confirmation code,Guest name,Check-in,Check-out,Listing,Rent\n"

	a := o.take("reservations", head+"HM1,Dana,2026-02-13,2026-02-15,Shore House,100.00\nHM2,Max,2026-02-16,2026-02-18,Shore House,100.00\n")
	b := o.take("reservations", head+"HM1,Dana,2026-02-12,2026-02-15,Shore House,150.00\nHM6,Eva,2026-02-20,2026-02-22,Shore House,90.00\n")

	o.undo(a)

	r := o.Get(a).Want(200)
	if r.String("status") != "imported" || r.Len("dependents") != 1 || r.String("dependents.0.reason") != "laterImport" {
		t.Fatalf("undo of the earlier import: %s", r.Body)
	}

	if got := o.undo(b); !strings.HasSuffix(got, "-> 2 undone") {
		t.Errorf("undo of the later import: %s", got)
	}

	// A person has corrected a stay by hand.
	found := o.Get("/reservations").Want(200)
	stay, guest := found.String("data.0.id"), found.String("data.0.guestName")
	o.Put("/reservations/"+stay, object{"guestName": "Dana Reed"}).Want(200)
	o.Work()
	o.undo(a)

	r = o.Get(a).Want(200)
	if r.Len("dependents") != 1 || r.String("dependents.0.reason") != "changedSince" || r.String("dependents.0.context.field") != "guestName" {
		t.Fatalf("undo of a stay that a person has corrected: %s", r.Body)
	}

	o.Put("/reservations/"+stay, object{"guestName": guest}).Want(200)

	if got := o.undo(a); !strings.HasSuffix(got, "-> 2 undone") {
		t.Errorf("undo: %s", got)
	}

	if got := o.Get("/reservations").String("pagination.total"); got != "0" {
		t.Errorf("%s stays are left", got)
	}
}

// Callers see four digits of a tax identifier, before and after the import, and the contact has all of it.
func TestTaxIdentifiersAreNotShown(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.preview("contacts", "Name,Type,SSN,Other\nVera,vendor,123-45-6789,987-65-4321\nMax,vendor,12,\n")

	check := func(when string) {
		t.Helper()

		for _, of := range []string{path, path + "/rows", path + "/rows/csv"} {
			if body := string(o.Get(of).Want(200).Body); strings.Contains(body, "123-45") || strings.Contains(body, "987-65") {
				t.Errorf("%s, %s: %s", when, of, body)
			}
		}
	}

	check("read")

	r := o.Get(path + "/rows").Want(200)
	if r.String("data.0.values.taxIdentifier") != "***6789" || r.String("data.0.cells.2") != "***6789" {
		t.Errorf("row: %s", r.Body)
	}

	// A form that sends back what it has shown changes nothing.
	o.Put(path+"/rows/1", object{"cells": array{object{"column": 1, "text": "Vera May"}, object{"column": 3, "text": "***6789"}}}).Want(200)
	check("corrected")
	o.confirm(path, object{"acceptIssues": true})
	check("imported")

	if got := o.Get("/contacts?search=Vera").Want(200).String("data.0.taxIdentifier"); got != "***6789" {
		t.Errorf("the contact has %s", got)
	}

	// The refused row is corrected, and confirmed again.
	o.Put(path+"/rows/2", object{"cells": array{object{"column": 3, "text": "11-2223333"}}}).Want(200)
	check("corrected again")
	o.confirm(path, object{})

	if got := o.Get("/contacts?search=Max").Want(200).String("data.0.taxIdentifier"); got != "***3333" {
		t.Errorf("the contact has %s: %s", got, o.Get(path+"/rows").Body)
	}
}

// One address for two people is asked about, and each decision does what it says.
func TestOneAddressForTwoPeople(t *testing.T) {
	t.Parallel()

	for decision, want := range map[string]string{"import": "Juan Lopez, Maria Lopez", "replace": "Juan Lopez", "skip": "Maria Lopez"} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.take("contacts", "Name,Email,Type\nMaria Lopez,rentals@lopez.example,Owner\n")

			path := o.preview("contacts", "Name,Email,Type\nJuan Lopez,rentals@lopez.example,Owner\n")

			r := o.Get(path + "/rows").Want(200)
			if r.String("data.0.status") != "question" || r.String("data.0.issues.0.code") != "otherName" ||
				!strings.HasSuffix(r.String("data.0.issues.0.context.message"), ": Maria Lopez") {
				t.Errorf("row: %s", r.Body)
			}

			o.Put(path+"/rows/1", object{"decision": decision}).Want(200)
			o.confirm(path, object{})

			found := o.Get("/contacts?sort=name").Want(200)

			var names []string
			for i := range found.Len("data") {
				names = append(names, found.String(fmt.Sprintf("data.%d.name", i)))
			}

			if got := strings.Join(names, ", "); got != want {
				t.Errorf("%s: %s, %s", decision, got, o.Get(path+"/rows").Body)
			}
		})
	}
}

// What was deleted here by hand is asked about, and comes back if a person wants it.
func TestWhatWasDeletedIsAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	const file = "Name,Type\nKeys Plumbing,vendor\n"

	o.take("contacts", file)
	o.Delete("/contacts/" + o.Get("/contacts").String("data.0.id")).Want(204)

	path := o.preview("contacts", file)
	if r := o.Get(path + "/rows").Want(200); r.String("data.0.issues.0.code") != "deletedHere" {
		t.Errorf("row: %s", r.Body)
	}

	o.Put(path+"/rows/1", object{"decision": "import"}).Want(200)
	o.confirm(path, object{})

	if got := o.Get("/contacts").String("pagination.total"); got != "1" {
		t.Errorf("%s contacts, %s", got, o.Get(path+"/rows").Body)
	}
}

// A record that the file names is deleted between preview and confirmation: the operation says that a bill is left out.
func TestARowThatBecameFaultyFails(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	vendor := o.Contact("vendor", "Gone Co")

	path := o.preview("transactions", "Number,Type,Date,Payee,Category,Amount\nX-1,Expense,2026-02-13,Gone Co,5200,7.00\nX-2,Expense,2026-02-13,,5200,8.00\n"+
		"X-3,Expense,2026-02-13,Gone Co,5200,9.00\n")
	if got := o.counts(path); got != "3 rows 3 valid ->" {
		t.Fatalf("%s: %s", got, o.Get(path+"/rows").Body)
	}

	// A row that a person has left out is no failure, whatever becomes of it.
	o.Put(path+"/rows/3", object{"decision": "skip"}).Want(200)

	o.Delete("/contacts/" + vendor.String()).Want(204)

	if r := o.confirm(path, object{}); r.String("failure.code") != "csvImportRecordFailed" {
		t.Errorf("operation: %s", r.Body)
	}

	if got := o.counts(path); !strings.HasSuffix(got, "-> 1 created 1 skipped 1 failed") {
		t.Errorf("with the vendor gone: %s", got)
	}

	// With the vendor back, confirming again is enough.
	o.Contact("vendor", "Gone Co")

	if r := o.confirm(path, object{"acceptIssues": true}); r.String("status") != "completed" {
		t.Errorf("operation: %s; %s", r.Body, o.Get(path+"/rows").Body)
	}

	if got := o.counts(path); got != "3 rows 2 valid 1 ignored -> 2 created 1 skipped" {
		t.Error(got)
	}
}

// The number of a bill tells it from another one, and numbers that start again bind nothing.
func TestTheNumberOfABillCounts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Contact("vendor", "Mop LLC")
	o.Contact("vendor", "P2")

	const head = "Number,Type,Date,Payee,Category,Amount\n"

	o.take("transactions", head+"INV-101,Expense,2026-02-20,Mop LLC,5200,85.00\nINV-102,Expense,2026-02-20,Mop LLC,5200,85.00\n")
	o.take("transactions", head+"INV-103,Expense,2026-02-20,Mop LLC,5200,85.00\n")

	if got := o.Get("/transactions").String("pagination.total"); got != "3" {
		t.Errorf("%s bills", got)
	}

	path := o.preview("transactions", head+"INV-101,Expense,2026-02-20,Mop LLC,5200,95.00\n")
	if r := o.Get(path + "/rows").Want(200); r.String("data.0.issues.0.code") != "changedInFile" {
		t.Errorf("a corrected bill: %s", r.Body)
	}

	path = o.preview("transactions", head+"1001,Expense,2026-02-05,Mop LLC,5200,10.00\n1002,Expense,2026-02-06,Mop LLC,5200,11.00\n1001,Expense,2026-03-20,P2,5200,20.00\n")
	if got := o.counts(path); got != "3 rows 3 valid ->" {
		t.Errorf("numbers that start again: %s", got)
	}
}

// A word for the direction that is not known makes the row faulty: it could be either.
func TestAnUnknownDirectionIsFaulty(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.preview("bank-records", "Date,Description,Amount,D/C\n2026-02-13,A,22.50,Af\n2026-02-14,B,100.00,Bij\n2026-02-15,C,1.00,DBIT\n2026-02-16,D,2.00,-\n"+
		"2026-02-17,E,3.00,+\n2026-02-18,F,4.00,banana\n", "bankAccountId", o.Account("1000").String())

	r := o.Get(path + "/rows").Want(200)
	for i, want := range []string{"-2250", "10000", "-100", "-200", "300"} {
		if got := r.String(fmt.Sprintf("data.%d.values.amount", i)); got != want {
			t.Errorf("row %d: %s, not %s", i+1, got, want)
		}
	}

	if r.String("data.5.status") != "faulty" || r.String("data.5.issues.0.field") != "direction" {
		t.Errorf("an unknown word: %s", r.Body)
	}
}

// Previews without a confirmation go after their time, and the rows of imports; the imports stay.
func TestOldRowsArePurged(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	const file = "Name,Type\nVera,vendor\n"

	imported, forgotten, recent := o.take("contacts", file), o.preview("contacts", file), o.preview("contacts", file)

	o.Exec(`update csv_import set purge_at = @at where team_id = @team and id::text <> @recent`,
		db.Args{"at": o.DB.Now().Add(-time.Hour), "recent": path.Base(recent)})

	for _, task := range upload.Part(upload.Config{}).Every {
		if err := task.Do(t.Context(), o.DB); err != nil {
			t.Fatal(err)
		}
	}

	o.Get(forgotten).WantError(apierr.CodeNotFound, "")

	for preview, want := range map[string]int{imported: 0, recent: 1} {
		if got := o.Get(preview + "/rows").Want(200).Len("data"); got != want {
			t.Errorf("%d rows are left, not %d", got, want)
		}
	}
}

// Many records are taken back at once.
func TestManyRowsAreTakenBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	var file strings.Builder
	file.WriteString("Date,Description,Amount\n")

	for i := range 14_000 {
		fmt.Fprintf(&file, "2026-02-%02d,row %d,%d.%02d\n", 1+i%28, i, 1+i/100, i%100)
	}

	path := o.take("bank-records", file.String(), "bankAccountId", o.Account("1000").String())
	if got := o.undo(path); got != "14000 rows 14000 valid -> 14000 undone" {
		t.Error(got)
	}
}

// Other owners for a house that is here are refused where the former ones have no end: nothing is left out silently.
func TestAFileChangesTheOwnersOfAHouse(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.take("listings", "name,owners,owned from\nB1,Ann 50%; Ben 50%,2026-01-01\n")

	path := o.preview("listings", "name,owners,owned from\nB1,Ann 100%,2026-03-01\n")
	if r := o.confirm(path, object{}); r.String("failure.code") != "csvImportRecordFailed" {
		t.Errorf("operation: %s", r.Body)
	}

	if r := o.Get(path + "/rows").Want(200); r.String("data.0.issues.0.context.message") != "Ownership period overlaps another one of the listing" {
		t.Errorf("row: %s", r.Body)
	}

	// Without its end it stays as it is.
	if got := o.Get("/listings/ownership-periods").String("pagination.total"); got != "1" {
		t.Errorf("%s periods", got)
	}
}

// Another scope than that of the kind may look, and change nothing.
//
// Proves: AUTH-57.
func TestOnlyTheScopeOfTheKindChangesAPreview(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.preview("contacts", "Name,Type\nVera,vendor\n")
	key := o.As([]string{"csv-imports:read", "csv-imports:import"}, nil)

	for _, r := range []struct {
		method, path string
		body         any
	}{
		{"PUT", path + "/rows/1", object{"decision": "skip"}},
		{"PUT", path, object{"columns": array{}}},
		{"POST", path + "/cancel", object{}},
		{"POST", path + "/confirm", object{}},
		{"POST", path + "/undo", object{}},
	} {
		key.Call(r.method, r.path, r.body).WantError(apierr.CodeForbidden, "")
	}
}
