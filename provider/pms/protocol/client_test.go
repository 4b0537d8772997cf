package protocol_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
	sandbox "stayledger/provider/sandbox/pms"
)

const token = "our-token"

// world is a sandbox behind a loopback address, and a client of it.
type world struct {
	*sandbox.Server

	t      *testing.T
	url    string
	client *protocol.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()

	s, err := sandbox.New(sandbox.Config{Token: token, PageSize: 10, MessageEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(s)
	w := &world{Server: s, t: t, url: server.URL}
	w.client = w.open(pms.Options{})

	t.Cleanup(func() {
		s.Close()
		server.Close()
	})

	return w
}

// open makes a client of the sandbox.
func (w *world) open(o pms.Options) *protocol.Client {
	w.t.Helper()

	o.AllowPrivate = true

	client, err := protocol.New(json.RawMessage(fmt.Sprintf(`{"baseUrl":%q}`, w.url+"/")), json.RawMessage(`{"token":"`+token+`"}`), o)
	if err != nil {
		w.t.Fatal(err)
	}

	return client
}

// reading is what the pages of one reading have.
type reading struct {
	rows       []pms.Reservation
	unreadable []string
	pages      int
	mark       string
	complete   bool
}

// read reads all pages. It fails where a page fails.
func (w *world) read(q pms.Query) (reading, error) {
	w.t.Helper()

	var out reading

	for {
		p, err := w.client.Reservations(w.t.Context(), &q)
		if err != nil {
			return out, err
		}

		if out.pages++; out.pages > 100 {
			w.t.Fatal("the pages have no end")
		}

		out.rows = append(out.rows, p.Reservations...)
		for i := range p.Unreadable {
			out.unreadable = append(out.unreadable, p.Unreadable[i].ID)
		}

		out.complete = p.Complete

		if out.mark == "" {
			out.mark = p.Mark
		}

		if q.Page = p.Next; p.Next == "" {
			return out, nil
		}
	}
}

func TestTheClientReadsEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	if err := w.Generate(sandbox.Plan{Seed: 7, Listings: 12, Reservations: 95}); err != nil {
		t.Fatal(err)
	}

	got, err := w.read(pms.Query{})
	if err != nil || len(got.rows) != 95 || got.pages != 10 || !got.complete || got.mark == "" || len(got.unreadable) != 0 {
		t.Fatalf("%d rows on %d pages, complete %t, mark %q, unreadable %v, %v", len(got.rows), got.pages, got.complete, got.mark, got.unreadable, err)
	}

	listings := map[string]bool{}
	page := ""

	for {
		p, err := w.client.Listings(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}

		for _, l := range p.Listings {
			listings[l.ID] = true
		}

		if page = p.Next; page == "" {
			break
		}
	}

	if len(listings) != 12 {
		t.Errorf("%d listings", len(listings))
	}

	// The lines add up, and the stays are at listings that there are.
	for _, r := range got.rows {
		sum := *r.Total
		for _, line := range r.Lines {
			sum -= line.Amount
		}

		if sum != 0 || len(r.Lines) != 4 || !listings[r.ListingID] || r.Currency != "usd" || r.Status != pms.Booked {
			t.Errorf("%+v", r)
		}
	}
}
