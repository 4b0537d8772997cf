package trail_test

import (
	"context"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/trail"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// event is what tests read of an event.
type event struct {
	ID, ActionID string
	Revision     int64
	Type         string
	Entity       struct{ Type, ID, Name string }
	References   []struct{ Role, Type, ID string }
	Source       struct{ Type, ConnectionID, SyncID, ImportID string }
	IsOverride   bool
	Changes      []struct {
		Key      string
		Old, New any
	}
	Journal *struct{ EntriesAdded int }
}

// list is a page of events.
type list struct {
	Data []event
	Page struct {
		HasMore    bool
		NextCursor *string
	}
}

// read reads a page of events.
func read(w *apitest.Team, query string) (out list) {
	w.Get("/audit/events?" + query).Want(200).Into(&out)
	return out
}

// readAll reads all events of a query by pages of a size.
func readAll(t *testing.T, w *apitest.Team, query string, limit int) (all []event) {
	t.Helper()

	for cursor := ""; ; {
		page := read(w, query+"&limit="+strconv.Itoa(limit)+cursor)
		all = append(all, page.Data...)

		if !page.Page.HasMore {
			return all
		}

		cursor = "&cursor=" + url.QueryEscape(*page.Page.NextCursor)
	}
}

func keys(e event) (out []string) {
	for _, c := range e.Changes {
		out = append(out, c.Key)
	}

	return out
}

// Proves: AUD-01, AUD-02, AUD-07, AUD-11, PAG-01, PAG-02.
func TestTheTrailTellsWhatWasDone(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")
	cabin := w.Listing("Cabin", owner)
	stay := w.Stay(cabin, "2026-01-05", 40_000)

	action := w.Put("/contacts/"+owner.String(), world.Object{"name": "Ada Lovelace"}).Want(200).Header.Get("X-Service-Audit-Action-Id")

	found := read(w.Team, "actionId="+action)
	if len(found.Data) != 1 {
		t.Fatalf("%d events of the action", len(found.Data))
	}

	e := found.Data[0]
	if e.Type != "updated" || e.Entity.Type != "contact" || e.Entity.ID != owner.String() || e.Entity.Name != "Ada Lovelace" || e.Source.Type != "user" ||
		!slices.Equal(keys(e), []string{"name"}) || e.Changes[0].Old != "Ada" || e.Changes[0].New != "Ada Lovelace" {
		t.Errorf("told %+v", e)
	}

	// By its record, and by the records that refer to it.
	of := func(query string) (out []string) {
		for _, e := range readAll(t, w.Team, query, 2) {
			out = append(out, e.Type+" "+e.Entity.Type)
		}

		return out
	}
	if got := of("entityType=contact&entityId=" + owner.String()); !slices.Contains(got, "created contact") || got[0] != "updated contact" {
		t.Errorf("of the owner: %q", got)
	}

	ofListing := of("entityId=" + cabin.ID.String())
	if !slices.Contains(ofListing, "created listing") || !slices.Contains(ofListing, "created reservation") {
		t.Errorf("of the listing: %q", ofListing)
	}

	if got := of("rootEntityType=listing&rootEntityId=" + cabin.ID.String()); !slices.Equal(got, ofListing) {
		t.Errorf("by the other name: %q, want %q", got, ofListing)
	}

	if got := of("entityType=listing"); len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return !strings.HasSuffix(s, " listing") }) {
		t.Errorf("of listings: %q", got)
	}

	// The stay was posted: cents of the books come with it.
	posted := slices.ContainsFunc(readAll(t, w.Team, "entityId="+stay.String(), 50), func(e event) bool { return e.Journal != nil && e.Journal.EntriesAdded > 0 })
	if !posted {
		t.Error("no event of the stay tells its entries")
	}

	// Both orders, by pages of any size, tell the same.
	ids := func(query string, limit int) (out []string) {
		for _, e := range readAll(t, w.Team, query, limit) {
			out = append(out, e.ID)
		}

		return out
	}

	all := ids("sort=-recordedAt", 250)
	for _, limit := range []int{1, 3} {
		if got := ids("sort=-recordedAt", limit); !slices.Equal(got, all) {
			t.Errorf("by pages of %d: %q, want %q", limit, got, all)
		}

		got := ids("sort=recordedAt", limit)
		slices.Reverse(got)

		if !slices.Equal(got, all) {
			t.Errorf("oldest first by pages of %d: %q, want %q", limit, got, all)
		}
	}

	// The timeline has the action, newest first.
	timeline := w.Get("/audit/timeline?limit=1").Want(200)
	if timeline.String("data.0.action.endpoint") != "updateContact" || timeline.String("data.0.summary.entity") != "contact" ||
		timeline.String("data.0.summary.count") != "1" || timeline.String("data.0.events.0.entity.name") != "Ada Lovelace" || timeline.String("page.hasMore") != "true" {
		t.Errorf("timeline %s", timeline.Body)
	}

	next := w.Get("/audit/timeline?limit=1&cursor=" + url.QueryEscape(timeline.String("page.nextCursor"))).Want(200)
	if next.String("data.0.action.id") == timeline.String("data.0.action.id") {
		t.Error("the second page has the action of the first")
	}

	if got := w.Get("/audit/timeline?types=deleted").Want(200); got.Len("data") != 0 {
		t.Errorf("deleted: %s", got.Body)
	}

	// Another team has a trail of its own.
	other := world.New(t)
	if got := read(other.Team, "entityId="+owner.String()); len(got.Data) != 0 {
		t.Errorf("another team is told %v", got.Data)
	}

	other.Get("/audit/events/"+e.ID).WantError(apierr.CodeNotFound, "")

	// A cursor belongs to its filters.
	w.Get("/audit/events?types=created&cursor="+url.QueryEscape(*read(w.Team, "limit=1").Page.NextCursor)).WantError(apierr.CodeBadRequest, "")
}

// Both filters of the timeline hold for one event, not for two of the same action.
func TestTheTimelineSelectsActionsByOneEvent(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")
	cabin := w.Listing("Cabin", owner)

	for query, want := range map[string]int{
		"entityId=" + cabin.ID.String() + "&entityType=listing&types=created":                   1,
		"entityId=" + cabin.ID.String() + "&entityType=listing&types=deleted":                   0,
		"entityId=" + owner.String() + "&entityType=contact&types=created":                      2, // the listing's period refers to the owner
		"entityId=" + owner.String() + "&entityType=contact&types=created&sourceType=recurring": 0,
		"actorId=" + owner.String():        0,
		"entityType=contact&types=created": 1,
		"to=2020-01-01T00:00:00.000Z":      0,
	} {
		if got := w.Get("/audit/timeline?" + query).Want(200); got.Len("data") != want {
			t.Errorf("%s: %d actions, want %d: %s", query, got.Len("data"), want, got.Body)
		}
	}
}

// Proves: AUD-06.
func TestAppsAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")

	var connection id.ID

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		connection = tx.NewID()

		_, err := tx.Exec(ctx, `insert into connection (team_id, id, short_ref, app_id, name, status, settings, created_at, updated_at)
			values (@team, @id, 'c1', 'hostaway', 'Hostaway', 'active', '{}', @now, @now)`, db.Args{"team": tx.Team, "id": connection, "now": tx.Now})
		audit.FromConnection(tx, connection, nil)
		audit.Note(tx, audit.Updated, audit.Contact, owner, map[string]string{"name": "Ada"}, map[string]string{"name": "Eve"})

		return err
	})

	for _, query := range []string{"appId=hostaway", "entityType=app&entityId=hostaway", "rootEntityType=app&rootEntityId=hostaway", "connectionId=" + connection.String()} {
		found := read(w.Team, query).Data
		if len(found) != 1 || found[0].Entity.ID != owner.String() || found[0].Source.Type != "integration" || found[0].Source.ConnectionID != connection.String() ||
			len(found[0].References) != 1 || found[0].References[0] != (struct{ Role, Type, ID string }{"app", "app", "hostaway"}) {
			t.Errorf("%s: %+v", query, found)
		}
	}

	if found := read(w.Team, "appId=ownerrez").Data; len(found) != 0 {
		t.Errorf("of another app: %+v", found)
	}

	w.Get("/audit/events?entityId=hostaway").WantError(apierr.CodeBadRequest, "").WantIssue("uuid", "entityId")
}

// What passes the closed books by the header says so, with the reason that the caller gave; nothing else does.
//
// Proves: BKC-01, BKC-06, AUD-01.
func TestTheTrailShowsWhatPassedTheClosedBooks(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")
	cabin := w.Listing("Cabin", owner)
	body := world.Object{
		"type": "expense", "date": "2026-01-10", "accountId": w.Account("1000"),
		"lines": world.Array{world.Object{"accountId": w.Account("5200"), "amount": 5_000, "listingId": cabin.ID}},
	}
	open := w.Post("/transactions", body).Want(201)

	fixture.CloseBooks(w.Team, "2026-02-01")

	const reason = "Bank statement n° 4 came late"

	header := []string{"x-ignore-books-closed-at", "true", "x-ignore-books-closed-reason", reason}

	w.Post("/transactions?dryRun=true", body, header...).Want(201)

	passed := w.Post("/transactions", body, header...).Want(201)
	silent := w.Put("/transactions/"+open.String("id"), world.Object{"description": "late"}, header[:2]...).Want(200)

	// Without the override the reason says nothing.
	w.Post("/contacts", world.Object{"type": "owner", "name": "Eve"}, header[2:]...).Want(201)
	w.Post("/transactions", fixture.With(body, "date", "2026-02-10"), header[2:]...).Want(201)

	reasons := map[string]string{}
	timeline := w.Get("/audit/timeline?limit=100").Want(200)

	for i := range timeline.Len("data") {
		at := "data." + strconv.Itoa(i) + ".action."
		if got := timeline.String(at + "reason"); got != "null" {
			reasons[timeline.String(at+"id")] = got
		}
	}

	if action := actionID(t, passed); len(reasons) != 1 || reasons[action] != reason {
		t.Errorf("reasons %v, want that of %s", reasons, action)
	}

	var events []string

	for _, e := range readAll(t, w.Team, "isOverride=true", 50) {
		if !e.IsOverride {
			t.Errorf("the filter finds %+v", e)
		}

		events = append(events, e.Type+" "+e.Entity.ID)
	}

	if want := []string{"updated " + silent.String("id"), "created " + passed.String("id")}; !slices.Equal(events, want) {
		t.Errorf("passed the closed books: %q, want %q", events, want)
	}

	others := readAll(t, w.Team, "isOverride=false", 50)
	if len(others)+len(events) != len(readAll(t, w.Team, "sort=recordedAt", 50)) || slices.ContainsFunc(others, func(e event) bool { return e.IsOverride }) {
		t.Errorf("the other events are %+v", others)
	}

	if got := w.Get("/audit/timeline?isOverride=true").Want(200); got.Len("data") != 2 {
		t.Errorf("%d actions passed the closed books", got.Len("data"))
	}

	w.Post("/transactions", body, "x-ignore-books-closed-at", "true", "x-ignore-books-closed-reason", strings.Repeat("x", 1001)).WantError(apierr.CodeBadRequest, "")
}

// actionID returns the action that an answer names, as lists have it.
func actionID(t *testing.T, r *apitest.Response) string {
	t.Helper()

	action, err := id.ParseTyped("act", r.Header.Get("X-Service-Audit-Action-Id"))
	if err != nil {
		t.Fatal(err)
	}

	return action.String()
}

// Events of a historical ledger name its import, both of the request and of the work that posts it.
func TestEventsNameTheirImport(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Contact("owner", "Ada")

	entry := func(account string, cents int) world.Object {
		return world.Object{"date": "2025-12-31", "txnRef": "old-1", "accountId": w.Account(account), "centTotal": cents}
	}
	w.Post("/general-ledger/historical?dryRun=false", world.Object{"entries": world.Array{entry("1000", 700), entry("2000", -700)}}).Want(202)
	w.Work()

	imported := w.Get("/general-ledger/historical").Want(200).String("data.0.id")

	found := readAll(t, w.Team, "sourceType=migration", 50)
	if len(found) != 1 || found[0].Revision != 2 || found[0].Entity.ID != imported || found[0].Source.ImportID != imported || found[0].Source.SyncID != "" {
		t.Errorf("events of the import %s: %+v", imported, found)
	}

	if got := w.Get("/audit/events?entityType=contact").Want(200); got.String("data.0.source.importId") != "null" || got.String("data.0.source.syncId") != "null" {
		t.Errorf("a contact: %s", got.Body)
	}
}

// Whoever may not read a record sees which of its fields changed, and no values.
func TestValuesAreForThoseWhoMayReadTheRecord(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")
	w.Stay(w.Listing("Cabin", owner), "2026-01-05", 40_000)

	auditor := w.As([]string{"audit:read"}, nil)
	for _, e := range readAll(t, auditor, "sort=recordedAt", 100) {
		for _, c := range e.Changes {
			if c.Key == "" || c.Old != nil || c.New != nil {
				t.Errorf("%s %s tells %+v", e.Type, e.Entity.Type, c)
			}
		}

		if e.Journal != nil {
			t.Errorf("%s %s tells amounts of the books", e.Type, e.Entity.Type)
		}
	}

	w.As([]string{"contacts:read"}, nil).Get("/audit/events").WantError(apierr.CodeForbidden, "")
	w.As([]string{"audit:read"}, &owner).Get("/audit/events").WantError(apierr.CodeForbidden, "")

	for _, e := range readAll(t, w.Team, "includeDiff=false", 100) {
		if slices.ContainsFunc(e.Changes, func(c struct {
			Key      string
			Old, New any
		},
		) bool {
			return c.New != nil
		}) {
			t.Errorf("includeDiff=false tells values of %s", e.Entity.Type)
		}
	}
}

// A caller who names a filter twice with two values is told so, on both lists.
func TestTwoNamesOfAFilterSayTheSame(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Config{Endpoints: trail.Part().Endpoints})
	one, other := id.New(w.DB.Now()).String(), id.New(w.DB.Now()).String()

	for query, issue := range map[string]string{
		"entityId=" + one + "&rootEntityId=" + other:              "rootEntityId",
		"entityType=reservation&rootEntityType=listing":           "rootEntityType",
		"type=created&types=updated":                              "types",
		"from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z":       "to",
		"type=created&types=created,updated&entityType=statement": "types",
	} {
		for _, path := range []string{"/audit/events?", "/audit/timeline?"} {
			code := "contradiction"
			if issue == "to" {
				code = "dateOrder"
			}

			w.Get(path+query).WantError(apierr.CodeBadRequest, "").WantIssue(code, issue)
		}
	}

	w.Get("/audit/events?entityId=" + one + "&rootEntityId=" + one + "&type=created&types=created").Want(200)
}

// Proves: AUD-09, ERR-33.
func TestARevisedEventIsTold(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")
	e := read(w.Team, "entityId="+owner.String()).Data[0]

	w.Exec(`insert into audit_event (team_id, id, revision, action_id, actor_type, type, entity_type, entity_id, refs, source_type, changes, occurred_at, recorded_at)
		select team_id, id, 2, action_id, actor_type, 'updated', entity_type, entity_id, refs, source_type,
			'[{"key": "name", "old": "Ada", "new": "Eve"}, {"key": "email", "new": "eve@example.com"}]', occurred_at, clock_timestamp()
		from audit_event where team_id = @team and id = @id`, db.Args{"id": e.ID})

	// It is told once, with the changes of both.
	found := read(w.Team, "entityId="+owner.String()).Data
	if len(found) != 1 || found[0].Revision != 2 || !slices.Contains(keys(found[0]), "email") || !slices.Contains(keys(found[0]), "type") {
		t.Fatalf("told %+v", found)
	}

	for _, c := range found[0].Changes {
		if c.Key == "name" && (c.Old != nil || c.New != "Eve") {
			t.Errorf("name %+v", c)
		}
	}

	path := "/audit/events/" + e.ID
	w.Get(path + "?revision=2").Want(200)
	w.Get(path).Want(200)

	if r := w.Get(path+"?revision=1").WantError(apierr.CodeAuditEventRevised, ""); r.String("context.revision") != "2" {
		t.Errorf("%s", r.Body)
	}

	w.Get(path+"?revision=3").WantError(apierr.CodeNotFound, "")
}

// Whoever follows the trail by its cursor sees each event once, whatever writes beside it commits late.
func TestFollowersSeeEachEventOnce(t *testing.T) {
	t.Parallel()

	const writers, writes = 8, 12

	x := world.New(t)
	seed := rand.Uint64()
	t.Log("seed", seed)

	var (
		group sync.WaitGroup
		done  atomic.Bool
	)

	for n := range writers {
		random := rand.New(rand.NewPCG(seed, uint64(n)))

		group.Go(func() {
			for range writes {
				// An event gets its place in the list before the transaction waits and commits.
				err := x.DB.Write(t.Context(), x.Scope(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
					_, err := tx.Exec(ctx, `insert into audit_event (team_id, id, revision, action_id, actor_type, type, entity_type, entity_id, refs, source_type,
							changes, occurred_at, recorded_at, settled_at)
						values (@team, @id, 1, @id, 'user', 'created', 'contact', @id, '[]', 'user', '[]', now(), clock_timestamp(), now())`,
						db.Args{"team": tx.Team, "id": id.New(time.Now())})
					if err == nil {
						_, err = tx.Exec(ctx, `select pg_sleep(@wait)`, db.Args{"wait": random.Float64() / 20})
					}

					return err
				}))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}

	go func() { group.Wait(); done.Store(true) }()

	seen, cursor := map[string]int{}, ""
	for last := false; ; {
		page := read(x.Team, "sort=recordedAt&sourceType=user&entityType=contact&limit=7"+cursor)
		for _, e := range page.Data {
			seen[e.ID]++
		}

		if page.Page.NextCursor == nil {
			t.Fatal("the last page has no cursor to go on with")
		}

		cursor = "&cursor=" + url.QueryEscape(*page.Page.NextCursor)

		// After the last write one more round reads what is left.
		if !page.Page.HasMore {
			if last {
				break
			}

			last = done.Load()
		}
	}

	if len(seen) != writers*writes {
		t.Errorf("seen %d events, want %d", len(seen), writers*writes)
	}

	for v, times := range seen {
		if times != 1 {
			t.Errorf("event %s came %d times", v, times)
		}
	}
}

// Proves: AUD-03, PAG-03.
func TestPartnersReadTheTrailsOfTheirTeams(t *testing.T) {
	t.Parallel()
	partner, one, two, foreign := world.New(t), world.New(t), world.New(t), world.New(t)

	for _, team := range []*world.World{one, two} {
		partner.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `update team set partner_id = @partner where id = @id`, db.Args{"partner": partner.ID, "id": team.ID})
			return err
		})
	}

	contacts := map[string]string{}
	for _, team := range []*world.World{one, two, foreign} {
		contacts[team.Contact("owner", "Ada").String()] = team.ID.String()
	}

	partner.Reach(one.ID, two.ID, foreign.ID)

	var told []string

	for cursor := ""; ; {
		page := partner.Get("/partner/audit-events?entityType=contact&types=created&limit=1" + cursor).Want(200)
		for i := range page.Len("data") {
			at := "data." + strconv.Itoa(i)

			entity := page.String(at + ".entity.id")
			if contacts[entity] != page.String(at+".teamId") {
				t.Errorf("told %s", page.Body)
			}

			told = append(told, page.String(at+".teamId"))
		}

		if page.String("page.hasMore") == "false" {
			break
		}

		cursor = "&cursor=" + url.QueryEscape(page.String("page.nextCursor"))
	}

	slices.Sort(told)

	want := []string{one.ID.String(), two.ID.String()}
	slices.Sort(want)

	if !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}

// Proves: AUD-08, ERR-40.
func TestCursorsLiveADay(t *testing.T) {
	t.Parallel()

	var ahead atomic.Int64

	d, err := db.Open(t.Context(), db.Config{
		URL: apitest.Database(t), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	w := world.In(t, d)
	w.Contact("owner", "Ada")

	lists := []string{"/audit/events?sort=recordedAt&limit=1", "/audit/events?limit=1", "/audit/timeline?limit=1"}

	cursors := make([]string, len(lists))
	for i, path := range lists {
		cursors[i] = path + "&cursor=" + url.QueryEscape(w.Get(path).Want(200).String("page.nextCursor"))
	}

	ahead.Store(int64(24*time.Hour - time.Minute))

	for _, path := range cursors {
		w.Get(path).Want(200)
	}

	ahead.Store(int64(24*time.Hour + time.Minute))

	for _, path := range cursors {
		w.Get(path).WantError(apierr.CodeAuditCursorExpired, "")
	}

	w.Get(cursors[0]+"x").WantError(apierr.CodeBadRequest, "")
}

func TestTheExportHasTheEventsOfTheList(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")
	w.Put("/contacts/"+owner.String(), world.Object{"name": "Ada Lovelace", "email": "ada@example.com"}).Want(200)
	w.Listing("Cabin", owner)

	link := w.Get("/audit/events/csv?entityId=" + owner.String() + "&sort=recordedAt&columns=type,entityType,entity,changedKeys,syncId,importId,isOverride").Want(200).String("url")
	got := string(w.Get(strings.TrimPrefix(link, "http://127.0.0.1")).Want(200).Body)
	want := []string{"type,entityType,entity,changedKeys,syncId,importId,isOverride"}

	for _, e := range readAll(t, w.Team, "sort=recordedAt&entityId="+owner.String(), 50) {
		want = append(want, strings.Join([]string{e.Type, e.Entity.Type, e.Entity.Name, strings.Join(keys(e), " "), e.Source.SyncID, e.Source.ImportID, strconv.FormatBool(e.IsOverride)}, ","))
	}

	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(got, "\ufeff"), "\r", "")), "\n")
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Each type of records has a scope that credentials can hold: without one nobody would see its values.
func TestEveryRecordHasAScopeToReadIt(t *testing.T) {
	t.Parallel()

	for _, entity := range audit.Entity("").Enum() {
		if scope := trail.ReadScope(audit.Entity(entity)); !slices.Contains(access.Scopes(), scope) {
			t.Errorf("%s is read with the scope %q", entity, scope)
		}
	}
}
