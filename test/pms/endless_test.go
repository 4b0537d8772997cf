package pms_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/record/intake"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/outbound"
	"stayledger/test/world"
)

// endless is a system of our own protocol whose lists have no end.
type endless struct {
	// listings and reservations are how many rows a page of them has; a list of no rows is empty and ends at once.
	listings, reservations int
	// lines are the lines of a stay, each with a description of 500 letters; 0 is one without.
	lines int
	// repeats says that each page has the rows of the first one.
	repeats bool
	// noNext ends both lists with their first page.
	noNext bool

	calls atomic.Int64
	// refuse is for how many seconds no call is taken; nil takes them.
	refuse  atomic.Pointer[string]
	refused atomic.Int64
	// at is called with the number of each call for a page.
	at func(call int64)
}

func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")

	if seconds := e.refuse.Load(); seconds != nil {
		e.calls.Add(1)
		e.refused.Add(1)
		w.Header().Set("Retry-After", *seconds)
		w.WriteHeader(http.StatusTooManyRequests)

		return
	}

	var (
		rows int
		row  string
	)

	switch r.URL.Path {
	case "/account":
		fmt.Fprint(w, `{"id": "A1", "name": "Endless"}`)
		return
	case "/webhook":
		w.WriteHeader(http.StatusNoContent)
		return
	case "/listings":
		rows, row = e.listings, `{"id": "L%d", "name": "House %d"}`
	case "/reservations":
		rows, row = e.reservations, `{"id": "R%d", "listingId": "L0", "status": "booked", "code": "C%d", "checkIn": "2026-01-05", "checkOut": "2026-01-08",
			"currency": "usd", "total": "100", "lines": [{"type": "rent", "amount": "100"}`+strings.Repeat(longLine, e.lines)+`]}`
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}

	if call := e.calls.Add(1); e.at != nil {
		e.at(call)
	}

	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	first := page * rows

	if e.repeats {
		first = 0
	}

	list := make([]string, rows)
	for i := range list {
		list[i] = fmt.Sprintf(row, first+i, first+i)
	}

	next := strconv.Itoa(page + 1)
	if rows == 0 || e.noNext {
		next = ""
	}

	fmt.Fprintf(w, `{%q: [%s], "next": %q, "complete": true}`, r.URL.Path[1:], strings.Join(list, ","), next)
}

// longLine is a further line of a stay.
var longLine = `, {"type": "guestFee", "amount": "0", "description": "` + strings.Repeat("x", 500) + `"}`

// begin returns a team with a connection to the system, and the operation that connects it.
func (e *endless) begin(t testing.TB, changes ...func(*app.External)) (s *scene, operation string) {
	t.Helper()

	server := httptest.NewServer(e)
	t.Cleanup(server.Close)

	s = &scene{World: world.In(t, nil, changes...), url: server.URL}
	ack := s.Post("/connections", object{
		"appId": "pmsProtocol", "name": "Rentals", "settings": object{"baseUrl": s.url}, "credentials": object{"token": token},
	}).Want(202)
	s.connection = ack.ID("resource.id")

	return s, ack.String("operationId")
}

// Listings without an end stop the attempt to connect, whatever size the pages have, and the connection says why. Nothing
// of it is left for a later attempt that works.
func TestListingsWithoutAnEndAreNotConnected(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		system *endless
		pages  int64
	}{
		"long pages":              {&endless{listings: 1000}, 21},
		"pages of one listing":    {&endless{listings: 1}, 2001},
		"the same page for ever":  {&endless{listings: 5, repeats: true}, 2001},
		"just as many as allowed": {&endless{listings: 1000}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			e := c.system
			if name == "just as many as allowed" {
				e.at = func(call int64) { e.noNext = call >= 20 }
			}

			s, operation := e.begin(t)
			s.Outlast(nil)

			if got := e.calls.Load(); got != c.pages {
				t.Errorf("%d pages were asked for, want %d", got, c.pages)
			}

			got := s.Get(s.path("")).Want(200)

			if e.noNext {
				if got.String("status") != "active" || got.Len("issues") != 0 {
					t.Errorf("the connection is %s", got.Body)
				}

				return
			}

			if got.String("status") != "disabled" || got.String("issues.0.code") != "connectFailed" || got.String("issues.0.context.error") != "tooManyRecords" {
				t.Errorf("the connection is %s", got.Body)
			}

			if got := s.Get("/operations/" + operation).Want(200); got.String("status") != "failed" {
				t.Errorf("the operation is %s", got.Body)
			}

			if got := s.Get("/teams/issues").Want(200); got.String("data.0.code") != "connectFailed" || got.String("data.0.context.error") != "tooManyRecords" ||
				got.ID("data.0.entityId") != s.connection {
				t.Errorf("the issues of the team are %s", got.Body)
			}

			// The system is mended, and has one listing.
			e.listings, e.repeats, e.noNext = 1, false, true

			s.Post(s.path("/connect"), nil).Want(202)
			s.Outlast(nil)

			if got := s.Get(s.path("")).Want(200); got.String("status") != "active" || got.Len("issues") != 0 {
				t.Errorf("the connection is %s", got.Body)
			}

			if got := s.Get(s.path("/listing-mappings")).Want(200); got.Len("data") != 1 {
				t.Errorf("listings of earlier attempts are left: %.300s", got.Body)
			}
		})
	}
}

// Reservations without an end stop a sync, and the connection says why; so do listings that are read again. The sync
// begins a few pages before the bound.
func TestRecordsWithoutAnEndEndASync(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		system   *endless
		progress string
	}{
		"pages of reservations": {&endless{reservations: 1, repeats: true}, `{"step": 3, "pages": 9990, "rows": 9990}`},
		"reservations":          {&endless{reservations: 10, repeats: true}, `{"step": 3, "pages": 600, "rows": 499900}`},
		"pages of listings":     {&endless{listings: 1, repeats: true}, `{"step": 2, "pages": 1990, "rows": 1990}`},
		"listings":              {&endless{listings: 10, repeats: true}, `{"step": 2, "pages": 30, "rows": 19900}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			e := c.system
			s := e.connected(t)

			s.Tx(func(ctx context.Context, tx *db.Tx) error {
				_, err := intake.Start(ctx, tx, intake.New{ConnectionID: s.connection, View: intake.Automate, Mode: intake.Full, Trigger: intake.Manual})
				if err != nil {
					return err
				}

				_, err = tx.Exec(ctx, `update sync set progress = @progress::jsonb where team_id = @team`, db.Args{"team": tx.Team, "progress": c.progress})

				return err
			})
			s.Outlast(nil)

			if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "failed" || got.String("data.0.error.code") != "tooManyRecords" {
				t.Errorf("the sync is %s", got.Body)
			}

			// A further page may be asked for while one is taken in.
			if got := e.calls.Load(); got != 11 && got != 12 {
				t.Errorf("%d pages were asked for", got)
			}

			got := s.Get(s.path("")).Want(200)
			if got.String("issues.0.code") != "syncFailed" || got.String("issues.0.context.error") != "tooManyRecords" {
				t.Errorf("the connection is %s", got.Body)
			}
		})
	}
}

// connected returns a team that was connected to the system while that had an end. Calls count from then on.
func (e *endless) connected(t testing.TB, changes ...func(*app.External)) *scene {
	t.Helper()

	rows := e.listings
	e.listings, e.noNext = min(rows, 1), true
	s, _ := e.begin(t, changes...)
	s.Outlast(nil)

	e.listings, e.noNext = rows, false
	e.calls.Store(0)

	return s
}

// extracting starts a file of the system.
func (e *endless) extracting(t *testing.T, extractor string, changes ...func(*app.External)) (s *scene, operation string) {
	t.Helper()

	s = e.connected(t, changes...)

	return s, s.Post("/connections/extract", object{"connectionId": s.connection, "extractor": extractor}).Want(202).String("operationId")
}

// Files have a bound of pages and of records. Nothing of a file that ends there is kept.
func TestAFileWithoutAnEndEnds(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		system    *endless
		extractor string
		pages     int64
	}{
		"reservations":          {&endless{reservations: 1000}, "reservations", 501},
		"pages of reservations": {&endless{reservations: 1}, "reservationLines", 10_001},
		"listings":              {&endless{listings: 1000}, "listings", 21},
		// A line has 560 bytes in the file, so a page has 5.6 MB and the forty-eighth is beyond 256 MiB.
		"bytes": {&endless{reservations: 1000, lines: 10}, "reservationLines", 48},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			e := c.system
			s, operation := e.extracting(t, c.extractor)
			s.Outlast(nil)

			if got := e.calls.Load(); got != c.pages {
				t.Errorf("%d pages were asked for, want %d", got, c.pages)
			}

			if got := s.Get("/operations/" + operation).Want(200); got.String("status") != "failed" || got.Len("resources") != 1 {
				t.Errorf("the operation is %s", got.Body)
			}

			if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "failed" || got.String("data.0.error.code") != "tooManyRecords" {
				t.Errorf("the sync is %s", got.Body)
			}
		})
	}
}

// A file that is canceled asks for no further page.
func TestACanceledFileStops(t *testing.T) {
	t.Parallel()

	reached := make(chan struct{})
	goOn := make(chan struct{})
	e := &endless{reservations: 10}
	e.at = func(call int64) {
		if call == 5 && !e.noNext {
			close(reached)
			<-goOn
		}
	}

	s, operation := e.extracting(t, "reservations")
	left := make(chan struct{})

	go func() { defer close(left); s.Outlast(nil) }()

	apitest.Receive(t, reached)
	s.Post("/syncs/"+s.Get("/syncs?limit=1").Want(200).String("data.0.id")+"/cancel", nil).Want(200)
	close(goOn)
	apitest.Receive(t, left)

	if got := e.calls.Load(); got != 5 {
		t.Errorf("%d pages were asked for", got)
	}

	if got := s.Get("/operations/" + operation).Want(200); got.String("status") != "failed" || got.String("failure") != "null" {
		t.Errorf("the operation is %s", got.Body)
	}
}

// fullStore is a store on a disk that is full for a while.
type fullStore struct {
	blob.Store

	full atomic.Bool
}

type fullWriter struct {
	blob.Writer

	store *fullStore
}

func (s *fullStore) Create(ctx context.Context, key string) (blob.Writer, error) {
	w, err := s.Store.Create(ctx, key)
	return fullWriter{w, s}, err
}

func (w fullWriter) Commit() (blob.Info, error) {
	if w.store.full.Load() {
		return blob.Info{}, errors.New("no space left on device")
	}

	return w.Writer.Commit()
}

// A full disk is no fault of the system: the file is tried again, the sync says meanwhile that the failure is ours, and
// it is made once there is room.
func TestAFileIsMadeOnceTheDiskHasRoom(t *testing.T) {
	t.Parallel()

	kept, err := blob.Local(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	store := &fullStore{Store: kept}
	e := &endless{reservations: 10, at: func(int64) {}}
	s, operation := e.extracting(t, "reservations", func(o *app.External) { o.Store = store })
	e.noNext = true

	store.full.Store(true)

	// Other work is given up within a minute.
	s.Outlast(func(passed time.Duration) {
		if passed < time.Hour || !store.full.Load() {
			return
		}

		if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "started" || got.String("data.0.error.code") != "internal" {
			t.Errorf("the sync is %s", got.Body)
		}

		store.full.Store(false)
	})

	if got := s.Get("/operations/" + operation).Want(200); got.String("status") != "completed" || got.Len("resources") != 2 {
		t.Errorf("the operation is %s", got.Body)
	}

	if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "completed" || got.String("data.0.error") != "null" {
		t.Errorf("the sync is %s", got.Body)
	}
}

// The bounds of what is read of a list hold for its pages and for its rows.
func TestAReadingEnds(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ pages, rows, perPage, want int }{{3, 100, 1, 3}, {100, 10, 3, 3}, {1, 0, 0, 1}} {
		left, taken := outbound.Reading{Pages: c.pages, Rows: c.rows}, 0
		for left.Take(c.perPage) == nil {
			taken++
		}

		if taken != c.want {
			t.Errorf("%+v: %d pages", c, taken)
		}
	}
}

// A system without a lookup is read whole for the records that it has named, up to the same bounds.
func TestALookupWithoutAnEndEnds(t *testing.T) {
	t.Parallel()

	for kind, c := range map[string]struct {
		system *endless
		pages  int64
	}{
		"reservation": {&endless{reservations: 1000}, 501},
		"listing":     {&endless{listings: 1000}, 21},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()

			e := c.system
			s := e.connected(t)

			s.Tx(func(ctx context.Context, tx *db.Tx) error {
				return intake.Hint(ctx, tx, s.connection, kind, []string{"none"})
			})
			s.Outlast(nil)

			if got := e.calls.Load(); got != c.pages {
				t.Errorf("%d pages were asked for, want %d", got, c.pages)
			}

			if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "failed" || got.String("data.0.error.code") != "tooManyRecords" {
				t.Errorf("the sync is %s", got.Body)
			}
		})
	}
}
