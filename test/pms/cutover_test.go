package pms_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

// move is a team that is connected to two systems of our protocol: scene is the source.
type move struct {
	*scene

	to     *sandbox.Server
	target id.ID
	owner  id.ID             // of House 1
	home   world.Listing     // House 1
	refs   map[string]string // listings of the target by their names there
}

// newMove returns a team with listings and stays at both systems, each synced, on the way to a cutover on February 1:
// House 1 is to be matched, House 2 is shared, there are two listings Twin, and New House is only at the target.
func newMove(t *testing.T) *move {
	t.Helper()

	return newMoveOn(t, newScene(t))
}

// newMoveOn puts a scene on the way to a cutover as newMove says.
func newMoveOn(t *testing.T, source *scene) *move {
	t.Helper()

	system, err := sandbox.New(sandbox.Config{Token: token})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	c := &move{scene: source, to: system, refs: map[string]string{}}

	for i, name := range []string{"House 1", "House 2", "Twin", "Twin"} {
		c.system.SetListing(sandbox.Listing{ID: fmt.Sprint("S", i+1), Name: name, Currency: "usd"})
	}

	for i, name := range []string{"HOUSE  1", "House 2", "Twin", "New House"} {
		c.to.SetListing(sandbox.Listing{ID: fmt.Sprint("T", i+1), Name: name, Currency: "usd"})
	}

	// The second stay is at both systems by its code, the third by days and guest, the fourth only at the source.
	c.system.SetReservation(booked("old", "S1", "2026-01-10", "2026-01-13"))
	c.system.SetReservation(booked("code", "S1", "2026-02-01", "2026-02-04"))
	c.system.SetReservation(booked("guest", "S2", "2026-02-10", "2026-02-13"))
	c.system.SetReservation(booked("lost", "S1", "2026-02-20", "2026-02-23"))
	c.to.SetReservation(booked("early", "T1", "2026-01-20", "2026-01-23"))
	same := booked("code", "T1", "2026-02-01", "2026-02-04")
	same.Code = "c-CODE" // the letters of a code have no case
	c.to.SetReservation(same)

	c.to.SetReservation(booked("other", "T2", "2026-02-10", "2026-02-13"))
	c.to.SetReservation(booked("new", "T4", "2026-02-10", "2026-02-13"))
	// House 1 is here already, with an owner.
	c.owner = c.Contact("owner", "Ada")
	c.home = c.Listing("House 1", c.owner)
	c.connect()
	c.Put(c.path("/listing-mappings"), object{"data": array{}}).Want(200)
	c.sync("full")

	c.target = c.Post("/connections", object{
		"appId": "pmsProtocol", "name": "Next", "settings": object{"baseUrl": server.URL}, "credentials": object{"token": token},
	}).Want(202).ID("resource.id")
	c.Outlast(nil)

	// Before the first sync of the target only House 2 is said to be the same.
	decisions := array{}

	found := c.Get("/connections/" + c.target.String() + "/listing-mappings").Want(200)
	for i := range found.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		c.refs[found.String(at+"name")] = found.String(at + "targetListingConnectionId")
		decision := object{"targetListingConnectionId": found.String(at + "targetListingConnectionId"), "listingId": nil}

		if found.String(at+"name") == "House 2" {
			decision["listingId"] = found.String(at + "suggestedListing.id")
		}

		decisions = append(decisions, decision)
	}

	c.Put("/connections/"+c.target.String()+"/listing-mappings", object{"data": decisions}).Want(200)
	c.Post("/connections/"+c.target.String()+"/sync", object{"mode": "full"}).Want(202)
	c.Outlast(nil)
	c.Put(c.path(""), object{"accountingStartAt": "2026-01-01"}).Want(200)
	c.Outlast(nil)

	return c
}

// ask returns the body of a cutover on February 1, with changes.
func (c *move) ask(changes object) object {
	body := object{
		"sourceConnectionId": c.connection, "targetConnectionId": c.target, "cutoverAt": "2026-02-01",
		"listingMappings": array{object{"targetListingConnectionId": c.refs["Twin"], "sourceListingId": nil}},
	}
	maps.Copy(body, changes)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })

	return body
}

const (
	previewPath = "/connections/pms-cutover/preview"
	applyPath   = "/connections/pms-cutover/apply"
)

// of returns the reservation of a connection with a confirmation code.
func (c *move) of(connection id.ID, code string) *apitest.Response {
	c.T.Helper()

	found := c.Get("/reservations?connectionIds=" + connection.String() + "&search=" + code).Want(200)
	if found.Len("data") != 1 {
		c.T.Fatalf("%s: %s", code, found.Body)
	}

	return c.Get("/reservations/" + found.String("data.0.id")).Want(200)
}

// pay adds a deposit for a reservation.
func (c *move) pay(stay *apitest.Response, cents int) string {
	c.T.Helper()

	return c.Post("/transactions", object{
		"type": "deposit", "date": "2026-01-15", "lines": array{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay.String("id")}},
	}).Want(201).String("id")
}

// revenue returns the cents of revenue of a connection's stays that are in the books.
func (c *move) revenue(stay *apitest.Response) (sum int64) {
	c.T.Helper()

	entries := c.Get("/reports/journal-entries?accountClassifications=revenue&startDate=2025&endDate=2027&reservationIds=" + stay.String("id")).Want(200)
	for i := range entries.Len("data") {
		sum -= entries.Int(fmt.Sprintf("data.%d.centTotal", i))
	}

	return sum
}

// postEarly has the stay of the target in January in the books, as it was posted before the source was the accounting
// source.
func (c *move) postEarly() {
	c.T.Helper()
	c.Exec(`update connection set is_outside_books = false where team_id = @team and id = @id`, db.Args{"id": c.target})
	c.Post("/reservations/journal-entries", object{"ids": array{c.of(c.target, "C-early").String("id")}}).Want(200)
}

// Proves: CUT-02..CUT-12, CUT-18..CUT-30, CUT-34, CUT-37, CUT-42..CUT-49, INIT-16, INIT-17, RSN-54, OPEN-54, OPEN-55, OPEN-57.
func TestATeamMovesToAnotherSystem(t *testing.T) {
	t.Parallel()
	c := newMove(t)

	// What the listings of the target are.
	compared := c.Get("/connections/pms-cutover/listing-mappings?sourceConnectionId=" + c.connection.String() + "&targetConnectionId=" + c.target.String()).Want(200)
	if compared.Len("sourceListings") != 4 || compared.Len("targetListings") != 4 || !compared.Has("sourceListings.0.address") {
		t.Errorf("the listings are %s", compared.Body)
	}

	for i := range 4 {
		at := fmt.Sprintf("targetListings.%d.", i)
		want := map[string]string{"HOUSE  1": "matched", "House 2": "alreadyShared", "Twin": "ambiguous", "New House": "unmapped"}[compared.String(at+"name")]

		if compared.String(at+"status") != want || (compared.String(at+"suggestedListing") != "null") != (want == "matched") {
			t.Errorf("%s: %s", want, compared.Body)
		}
	}

	// A preview changes nothing but its operation.
	ambiguous := c.Post(previewPath, c.ask(object{"listingMappings": nil})).Want(200)

	if ambiguous.Int("listingContinuity.ambiguousCount") != 1 || ambiguous.Int("listingContinuity.matchedCount") != 1 ||
		ambiguous.Int("listingContinuity.alreadySharedCount") != 1 || ambiguous.Int("listingContinuity.unmappedCount") != 1 {
		t.Errorf("the preview is %s", ambiguous.Body)
	}

	c.Post(applyPath, c.ask(object{"listingMappings": nil})).WantError("CONFLICT", "listingMappingAmbiguous")

	code, guest, lost := c.of(c.connection, "C-code"), c.of(c.connection, "C-guest"), c.of(c.connection, "C-lost")
	deposits := []string{c.pay(code, 1000), c.pay(guest, 2000), c.pay(lost, 3000)}

	// Lines of the listing that will be merged: of an expense and of a deposit.
	merged := c.of(c.target, "C-code").String("listingId")
	c.Post("/listings/ownership-periods", object{
		"listingId": merged, "startAt": "2026-01-01", "members": array{object{"contactId": c.owner, "split": 100_000}},
	}).Want(202)
	c.Outlast(nil)

	lines := []string{c.pay(c.of(c.target, "C-code"), 500), c.Post("/transactions", object{
		"type": "expense", "date": "2026-02-15", "accountId": c.Account("1000"),
		"lines": array{object{"accountId": c.Account("5200"), "amount": 700, "listingId": merged}},
	}).Want(201).String("id")}

	// Stays that came from no system, one of them with the code of a stay that will be retired, and deposits that could be
	// those of two stays: where one of them alone is in the books, it is that one's.
	stay := func(listing, code string) string {
		return c.Post("/reservations", object{
			"listingId": listing, "checkIn": "2026-02-20", "checkOut": "2026-02-22", "confirmationCode": code, "lines": array{object{"type": "rent", "amount": 30_000}},
		}).Want(201).String("id")
	}
	own, again := stay(merged, "Own"), stay(c.home.ID.String(), "C-lost")
	either := map[string]string{} // the stay of each deposit in the end
	ofSource := c.of(c.connection, "C-code").String("id")

	for code, want := range map[string]string{"C-code": c.of(c.target, "C-code").String("id"), "C-lost": again} {
		got := c.Post("/transactions", object{
			"type": "deposit", "date": "2026-02-03", "lines": array{object{"assignment": "accountsReceivable", "amount": 800, "matchReservationConfirmationCode": code}},
		}).Want(201)

		first := map[string]string{"C-code": ofSource, "C-lost": "null"}[code]
		if either[got.String("id")] = want; got.String("lines.0.reservationId") != first {
			t.Errorf("the deposit of either stay is %s", got.Body)
		}
	}

	preview := c.Post(previewPath, c.ask(nil)).Want(200)
	if preview.Int("listingContinuity.transactionLineCount") != 1 || preview.Int("listingContinuity.paymentLineCount") != 1 {
		t.Errorf("the lines that move are %s", preview.Body)
	}

	if preview.String("type") != "pms-cutover-preview" || preview.String("status") != "completed" || preview.Int("impactedReservations.sourceCount") != 3 ||
		preview.Int("impactedReservations.targetCount") != 3 || preview.Int("impactedReservations.lockedCount") != 0 ||
		preview.Int("impactedReservations.journalRefreshCount") != 8 || preview.Int("listingContinuity.targetReservationCount") != 3 ||
		preview.Int("listingContinuity.unmappedCount") != 2 || preview.Int("listingContinuity.lockedCount") != 0 ||
		preview.Len("unmatchedReservations") != 1 || preview.String("unmatchedReservations.0.reservationId") != lost.String("id") ||
		preview.String("unmatchedReservations.0.reason") != "reservationUnmatched" {
		t.Errorf("the preview is %s", preview.Body)
	}

	if got := c.Get(c.path("")).Want(200); got.String("accountingEndAt") != "null" {
		t.Errorf("the preview changed %s", got.Body)
	}

	done := c.Post(applyPath, c.ask(nil)).Want(200)
	if done.String("type") != "pms-cutover" || done.String("status") != "completed" || !done.Has("applied") || done.String("applied") != "true" ||
		done.Int("queuedReservationRefreshCount") != 8 || done.Len("operationIds") != 2 {
		t.Errorf("applied: %s", done.Body)
	}

	c.Outlast(nil)
	c.after(deposits)

	for _, line := range lines {
		if got := c.Get("/transactions/" + line).Want(200); got.String("lines.0.listingId") != c.home.ID.String() {
			t.Errorf("the line is %s", got.Body)
		}

		// Its journal followed.
		if got := c.Get("/reports/journal-entries?startDate=2025&endDate=2027&listingIds=" + merged + "&transactionIds=" + line).Want(200); got.Len("data") != 0 {
			t.Errorf("entries of the line are on the old listing: %s", got.Body)
		}
	}

	if got := c.Get("/reservations/" + own).Want(200); got.String("listingId") != c.home.ID.String() || got.String("journalStatus.status") != "current" {
		t.Errorf("the stay of no system is %s", got.Body)
	}

	if got := c.Get("/reports/journal-entries?startDate=2025&endDate=2027&listingIds=" + merged + "&reservationIds=" + own).Want(200); got.Len("data") != 0 {
		t.Errorf("its entries are on the old listing: %s", got.Body)
	}

	for deposit, want := range either {
		if got := c.Get("/transactions/" + deposit).Want(200); got.String("lines.0.reservationId") != want {
			t.Errorf("the deposit of either stay is %s", got.Body)
		}
	}

	// The next sync of the target goes on where its listings and stays are now.
	c.Post("/connections/"+c.target.String()+"/sync", object{"mode": "full"}).Want(202)
	c.Outlast(nil)
	c.after(deposits)
}

// after holds what is here to what the cutover of newMove comes to.
func (c *move) after(deposits []string) {
	c.T.Helper()

	if got := c.Get(c.path("")).Want(200); got.String("accountingStartAt") != "2026-01-01" || got.String("accountingEndAt") != "2026-02-01" {
		c.T.Errorf("the source is %s", got.Body)
	}

	if got := c.Get("/connections/" + c.target.String()).Want(200); got.String("accountingStartAt") != "2026-02-01" || got.String("accountingEndAt") != "null" {
		c.T.Errorf("the target is %s", got.Body)
	}

	house := c.of(c.connection, "C-old").String("listingId")

	for _, stay := range []struct {
		of      id.ID
		code    string
		status  string
		revenue int64
		listing string // empty for any
	}{
		{c.connection, "C-old", "booked", 45_050, house},
		{c.connection, "C-code", "inactive", 0, house},
		{c.connection, "C-guest", "inactive", 0, ""},
		{c.connection, "C-lost", "inactive", 0, house},
		{c.target, "C-early", "booked", 0, house},
		{c.target, "C-code", "booked", 45_050, house},
		{c.target, "C-other", "booked", 45_050, c.of(c.connection, "C-guest").String("listingId")},
		{c.target, "C-new", "booked", 45_050, ""},
	} {
		got := c.of(stay.of, stay.code)
		if got.String("status") != stay.status || c.revenue(got) != stay.revenue || stay.listing != "" && got.String("listingId") != stay.listing {
			c.T.Errorf("%s has revenue %d, want %d: %s", stay.code, c.revenue(got), stay.revenue, got.Body)
		}
	}

	// Deposits went to the stays of the target; the one without a match names none.
	for i, want := range []string{c.of(c.target, "C-code").String("id"), c.of(c.target, "C-other").String("id"), "null"} {
		if got := c.Get("/transactions/" + deposits[i]).Want(200); got.String("lines.0.reservationId") != want {
			c.T.Errorf("the line is %s, want %s", got.Body, want)
		}
	}

	if stale := c.Get("/reports/trial-balance?startDate=2026&endDate=2026").Want(200); stale.Status != 200 {
		c.T.Error(stale.Body)
	}
}

// Proves: CUT-31..CUT-33, CUT-50..CUT-58, RSN-42, OPEN-36.
func TestCutoversThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newMove(t)
	foreign := newScene(t)
	foreign.connect()

	payments := id.New(c.DB.Now())
	c.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
		values (@team, @id, @ref, 'nacha', 'Bank', 'active', now(), now())`, db.Args{"id": payments, "ref": payments.ShortRef()})

	mapping := func(ref, listing any) object {
		return object{"listingMappings": array{object{"targetListingConnectionId": ref, "sourceListingId": listing}}}
	}
	twice := object{"targetListingConnectionId": c.refs["Twin"], "sourceListingId": nil}

	for _, r := range []struct {
		what      string
		changes   object
		issue, at string
	}{
		{"the same connection", object{"targetConnectionId": c.connection}, "contradiction", "targetConnectionId"},
		{"an unknown connection", object{"sourceConnectionId": id.New(c.DB.Now())}, "notFound", "sourceConnectionId"},
		{"a connection of another team", object{"targetConnectionId": foreign.connection}, "notFound", "targetConnectionId"},
		{"no system", object{"targetConnectionId": payments}, "contradiction", "targetConnectionId"},
		{"the day of the start", object{"cutoverAt": "2026-01-01"}, "dateOrder", "cutoverAt"},
		{"before the start", object{"cutoverAt": "2025-12-31"}, "dateOrder", "cutoverAt"},
		{"no day", object{"cutoverAt": "soon"}, "date", "cutoverAt"},
		{"an unknown listing of the target", mapping(id.New(c.DB.Now()), nil), "notFound", "listingMappings.0.targetListingConnectionId"},
		{"no listing of the source", mapping(c.refs["Twin"], c.of(c.target, "C-new").String("listingId")), "notFound", "listingMappings.0.sourceListingId"},
		{"a listing twice", object{"listingMappings": array{twice, twice}}, "unique", "listingMappings.1.targetListingConnectionId"},
	} {
		for _, path := range []string{previewPath, applyPath} {
			if got := c.Post(path, c.ask(r.changes)); got.String("code") != "BAD_REQUEST" || got.String("issues.0.code") != r.issue {
				t.Errorf("%s: %s", r.what, got.Body)
			} else {
				got.WantIssue(r.issue, r.at)
			}
		}
	}

	// Connections whose state does not allow it.
	for _, r := range []struct{ what, sql, back, reason, issue string }{
		{"a disabled source", `status = 'disabled'`, `status = 'active'`, "", "inactive"},
		{"a source without a start", `accounting_start_at = null`, `accounting_start_at = '2026-01-01'`, "pmsAccountingStartMissing", "contradiction"},
	} {
		set := func(sql string) {
			c.Exec(`update connection set `+sql+` where team_id = @team and id = @id`, db.Args{"id": c.connection})
		}
		set(r.sql)

		for _, path := range []string{previewPath, applyPath} {
			if got := c.Post(path, c.ask(nil)); got.String("code") != "BAD_REQUEST" || got.String("issues.0.code") != r.issue ||
				r.reason != "" && got.String("reason") != r.reason {
				t.Errorf("%s: %s", r.what, got.Body)
			}
		}

		set(r.back)
	}

	// A window of the target, and one of a third system that reaches beyond the day.
	third := id.New(c.DB.Now())
	c.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, accounting_start_at, created_at, updated_at)
		values (@team, @id, @ref, 'hostaway', 'Third', 'active', '2026-03-01', now(), now())`, db.Args{"id": third, "ref": third.ShortRef()})
	c.Post(applyPath, c.ask(nil)).WantError("BAD_REQUEST", "").WantIssue("contradiction", "cutoverAt")
	c.Exec(`update connection set accounting_start_at = null, accounting_end_at = '2026-02-01' where team_id = @team and id = @id`, db.Args{"id": third})
	c.Post(previewPath, c.ask(nil)).Want(200)
	c.Exec(`update connection set accounting_end_at = '2027-02-01' where team_id = @team and id = @id`, db.Args{"id": c.target})
	c.Post(applyPath, c.ask(nil)).WantError("BAD_REQUEST", "").WantIssue("contradiction", "targetConnectionId")
	c.Exec(`update connection set accounting_end_at = null where team_id = @team and id = @id`, db.Args{"id": c.target})

	// The books must be open from the day on.
	c.Post("/team/books-closing", object{"booksClosedAt": "2026-02-02", "reason": "Done"}).Want(201)
	c.Post(applyPath, c.ask(nil)).WantError("BAD_REQUEST", "").WantIssue("range", "cutoverAt")

	// A refusal leaves no operation; the one preview that was made left one.
	for kind, want := range map[string]int{"pms-cutover": 0, "pms-cutover-preview": 1} {
		if got := c.Get("/operations?type=" + kind).Want(200); got.Len("items") != want {
			t.Errorf("%s: %s", kind, got.Body)
		}
	}
}

// What a statement or closed books hold does not move, and nothing else does then.
//
// Proves: CUT-35, CUT-36, CUT-38..CUT-40.
func TestACutoverMovesNothingThatIsLocked(t *testing.T) {
	t.Parallel()

	for _, r := range []struct {
		what, reason string
		lock         func(c *move)
	}{
		{"a reservation of the source in a published statement", "reservationLocked", func(c *move) {
			c.Publish("2026-01", c.home)
			c.Publish("2026-02", c.home)
		}},
		{"a reservation of the source under a statement of a later month", "reservationLocked", func(c *move) {
			c.Post("/statements", object{"month": "2026-03", "status": "inReview", "listingPeriodIds": array{c.home.Period}}).Want(201)
		}},
		{"a reservation of the target in books that are closed for the caller", "reservationLocked", func(c *move) {
			c.postEarly()
			c.Post("/team/books-closing", object{"softClosedAt": "2026-02-01", "softClosePosters": array{}, "reason": "Month end"}).Want(201)
		}},
		{"a reservation of the target in closed books", "reservationLocked", func(c *move) {
			c.postEarly()
			c.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "Done"}).Want(201)
		}},
		{"a listing of the target with lines in closed books", "booksClosed", func(c *move) {
			if err := c.to.DeleteReservation("early"); err != nil {
				c.T.Fatal(err)
			}

			c.Post("/connections/"+c.target.String()+"/sync", object{"mode": "full"}).Want(202)
			c.Outlast(nil)
			c.pay(c.of(c.target, "C-code"), 100)
			c.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "Done"}).Want(201)
		}},
		{"nothing", "", func(*move) {}},
	} {
		t.Run(r.what, func(t *testing.T) {
			t.Parallel()
			c := newMove(t)
			c.Post(previewPath, c.ask(nil)).Want(200)
			r.lock(c)

			if r.reason == "" {
				c.Post(applyPath, c.ask(nil)).Want(200)
				return
			}

			preview := c.Post(previewPath, c.ask(nil)).Want(200)
			if stays := preview.Int("impactedReservations.lockedCount"); (stays > 0) != (r.reason == "reservationLocked") ||
				stays == 0 && preview.Int("listingContinuity.lockedCount") != 1 {
				t.Errorf("the preview is %s", preview.Body)
			}

			c.Post(applyPath, c.ask(nil)).WantError("CONFLICT", apierr.Reason(r.reason))

			if got := c.Get(c.path("")).Want(200); got.String("accountingEndAt") != "null" {
				t.Errorf("the source is %s", got.Body)
			}

			if got := c.of(c.connection, "C-code"); got.String("status") != "booked" {
				t.Errorf("the stay is %s", got.Body)
			}
		})
	}
}

// A cutover that fails near its end has done nothing.
//
// Proves: CUT-41.
func TestACutoverThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	c := newMove(t)
	name := "broken_" + c.ID.String()[24:]
	c.Exec(`create function `+name+`() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$`, nil)
	c.Exec(`create trigger `+name+` before update on external_record for each row when (new.team_id = '`+c.ID.String()+`') execute function `+name+`()`, nil)

	before := []string{string(c.of(c.connection, "C-lost").Body), string(c.of(c.target, "C-code").Body), string(c.Get(c.path("")).Body)}

	if got := c.Post(applyPath, c.ask(nil)); got.Status != http.StatusInternalServerError {
		t.Fatalf("the broken cutover answers %s", got.Body)
	}

	after := []string{string(c.of(c.connection, "C-lost").Body), string(c.of(c.target, "C-code").Body), string(c.Get(c.path("")).Body)}
	if !slices.Equal(before, after) {
		t.Errorf("was %s and is %s", before, after)
	}

	c.Exec(`drop trigger `+name+` on external_record`, nil)
	c.Exec(`drop function `+name+`()`, nil)
	c.Post(applyPath, c.ask(nil)).Want(200)
}

// Two who apply at once apply once, and the connection that others rely on cannot be taken away.
//
// Proves: CUT-59..CUT-61.
func TestACutoverIsAppliedOnce(t *testing.T) {
	t.Parallel()
	c := newMove(t)
	c.Delete(c.path("?outcome=archive")).WantError("BAD_REQUEST", "")
	c.Delete(c.path("?outcome=delete")).WantError("BAD_REQUEST", "")
	c.Put(c.path(""), object{"status": "disabled"}).WantError("BAD_REQUEST", "")
	c.Put(c.path(""), object{"accountingStartAt": "2026-01-02"}).WantError("BAD_REQUEST", "")

	var all sync.WaitGroup

	answers := make([]*apitest.Response, 4)
	for i := range answers {
		all.Go(func() { answers[i] = c.Post(applyPath, c.ask(nil)) })
	}

	all.Wait()

	applied := 0

	for _, a := range answers {
		if a.Status == 200 {
			applied++
		}
	}

	if applied != 1 {
		t.Errorf("applied %d times: %s", applied, answers[0].Body)
	}

	// Now the target has dates of its own, and the source can go.
	c.Outlast(nil)
	c.Put(c.path(""), object{"status": "disabled"}).Want(200)
}
