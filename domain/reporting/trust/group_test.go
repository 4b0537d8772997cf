package trust_test

import (
	"testing"

	whole "stayledger/test/world"
)

// The money of a group's owners is one balance: what its flats earn, less what is paid out on the group. Flats and group
// are neither owed nor overpaid by themselves, and the entries behind the balance are those of all of them.
func TestAGroupIsOneBalance(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	ada := w.Contact("owner", "Ada")
	house := w.Listing("House", ada)
	flat := w.Post("/listings", whole.Object{"name": "Flat"}).Want(201).ID("id")

	w.Put("/listings/"+flat.String()+"/parent", whole.Object{"parentId": house.ID}).Want(202)
	w.Work()

	w.Stay(whole.Listing{ID: flat}, "2026-01-10", 90_000)
	w.Publish("2026-01", house)

	s := statements(t, w, "month=2026-01")[0]
	w.Post("/statements/pay", whole.Object{"statementIds": whole.Array{s.ID}, "date": "2026-02-05"}).Want(200)
	w.Stay(whole.Listing{ID: flat}, "2026-02-10", 1_000)

	for date, want := range map[string]int64{"2026-01-31": 90_000, "2026-02-28": 1_000} {
		r := w.Get("/reports/trust-reconciliation?date=" + date).Want(200)

		at := "liabilities.ownerBalances.listings."
		if r.Len("liabilities.ownerBalances.listings") != 1 || r.ID(at+"0.id") != house.ID || r.Int(at+"0.centTotal") != want ||
			r.Len(at+"0.periods") != 1 || r.ID(at+"0.periods.0.id") != house.Period || r.Int(at+"0.periods.0.shares.0.centTotal") != want {
			t.Errorf("%s: the owners have %s", date, r.String("liabilities.ownerBalances.listings"))
		}

		if r.ID(at+"0.drilldown.filter.listingIds.1") != flat {
			t.Errorf("%s: behind it is %s", date, r.String(at+"0.drilldown"))
		}

		// The team has no bank records; that is all there is to warn about.
		if found := r.String("warnings.0.code"); r.Len("warnings") != 1 || found != "bankRecordsMissing" {
			t.Errorf("%s: warnings %s", date, r.String("warnings"))
		}
	}
}
