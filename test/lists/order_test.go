package lists_test

import (
	"encoding/csv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/test/world"
)

// Names have one order in lists, reports and exports: ICU's root collation, case aside. Decided on 2026-11-25.
func TestNamesHaveOneOrderEverywhere(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	want := []string{"1000", "ÖZAN 1", "ozan 2", "Özan 3", "Ozil", "Strasse 1", "straße 2", "Zebra", "ямб", "Ярослав"}
	for _, at := range []int{7, 1, 9, 3, 5, 0, 8, 2, 6, 4} {
		w.Stay(w.Listing(want[at], w.Contact("owner", want[at])), "2026-01-10", 10000)
	}

	w.Work()

	for _, read := range []struct{ path, at string }{
		{"/contacts?type=owner&sort=name", "name"},
		{"/listings?sort=name", "name"},
		{"/statements?month=2026-01&sort=listing", "listing.name"},
		{"/reports/owner-statement-summaries-per-layout?startAt=2026-01&endAt=2026-01", "contact.name"},
		{"/reports/trust-reconciliation/by-listing?date=2026-01-31", "name"},
	} {
		if got := column(w.Get(read.path).Want(200), read.at); !slices.Equal(got, want) {
			t.Errorf("%s lists\n%q, want\n%q", read.path, got, want)
		}
	}

	for _, path := range []string{"/contacts/csv?type=owner&sort=name&columns=name", "/listings/csv?sort=name&columns=name"} {
		link, err := url.Parse(w.Get(path).Want(200).String("url"))
		if err != nil {
			t.Fatal(err)
		}

		file := string(w.Get(link.RequestURI()).Want(200).Body)

		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}

		at := slices.Index(rows[0], "name")

		got := make([]string, len(rows)-1)
		for i := range got {
			got[i] = rows[i+1][at]
		}

		if !slices.Equal(got, want) {
			t.Errorf("%s exports\n%q, want\n%q", path, got, want)
		}
	}
}

// column is a field of each row of a list; rows that have none are left out.
func column(r *apitest.Response, field string) []string {
	var out []string

	for i := range r.Len("data") {
		if at := "data." + strconv.Itoa(i) + "." + field; r.Value(at) != nil {
			out = append(out, r.String(at))
		}
	}

	return out
}
