package upload_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
)

// Proves: ERR-105.
func TestAnOverrideNeedsAnImportOfTheSameFile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.preview("contacts", contactsFile)
	r := o.Post(path+"/confirm", object{"duplicateOverride": "replace"}).WantError(apierr.CodeConflict, "")

	if got := r.String("context.reason"); got != "duplicateOverrideNotApplicable" {
		t.Errorf("the reason is %s", got)
	}

	if n := o.Get("/contacts").String("pagination.total"); n != "0" {
		t.Errorf("the refused confirmation has made %s contacts", n)
	}

	o.confirm(path, object{})

	// Nearly the same file is another one.
	other := o.preview("contacts", contactsFile+"Cy Dorn,cy@example.com,owner,Miami\n")
	o.Post(other+"/confirm", object{"duplicateOverride": "skip"}).WantError(apierr.CodeConflict, "")

	// A person has changed a contact meanwhile; the file wins only if it is asked to.
	ann := o.Get("/contacts?search=Ann").String("data.0.id")
	o.Put("/contacts/"+ann, object{"name": "Ann M. Miller"}).Want(200)

	again := o.preview("contacts", contactsFile)
	if o.Get(again).String("priorImportId") != strings.TrimPrefix(path, "/csv-imports/previews/") {
		t.Errorf("the earlier import is %s", o.Get(again).String("priorImportId"))
	}

	o.confirm(again, object{"duplicateOverride": "skip"})

	if got := o.Get("/contacts/" + ann).String("name"); got != "Ann M. Miller" {
		t.Errorf("skip has changed the name to %s", got)
	}

	third := o.preview("contacts", contactsFile)
	o.confirm(third, object{"duplicateOverride": "replace"})

	if got := o.Get("/contacts/" + ann).String("name"); got != "Ann Miller" {
		t.Errorf("replace leaves the name %s: %s", got, o.Get(third+"/rows").Body)
	}

	fourth := o.preview("contacts", contactsFile)
	o.confirm(fourth, object{"duplicateOverride": "keep"})

	if n := o.Get("/contacts").String("pagination.total"); n != "6" {
		t.Errorf("%s contacts after keeping both: %s", n, o.Get(fourth+"/rows").Body)
	}
}

// Proves: AUTH-22, AUTH-57.
func TestImportsNeedScopesOfTheirOwn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	for _, scopes := range [][]string{
		{"contacts:write", "csv-imports:read"}, {"contacts:vendors:write"}, {"contacts:vendors:write", "csv-imports:import"}, {"contacts:write", "contacts:import"},
	} {
		key := &office{o.World}
		team := *o.World
		team.Team = o.As(scopes, nil)
		key.World = &team

		key.send("/csv-imports/previews", contactsFile, "kind", "contacts").WantError(apierr.CodeForbidden, "")
	}

	if n := o.Get("/csv-imports/previews").String("pagination.total"); n != "0" {
		t.Errorf("%s previews were made", n)
	}
}

// Proves: OPS-39.
func TestARefusedRowIsToldAndCorrected(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	// An account that no transaction can be on is known only to the noun.
	path := o.preview("transactions", "Date,Amount,Category,Property,Memo\n2026-02-03,-180.00,5000,Shore House,Pipe\n1999-02-03,-20.00,5000,Shore House,Too old\n")
	if got := o.counts(path); got != "2 rows 2 valid ->" {
		t.Fatalf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}

	done := o.confirm(path, object{})
	if got := done.String("failure.code") + ": " + done.String("failure.message"); got != "csvImportRecordFailed: CSV import has record failures" {
		t.Errorf("the operation ends with %s", got)
	}

	r := o.Get(path + "/rows?outcome=failed").Want(200)
	if r.Len("data") != 1 || r.String("data.0.position") != "2" || r.String("data.0.reason") == "null" {
		t.Errorf("refused rows: %s", r.Body)
	}

	// The team is told until it is corrected.
	if got := string(o.Get("/teams/issues").Want(200).Body); !strings.Contains(got, "importRowsRefused") {
		t.Errorf("the issues of the team: %s", got)
	}

	o.Put(path+"/rows/2", object{"cells": array{object{"column": 1, "text": "2026-02-04"}}}).Want(200)
	o.Put(path+"/rows/1", object{"decision": "skip"}).Want(409)

	if got := string(o.Get("/teams/issues").Want(200).Body); strings.Contains(got, "importRowsRefused") {
		t.Errorf("the issues of the team after the correction: %s", got)
	}

	if got := o.confirm(path, object{}).String("status"); got != "completed" {
		t.Errorf("the second confirmation %s", got)
	}

	if got := o.counts(path); got != "2 rows 2 valid -> 2 created" {
		t.Errorf("the import has %s", got)
	}

	if n := o.Get("/transactions").String("pagination.total"); n != "2" {
		t.Errorf("%s transactions", n)
	}
}

// Proves: OPS-38.
func TestAllOrNothingLeavesNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.preview("transactions", "Date,Amount,Category,Property,Memo\n2026-02-03,-180.00,5000,Shore House,Pipe\n1999-02-03,-20.00,5000,Shore House,Too old\n")
	done := o.confirm(path, object{"allOrNothing": true})

	if got := done.String("failure.code") + ": " + done.String("failure.message"); got != "csvImportFailed: CSV import failed" {
		t.Errorf("the operation ends with %s", got)
	}

	if n := o.Get("/transactions").String("pagination.total"); n != "0" {
		t.Errorf("%s transactions", n)
	}

	if got := o.counts(path); got != "2 rows 1 valid 1 faulty ->" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	o.Put(path+"/rows/2", object{"cells": array{object{"column": 1, "text": "2026-02-04"}}}).Want(200)

	if got := o.confirm(path, object{"allOrNothing": true}).String("status"); got != "completed" {
		t.Errorf("the second confirmation %s", got)
	}
}

// Proves: OPS-37, OPS-40.
func TestAFileThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	for _, c := range []struct{ content, code, message string }{
		{"name,,email\nAnn,x,a@b.de\n", "csvBlankHeader", "CSV has a blank column header"},
		{"name,email,email\nAnn,a@b.de,c@d.de\n", "csvDuplicateHeader", "CSV has a duplicate column header"},
		{"email,phone\na@b.de,1\n", "csvMissingColumn", "CSV lacks a required column"},
		{"name,email\n", "csvEmpty", "CSV has no rows"},
		{"name,email\nM\xfcller,a@b.de\n", "csvEncoding", "CSV is not valid UTF-8"},
		{"name,email\n\"Ann,a@b.de\n", "csvMalformed", "CSV is malformed"},
		{"name,email\n" + strings.Repeat("x", 2<<20) + ",a@b.de\n", "csvTooLarge", "CSV is too large"},
		{"name,email" + strings.Repeat(",c", 600) + "\nAnn" + strings.Repeat(",x", 601) + "\n", "csvTooManyColumns", "CSV has too many columns"},
		{"<html><body>Please log in</body></html>", "fileNotStatement", "File is not a bank statement"},
	} {
		path := o.preview("contacts", c.content)
		r := o.Get("/operations/" + strings.TrimPrefix(path, "/csv-imports/previews/")).Want(200)

		if r.String("failure.code") != c.code || r.String("failure.message") != c.message {
			t.Errorf("%.30q: %s", c.content, r.Body)
		}

		it := o.Get(path).Want(200)
		if it.String("status") != "failed" || it.String("issues.0.code") != c.code {
			t.Errorf("%.30q: %s", c.content, it.Body)
		}
	}
}

// A file without its columns says which columns it lacks, all of them, and which others would do.
//
// Proves: OPS-37.
func TestAFileNamesItsMissingColumns(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	o.Get(o.preview("reservations", "Guest,Check-in\nAnn,2026-02-03\n")).Want(200).WantFields("", object{"status": "failed", "issues": array{
		object{"code": "csvMissingColumn", "severity": "error", "line": 1, "field": "listing"},
		object{
			"code": "csvMissingColumn", "severity": "error", "line": 1, "field": "checkOut",
			"context": object{"fields": array{"checkOut", "nights"}},
		},
	}})
}

func TestLinesWaitForTheirMapping(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.preview("transactions", "Date,Amount,Line type,Property\n2026-02-03,-50.00,Resolution,Shore House\n2026-02-04,20.00,Deposit,Shore House\n")
	if got := o.counts(path); got != "2 rows 2 faulty ->" {
		t.Fatalf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}

	o.confirm(path, object{"acceptIssues": true})

	if got := o.counts(path); got != "2 rows 2 faulty -> 2 skipped" {
		t.Errorf("the import has %s", got)
	}

	// Both types wait for a mapping. One is mapped, and what waited for it is booked.
	r := o.Get("/transactions/line-mappings?status=unmapped").Want(200)
	if r.Len("data") != 2 {
		t.Fatalf("unmapped: %s", r.Body)
	}

	for i := range 2 {
		at := "data." + string(rune('0'+i))
		if r.String(at+".lineType") == "Resolution" {
			o.Put("/transactions/line-mappings/"+r.String(at+".id"), object{"status": "mapped", "accountId": o.Account("5000"), "party": "owners"}).Want(200)
		}
	}

	o.Work()

	if got := o.counts(path); got != "2 rows 1 valid 1 faulty -> 1 created 1 skipped" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	if got := o.Get("/transactions").String("data.0.total"); got != "5000" {
		t.Errorf("booked %s", got)
	}
}

func TestAnotherTeamSeesNoImport(t *testing.T) {
	t.Parallel()
	o, other := newOffice(t), newOffice(t)
	path := o.take("contacts", contactsFile)

	for _, call := range []func() int{
		func() int { return other.Get(path).Status }, func() int { return other.Get(path + "/rows").Status },
		func() int { return other.Put(path, object{}).Status }, func() int { return other.Put(path+"/rows/1", object{}).Status },
		func() int { return other.Post(path+"/confirm", object{}).Status }, func() int { return other.Post(path+"/cancel", nil).Status },
		func() int { return other.Post(path+"/undo", nil).Status }, func() int { return other.Get(path + "/rows/csv").Status },
	} {
		if status := call(); status != 404 {
			t.Errorf("another team gets %d", status)
		}
	}
}

func TestAColumnThatReadsBothWaysIsAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	account := o.Account("1000").String()

	path := o.preview("bank-records", "Date,Description,Amount\n01/02/2026,Rent,\"1,250\"\n03/04/2026,Plumber,\"-2,000\"\n", "bankAccountId", account)
	r := o.Get(path).Want(200)

	if got := o.counts(path); got != "2 rows 2 faulty ->" || r.String("columns.0.isUnclear") != "true" || r.String("columns.2.isUnclear") != "true" {
		t.Fatalf("the preview has %s: %s", got, r.Body)
	}

	o.Post(path+"/confirm", object{"acceptIssues": true}).WantError(apierr.CodeConflict, "")

	op := o.Put(path, object{"dateOrder": "mdy", "decimal": "."}).Want(202).String("operationId")
	o.Work()

	path = "/csv-imports/previews/" + op
	if got := o.counts(path); got != "2 rows 2 valid ->" {
		t.Fatalf("the preview has %s: %s", got, o.Get(path).Body)
	}

	o.confirm(path, object{})

	records := o.Get("/bank-records?sort=date").Want(200)
	if records.String("data.0.date") != "2026-01-02" || records.String("data.0.amount") != "125000" {
		t.Errorf("records: %s", records.Body)
	}
}
