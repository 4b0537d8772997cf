package metric_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stayledger/domain/tenant/access"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = world.Object

// steps returns the dates of the rows.
func steps(r *apitest.Response) (out []string) {
	for i := range r.Len("data") {
		out = append(out, r.String(fmt.Sprintf("data.%d.date", i)))
	}

	return out
}

// show returns the dates of the rows, and for each the values of some fields.
func show(r *apitest.Response, fields ...string) string {
	var out strings.Builder

	fmt.Fprint(&out, steps(r))

	for i := range r.Len("data") {
		for n, field := range fields {
			fmt.Fprint(&out, [...]string{" ", "/"}[min(n, 1)], r.Int(fmt.Sprintf("data.%d.%s", i, field)))
		}
	}

	return out.String()
}

// counted inserts a connection with counts of syncs by day, as syncs keep them.
func counted(w *world.World) id.ID {
	c := id.New(w.DB.Now())
	w.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
		values (@team, @id, @ref, 'pmsProtocol', 'PMS', 'active', now(), now())`, db.Args{"id": c, "ref": c.ShortRef()})
	w.Exec(`insert into sync_source (team_id, id, connection_id) values (@team, @id, @id)`, db.Args{"id": c})
	w.Exec(`insert into sync_day (team_id, source_id, view, day, kind, outcome, items)
		select @team, @id, v.view, v.day::date, v.kind, v.outcome, v.items from (values
			('automate', '2024-05-01', 'reservation', 'completed', 5), ('automate', '2024-05-01', 'listing', 'completed', 2),
			('automate', '2024-05-31', 'reservation', 'skipped', 7), ('automate', '2024-06-01', 'reservation', 'failed', 1),
			('automate', '2024-06-02', 'reservation', 'queued', 3), ('extract', '2024-05-02', 'reservation', 'completed', 11)) v (view, day, kind, outcome, items)`,
		db.Args{"id": c})

	return c
}

// Proves: MET-01..MET-08, MET-13, OPEN-76.
func TestSyncsByStatus(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	path := "/metrics/sync-by-status?connectionId=" + counted(w).String()

	got := w.Get(path + "&view=automate&dateRange=2024-05-01...2024-06-30").Want(200)
	if fmt.Sprint(steps(got)) != "[2024-05 2024-06]" || got.Int("data.0.total") != 14 || got.Int("data.1.total") != 4 ||
		got.Int("data.0.changes.completed.reservation") != 5 || got.Int("data.0.changes.completed.listing") != 2 ||
		got.Int("data.0.changes.skipped.reservation") != 7 || got.Int("data.1.changes.failed.reservation") != 1 ||
		got.Int("data.1.changes.queued.reservation") != 3 || !got.Has("data.1.changes.skipped") {
		t.Errorf("by month: %s", got.Body)
	}

	if same := w.Get(path + "&view=automate&dateRange=2024-05-01...2024-06-30&dimension=month").Want(200); string(same.Body) != string(got.Body) {
		t.Errorf("month is not the default: %s", same.Body)
	}

	for query, want := range map[string]string{
		"dimension=year&dateRange=2023-01-01...2024-12-31":                              "[2023 2024] 0 18",
		"dimension=week&dateRange=2024-05-27...2024-06-09":                              "[2024-W22 2024-W23] 11 0",
		"dimension=day&dateRange=2024-05-31...2024-06-01":                               "[2024-05-31 2024-06-01] 7 1",
		"dimension=day&dateRange=2024-05-31...2024-06-02&isDateRangeEndInclusive=false": "[2024-05-31 2024-06-01] 7 1",
		"dateRange=2024-05&dimension=year":                                              "[2024] 14",
	} {
		got := w.Get(path + "&view=automate&" + query).Want(200)

		if have := show(got, "total"); have != want {
			t.Errorf("%s: %s, want %s", query, have, want)
		}
	}

	if got := w.Get(path + "&view=extract&dateRange=2024-05").Want(200); got.Int("data.0.total") != 11 {
		t.Errorf("extracts: %s", got.Body)
	}

	// Without a range the last twelve months.
	now := w.DB.Now()
	first := time.Date(now.Year(), now.Month()-11, 1, 0, 0, 0, 0, time.UTC).Format("2006-01")

	if got := steps(w.Get(path + "&view=automate").Want(200)); len(got) != 12 || got[0] != first || got[11] != now.Format("2006-01") {
		t.Errorf("without a range: %v", got)
	}

	for query, at := range map[string]string{
		"view=other&connectionId=" + id.New(now).String(): "view", "connectionId=" + id.New(now).String(): "view", "view=automate": "connectionId",
		"view=automate&connectionId=1": "connectionId",
	} {
		if got := w.Get("/metrics/sync-by-status?"+query).WantError("BAD_REQUEST", ""); got.String("issues.0.path.0") != at {
			t.Errorf("%s: %s", query, got.Body)
		}
	}

	w.Get(path+"&view=automate&dimension=hour").WantError("BAD_REQUEST", "").WantIssue("enum", "dimension")
	w.Get(path+"&view=automate&dimension=day&dateRange=2020-01-01...2024-12-31").WantError("BAD_REQUEST", "").WantIssue("range", "dateRange")

	// Another team's connection is not there.
	other := world.New(t)
	other.Get(path+"&view=automate").WantError("NOT_FOUND", "")
}

// stay adds a reservation.
func stay(w *world.World, l world.Listing, kind, status string, nights [2]string) {
	w.T.Helper()
	w.Post("/reservations", object{
		"listingId": l.ID, "type": kind, "status": status, "checkIn": nights[0], "checkOut": nights[1], "bookedAt": "2026-01-01", "currency": "usd",
		"bookingPlatform": "direct", "guestName": "Ada",
	}).Want(201)
}

// Proves: MET-09..MET-12, MET-14, PAG-36, OPEN-76.
func TestOccupancy(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	one, two, gone := w.Listing("One", ada), w.Listing("Two", ada), w.Listing("Gone", ada)
	stay(w, one, "guest", "booked", [2]string{"2026-01-28", "2026-02-03"})     // 4 nights in January, 2 in February
	stay(w, one, "guest", "booked", [2]string{"2026-02-02", "2026-02-04"})     // one more night: that of the 2nd is there already
	stay(w, two, "guest", "canceled", [2]string{"2026-01-01", "2026-01-05"})   // nothing
	stay(w, two, "ownerStay", "booked", [2]string{"2026-02-10", "2026-02-15"}) // 5 nights that are not available
	stay(w, gone, "guest", "booked", [2]string{"2026-01-01", "2026-01-05"})
	w.Exec(`update listing_ownership_period set end_at = '2026-01-01' where team_id = @team and listing_id = @id`, db.Args{"id": gone.ID})

	got := w.Get("/metrics/occupancy-rate-over-time?startDate=2026-01&endDate=2026-02").Want(200)
	if fmt.Sprint(steps(got)) != "[2026-01 2026-02]" || got.Int("data.0.occupiedNights") != 4 || got.Int("data.0.availableNights") != 62 ||
		got.Int("data.1.occupiedNights") != 3 || got.Int("data.1.availableNights") != 51 || got.String("data.0.occupancyRate") != "0.0645" {
		t.Errorf("by month: %s", got.Body)
	}

	if same := w.Get("/metrics/occupancy-rate-over-time?dimension=month&startDate=2026-01-01&endDate=2026-02-28").Want(200); string(same.Body) != string(got.Body) {
		t.Errorf("month is not the default: %s", same.Body)
	}

	for query, want := range map[string]string{
		"dimension=year&startDate=2026&endDate=2026":                       "[2026] 7/725",
		"dimension=week&startDate=2026-01-26&endDate=2026-02-01":           "[2026-W05] 5/14",
		"dimension=day&startDate=2026-02-02&endDate=2026-02-04":            "[2026-02-02 2026-02-03 2026-02-04] 1/2 1/2 0/2",
		"startDate=2026-02&endDate=2026-02&listingIds=!" + one.ID.String(): "[2026-02] 0/23",
	} {
		got := w.Get("/metrics/occupancy-rate-over-time?" + query).Want(200)

		if have := show(got, "occupiedNights", "availableNights"); have != want {
			t.Errorf("%s: %s, want %s", query, have, want)
		}
	}

	for query, issue := range map[string][2]string{
		"endDate=2026": {"required", "startDate"}, "startDate=2026": {"required", "endDate"}, "startDate=2026-02&endDate=2026-01": {"dateOrder", "endDate"},
		"startDate=2026&endDate=2026&dimension=hour": {"enum", "dimension"}, "startDate=2000&endDate=2026": {"range", "endDate"},
	} {
		w.Get("/metrics/occupancy-rate-over-time?"+query).WantError("BAD_REQUEST", "").WantIssue(issue[0], issue[1])
	}

	// A team without listings has nothing available.
	if got := world.New(t).Get("/metrics/occupancy-rate-over-time?startDate=2026-01&endDate=2026-01").Want(200); got.Int("data.0.availableNights") != 0 ||
		got.Int("data.0.occupancyRate") != 0 {
		t.Errorf("without listings: %s", got.Body)
	}

	w.As(nil, nil).Get("/metrics/occupancy-rate-over-time?startDate=2026&endDate=2026").WantError("FORBIDDEN", "")
	w.As(access.Scopes(), &ada).Get("/metrics/occupancy-rate-over-time?startDate=2026&endDate=2026").WantError("FORBIDDEN", "")
}

// Nights of a calendar block are not available: each once, not where a guest stays, and none of a block that the system
// refuses.
//
// Proves: MET-09.
func TestBlockedNightsAreNotAvailable(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	one := w.Listing("One", w.Contact("owner", "Ada"))
	stay(w, one, "ownerStay", "booked", [2]string{"2026-01-03", "2026-01-05"})

	for _, nights := range [][2]string{{"2026-01-05", "2026-01-10"}, {"2026-01-30", "2026-02-03"}, {"2026-02-20", "2026-02-22"}} {
		w.Post("/calendar-blocks", world.Object{"listingIds": []any{one.ID}, "startAt": nights[0], "endAt": nights[1]}).Want(202)
	}

	w.Exec(`update calendar_block set status = 'refused' where team_id = @team and start_at = '2026-02-20'`, db.Args{})
	stay(w, one, "guest", "booked", [2]string{"2026-01-09", "2026-01-11"}) // the 9th was blocked
	stay(w, one, "ownerStay", "booked", [2]string{"2026-02-02", "2026-02-04"})

	got := w.Get("/metrics/occupancy-rate-over-time?startDate=2026-01&endDate=2026-02").Want(200)
	if have := show(got, "occupiedNights", "availableNights"); have != "[2026-01 2026-02] 2/23 0/25" {
		t.Errorf("by month: %s", have)
	}
}

// A house of two flats is full when both are, archiving changes nothing of the past, and nights that nobody owns are none.
//
// Proves: MET-09.
func TestNightsAreThoseOfListingsWithAnOwner(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	house := w.Listing("House", w.Contact("owner", "Ada"))

	for _, name := range []string{"Upper", "Lower"} {
		flat := w.Post("/listings", world.Object{"name": name}).Want(201).ID("id")
		w.Put("/listings/"+flat.String()+"/parent", world.Object{"parentId": house.ID}).Want(202)
		stay(w, world.Listing{ID: flat}, "guest", "booked", [2]string{"2026-01-01", "2026-02-01"})
	}

	w.Outlast(nil)

	const path = "/metrics/occupancy-rate-over-time?startDate=2026-01&endDate=2026-02"

	want := func(state, rows string) {
		t.Helper()

		if have := show(w.Get(path).Want(200), "occupiedNights", "availableNights"); have != rows {
			t.Errorf("%s: %s, want %s", state, have, rows)
		}
	}

	want("two flats", "[2026-01 2026-02] 62/62 0/56")

	// A listing that was never owned counts while it is active.
	lone := w.Post("/listings", world.Object{"name": "Lone"}).Want(201).String("id")

	want("without owners", "[2026-01 2026-02] 62/93 0/84")

	w.Put("/listings/"+lone, world.Object{"status": "inactive"}).Want(200)
	want("without owners, archived", "[2026-01 2026-02] 62/62 0/56")

	// An owned one counts from its first to its last day, whether or not it is archived afterwards.
	period := w.Post("/listings/ownership-periods", world.Object{
		"listingId": lone, "startAt": "2026-01-31", "endAt": "2026-02-11",
		"members": []any{world.Object{"contactId": w.Contact("owner", "Ben"), "split": 100_000}},
	}).Want(202)
	w.Outlast(nil)
	t.Logf("the period is %s", period.Body)
	want("owned for a while", "[2026-01 2026-02] 62/63 0/66")
	w.Put("/listings/"+lone, world.Object{"status": "active"}).Want(200)
	want("active again", "[2026-01 2026-02] 62/63 0/66")
}

// Revenue that a statement or closed books hold is locked.
func TestListingRevenue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	one, two := w.Listing("One", ada), w.Listing("Two", ada)
	w.Stay(one, "2026-01-10", 10_000)
	w.Stay(two, "2026-01-10", 20_000)
	w.Stay(one, "2026-02-10", 40_000)

	sum := func(query string) (locked, unlocked int64) {
		got := w.Get("/metrics/listing-revenue?" + query).Want(200)
		for i := range got.Len("data") {
			locked += got.Int(fmt.Sprintf("data.%d.lockedRevenue", i))
			unlocked += got.Int(fmt.Sprintf("data.%d.unlockedRevenue", i))
		}

		// The profit and loss knows the same total.
		if net := w.Get("/reports/profit-and-loss?" + query).Want(200).Int("netIncome.groups.0.total"); net != locked+unlocked {
			t.Errorf("%s: %d and %d are not %d", query, locked, unlocked, net)
		}

		return locked, unlocked
	}

	if locked, unlocked := sum("startDate=2026-01&endDate=2026-02"); locked != 0 || unlocked != 70_000 {
		t.Errorf("before anything is locked: %d, %d", locked, unlocked)
	}

	w.Publish("2026-01", one)

	if locked, unlocked := sum("startDate=2026-01&endDate=2026-02"); locked != 10_000 || unlocked != 60_000 {
		t.Errorf("with a statement: %d, %d", locked, unlocked)
	}

	w.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "Done"}).Want(201)

	if locked, unlocked := sum("startDate=2026-01&endDate=2026-02"); locked != 30_000 || unlocked != 40_000 {
		t.Errorf("with closed books: %d, %d", locked, unlocked)
	}

	if locked, unlocked := sum("startDate=2026-01&endDate=2026-02&listingIds=" + two.ID.String()); locked != 20_000 || unlocked != 0 {
		t.Errorf("of one listing: %d, %d", locked, unlocked)
	}
}

// Rows of revenue are named by their step, whose days are added up.
func TestListingRevenueBySteps(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	one, two := w.Listing("One", ada), w.Listing("Two", ada)
	w.Stay(one, "2026-01-20", 10_000)
	w.Stay(one, "2026-02-01", 20_000) // the last day of 2026-W05
	w.Stay(one, "2026-02-02", 40_000) // the first of 2026-W06
	w.Stay(two, "2026-02-05", 80_000)

	for query, want := range map[string]string{
		"dimension=day":   "[2026-01-20 2026-02-01 2026-02-02 2026-02-05] 10000 20000 40000 80000",
		"dimension=week":  "[2026-W04 2026-W05 2026-W06] 10000 20000 120000",
		"dimension=month": "[2026-01 2026-02] 10000 140000",
		"dimension=year":  "[2026] 150000",
		"dimension=week&listingIds=!" + two.ID.String(): "[2026-W04 2026-W05 2026-W06] 10000 20000 40000",
	} {
		if have := show(w.Get("/metrics/listing-revenue?startDate=2026-01&endDate=2026-02&"+query).Want(200), "unlockedRevenue"); have != want {
			t.Errorf("%s: %s, want %s", query, have, want)
		}
	}
}
