package upload_test

import (
	"maps"
	"testing"
)

// A booking of two houses has a row for each under one code: the rent of one house is never booked on the other.
func TestStaysWithOneCodeAreApart(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Harbor Row 1", o.Contact("owner", "Ann"))
	o.Listing("Harbor Row 2", o.Contact("owner", "Ben"))

	file := `Code,Listing,Arrival,Departure,Rent
G1,Harbor Row 1,2026-02-02,2026-02-04,100.00
G1,Harbor Row 2,2026-02-02,2026-02-04,150.00
G2,Harbor Row 1,2026-02-05,2026-02-06,200.00
G2,Harbor Row 1,2026-02-06,2026-02-09,300.00
`

	// The last row has a code that its house had before: a person says whether it is another stay.
	path := o.preview("reservations", file)
	if got := o.counts(path); got != "4 rows 3 valid 1 questions ->" {
		t.Errorf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}

	o.Put(path+"/rows/4", object{"decision": "import"}).Want(200)
	o.confirm(path, object{})

	if got := o.counts(path); got != "4 rows 4 valid -> 4 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	r := o.Get("/reservations?sort=checkIn").Want(200)
	got := map[string]string{}

	for i := range r.Len("data") {
		at := "data." + string(rune('0'+i)) + "."
		got[r.String(at+"listing.name")+" "+r.String(at+"checkIn")] = r.String(at + "financials.total")
	}

	want := map[string]string{
		"Harbor Row 1 2026-02-02": "10000", "Harbor Row 2 2026-02-02": "15000", "Harbor Row 1 2026-02-05": "20000", "Harbor Row 1 2026-02-06": "30000",
	}
	if !maps.Equal(got, want) {
		t.Errorf("stays %v, want %v", got, want)
	}

	again := o.preview("reservations", file)
	if got := o.counts(again); got != "4 rows 4 duplicates ->" {
		t.Errorf("the file again: %s: %s", got, o.Get(again+"/rows").Body)
	}
}

// A stay that is in a file twice comes once, with its amounts once.
func TestAStayTwiceInAFileComesOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.preview("reservations", `Code,Listing,Arrival,Departure,Rent
A1,Shore House,2026-02-02,2026-02-04,100.00
A2,Shore House,2026-02-05,2026-02-06,100.00
A1,Shore House,2026-02-02,2026-02-04,100.00
`)
	if got := o.counts(path); got != "3 rows 2 valid 1 duplicates ->" {
		t.Errorf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}

	o.confirm(path, object{})

	if got := o.Get("/reservations?search=A1").String("data.0.financials.total"); got != "10000" {
		t.Errorf("the stay costs %s", got)
	}

	// Rows that have the code alone are lines of the stay before them.
	path = o.take("reservations", `Code,Listing,Arrival,Departure,Line type,Amount
A3,Shore House,2026-03-02,2026-03-04,rent,100.00
A3,,,,cleaningFee,20.00
`)
	if got := o.counts(path); got != "2 rows 1 valid 1 parts -> 1 created" {
		t.Errorf("lines: %s: %s", got, o.Get(path+"/rows").Body)
	}
}
