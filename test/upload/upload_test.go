package upload_test

import (
	"testing"
)

const contactsFile = `Name,E-Mail,Type,City
Ann Miller,ann@example.com,Owner,Key West
Ben Cole,ben@example.com,owner,Key West
Keys Plumbing,,vendor,Marathon
`

// Proves: INIT-18, INIT-19, OPS-21, OPS-22, OPS-10, OPS-13.
func TestContactsAreImportedOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	r := o.send("/csv-imports/previews", contactsFile, "kind", "contacts").Want(202)
	if r.String("type") != "csv-import-preview" || r.String("resource") != "null" {
		t.Errorf("acknowledged as %s", r.Body)
	}

	o.Work()

	path := "/csv-imports/previews/" + r.String("operationId")
	if got := o.counts(path); got != "3 rows 3 valid ->" {
		t.Fatalf("the preview has %s: %s", got, o.Get(path).Body)
	}

	done := o.confirm(path, object{})
	if done.String("type") != "csv-import" || done.String("status") != "completed" || done.String("resource") != "null" ||
		done.String("resources") != "[]" {
		t.Errorf("imported by %s", done.Body)
	}

	if got := o.counts(path); got != "3 rows 3 valid -> 3 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	// The same file again changes nothing.
	again := o.preview("contacts", contactsFile)
	if got := o.counts(again); got != "3 rows 3 duplicates ->" {
		t.Errorf("the second preview has %s: %s", got, o.Get(again+"/rows").Body)
	}

	o.confirm(again, object{})

	if got := o.Get("/contacts").Want(200).String("pagination.total"); got != "3" {
		t.Errorf("%s contacts", got)
	}
}

// A page lets people choose what a column holds from what the import lists.
func TestImportsListWhatTheirColumnsCanHold(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.preview("reservations", "Property,Arrival,Departure\nShore House,2026-01-05,2026-01-09\n")

	var read struct {
		Fields []struct {
			Name       string
			IsRequired bool
		}
	}

	o.Get(path).Want(200).Into(&read)

	required := map[string]bool{}
	for _, f := range read.Fields {
		required[f.Name] = f.IsRequired
	}

	// A stay ends by its nights or its check-out, so that neither is required.
	for name, want := range map[string]bool{"listing": true, "checkIn": true, "checkOut": false, "nights": false, "guestName": false} {
		if got, is := required[name]; !is || got != want {
			t.Errorf("%s: listed %v, required %v", name, is, got)
		}
	}
}
