package e2e_test

import (
	"net/http/httptest"
	"testing"

	"stayledger/provider/sandbox/pms"
)

// movers reads with a team of its own, with one stay from before the day at the old system and one from after it at both:
// after the guide the old one keeps its revenue, and the other counts once, at the new system.
func movers(t *testing.T, d *guideDemo) reader {
	t.Helper()

	c := d.newTeam(t)

	owner := c.post("/contacts", object{"type": "owner", "name": "Anna Albers"}).want(201).text("id")
	c.post("/listings", object{"name": "House 1", "initialOwnership": object{
		"members": []any{object{"contactId": owner, "split": 100_000}},
	}}).want(201)

	// The old system is connected and read, as it is for a team that has worked with it.
	before := stayAt("before", "2026-06-10", "2026-06-12", "100")
	both := stayAt("both", "2026-07-10", "2026-07-12", "200")
	connected := c.post("/connections", object{
		"appId": "pmsProtocol", "name": "Old", "settings": object{"baseUrl": pmsWith(t, "old", before, both)}, "credentials": object{"token": sandboxKey},
	}).want(202)
	source := connected.text("resource.id")

	c.settled(connected.text("operationId"))
	c.put("/connections/"+source+"/listing-mappings", object{"data": []any{}}).want(200)
	c.settled(c.post("/connections/"+source+"/sync", object{"mode": "full"}).want(202).text("operationId"))

	return reader{
		env: []string{
			"STAYLEDGER_BASE_URL=" + c.base, "STAYLEDGER_API_KEY=" + c.key,
			"SOURCE=" + source, "URL=" + pmsWith(t, "next", both), "TOKEN=" + sandboxKey, "START=2026-01-01", "DAY=2026-07-01",
		},
		isOnce: true,
		check: func(t *testing.T) {
			t.Helper()

			if got := c.get("/connections/" + source).want(200).text("status"); got != "archived" {
				t.Errorf("the old connection is %s", got)
			}

			// The journals are derived again after the answer.
			for month, want := range map[string]int64{"2026-06": -100_00, "2026-07": -200_00} {
				eventually(t, "the revenue of "+month, func() bool {
					var sum int64
					for _, e := range c.get("/reports/journal-entries?accountClassifications=revenue&startDate=" + month + "&endDate=" + month).want(200).list("data") {
						sum += number(e["centTotal"])
					}

					return sum == want
				})
			}
		},
	}
}

// stayAt returns a stay at House 1, for rent in dollars.
func stayAt(code, checkIn, checkOut, rent string) pms.Reservation {
	return pms.Reservation{
		ID: code, ListingID: "1", Status: "booked", Code: code, Channel: "airbnb", Guest: pms.Guest{Name: "Grace Guest"}, CheckIn: checkIn,
		CheckOut: checkOut, BookedAt: "2026-05-02", Currency: "usd", Lines: []pms.Line{{Type: "rent", Description: "Rent", Amount: rent}},
	}
}

// pmsWith serves a property-management system with House 1 and stays, and returns its address.
func pmsWith(t *testing.T, account string, stays ...pms.Reservation) string {
	t.Helper()

	system, err := pms.New(pms.Config{Token: sandboxKey, AccountID: account})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	system.SetListing(pms.Listing{ID: "1", Name: "House 1", Currency: "usd"})

	for _, s := range stays {
		system.SetReservation(s)
	}

	return server.URL
}
