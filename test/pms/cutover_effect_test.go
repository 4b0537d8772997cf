package pms_test

import (
	"fmt"
	"testing"

	"stayledger/platform/apitest"
)

// All that a cutover does is there when it answers: what is queued derives journals, and moves nothing.
//
// Proves: CUT-18, CUT-41..CUT-47.
func TestACutoverIsDoneWhenItAnswers(t *testing.T) {
	t.Parallel()
	c := newMove(t)
	house := c.of(c.connection, "C-old").String("listingId")
	deposits := []string{c.pay(c.of(c.connection, "C-code"), 1_000), c.pay(c.of(c.connection, "C-lost"), 2_000)}
	late := c.pay(c.of(c.target, "C-code"), 500)

	c.Post(applyPath, c.ask(nil)).Want(200)

	for i, want := range []string{c.of(c.target, "C-code").String("id"), "null"} {
		if got := c.Get("/transactions/" + deposits[i]).Want(200); got.String("lines.0.reservationId") != want {
			t.Errorf("the line of the deposit is %s, want %s", got.Body, want)
		}
	}

	if got := c.Get("/transactions/" + late).Want(200); got.String("lines.0.listingId") != house {
		t.Errorf("the line on the listing of the target is %s", got.Body)
	}

	for code, want := range map[string]string{"C-old": "booked", "C-code": "inactive", "C-guest": "inactive", "C-lost": "inactive"} {
		if got := c.of(c.connection, code); got.String("status") != want {
			t.Errorf("%s of the source is %s", code, got.Body)
		}
	}

	for _, code := range []string{"C-early", "C-code"} {
		if got := c.of(c.target, code); got.String("status") != "booked" || got.String("listingId") != house {
			t.Errorf("%s of the target is %s", code, got.Body)
		}
	}

	mappings := c.Get("/connections/" + c.target.String() + "/listing-mappings").Want(200)
	if at := listingAt(mappings, "HOUSE  1"); at != house {
		t.Errorf("House 1 of the target is %s", at)
	}

	source, target := c.Get(c.path("")).Want(200), c.Get("/connections/"+c.target.String()).Want(200)
	if source.String("accountingEndAt") != "2026-02-01" || target.String("accountingStartAt") != "2026-02-01" {
		t.Errorf("the windows are those of %s and %s", source.Body, target.Body)
	}
}

// listingAt returns the listing here that a listing of a system is, by its name there.
func listingAt(mappings *apitest.Response, name string) string {
	for i := range mappings.Len("data") {
		if at := fmt.Sprintf("data.%d.", i); mappings.String(at+"name") == name {
			return mappings.String(at + "listingId")
		}
	}

	return ""
}

// Lines of journals that people have written for a stay of the source name that of the target, in closed books, too; those for a
// stay that is lost go on to name it.
//
// Proves: CUT-41, CUT-46.
func TestJournalsOfPeopleFollowTheirStay(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.both("stay", "2026-07-03", "2026-07-06", 300)
	m.before("lost", "2026-07-10", "2026-07-12", 100)
	m.begin()

	journals := map[string]string{}

	for _, name := range []string{"stay", "lost"} {
		journals[name] = m.Post("/general-ledger/journals", object{"date": "2026-06-02", "lines": array{
			object{"accountId": m.Account("1000"), "centTotal": 1_000},
			object{"accountId": m.Account("5200"), "centTotal": -1_000, "listingId": m.home.ID, "reservationId": m.find(m.connection, name).String("id")},
		}}).Want(201).String("id")
	}

	m.Post("/team/books-closing", object{"booksClosedAt": "2026-07-01", "reason": "Done"}).Want(201)
	m.apply()

	for name, want := range map[string]string{"stay": m.find(m.target, "stay").String("id"), "lost": m.find(m.connection, "lost").String("id")} {
		if got := m.Get("/general-ledger/journals/" + journals[name]).Want(200); got.String("lines.1.reservationId") != want {
			t.Errorf("the journal of %s is %s", name, got.Body)
		}

		entries := m.Get("/reports/journal-entries?startDate=2025&endDate=2028&accountIds=" + m.Account("5200").String() + "&reservationIds=" + want).Want(200)
		if entries.Len("data") != 1 || entries.Int("data.0.centTotal") != -1_000 {
			t.Errorf("the entries of %s are %s", name, entries.Body)
		}
	}
}
