package console_test

import (
	"testing"
)

// TestMonthEnd goes through the page of a month that ends: what is open, the records behind it, and another month.
func TestMonthEnd(t *testing.T) {
	t.Parallel()

	chrome, s := chromium(t), serve(t)
	for _, d := range []device{desk, phone} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			testMonthEnd(open(t, chrome, s, d), s.office(t, "Seaside Stays"))
		})
	}
}

func testMonthEnd(p *tab, o *office) {
	o.books()
	o.call("POST", "/reservations", object{
		"listingId": o.call("GET", "/listings?search=Beach", nil, 200)["data"].([]any)[0].(object)["id"], //nolint:forcetypeassert // a test's own answer
		"checkIn":   "2026-01-20", "checkOut": "2026-01-21", "bookedAt": "2026-01-20", "guestName": "Bo " + hostile,
		"lines": array{object{"type": "balloonRide", "amount": 4500}},
	}, 201)
	p.signIn(o.key)
	p.click("Month end")
	p.fill("monthend-month", "2026-01")
	p.sees("No account takes lines of stays")
	p.sees("Owners are to be paid")
	p.sees("$45.00")
	p.sees("2 · $2,469.12")
	p.checks("month")

	// The records behind what is open, which go again.
	p.click("Show: No account takes lines of stays")
	p.sees("Bo " + hostile)
	p.checks("records")
	p.click("Hide")
	p.until(`!document.querySelector("#monthend").innerText.includes("Bo ")`)
	p.click("Show: Owners are to be paid")
	p.click("Beach House")
	p.until(`location.hash.startsWith("#statement/")`)
	p.sees("Available to the owners")

	// A month of which little is open, and the one before again.
	p.click("Month end")
	p.until(`location.hash === "#monthend"`)
	p.click("Next month")
	p.until(`location.hash === "#monthend/2026-02"`)
	p.sees("The books of the month are not closed")
	p.until(`!document.querySelector("#monthend").innerText.includes("balloon")`)
}
