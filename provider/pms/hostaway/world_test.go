package hostaway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/hostaway"
	sandbox "stayledger/provider/sandbox/hostaway"
)

const (
	account = "28673"
	apiKey  = "our-key"
)

// world is a sandbox behind a loopback address, and a client of it.
type world struct {
	*sandbox.Server

	t      *testing.T
	url    string
	tokens pms.MemoryTokens
	client *hostaway.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()

	s, err := sandbox.New(sandbox.Config{AccountID: account, APIKey: apiKey, PageSize: 10, MessageEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(s)
	w := &world{Server: s, t: t, url: server.URL}
	w.client = w.open(pms.Options{})
	w.client.Settle(0)

	t.Cleanup(func() {
		s.Close()
		server.Close()
	})

	return w
}

// open makes a client of the sandbox.
func (w *world) open(o pms.Options) *hostaway.Client {
	w.t.Helper()

	o.AllowPrivate = true

	client, err := hostaway.New(json.RawMessage(fmt.Sprintf(`{"baseUrl":%q}`, w.url+"/v1/")),
		json.RawMessage(`{"accountId":"`+account+`","apiKey":"`+apiKey+`"}`), o, &w.tokens)
	if err != nil {
		w.t.Fatal(err)
	}

	return client
}

// fill adds listings and reservations.
func (w *world) fill(listings, reservations int) {
	w.t.Helper()

	if err := w.Generate(sandbox.Plan{Seed: 7, Listings: listings, Reservations: reservations}); err != nil {
		w.t.Fatal(err)
	}
}

// reading is what the pages of one reading have.
type reading struct {
	rows       map[string]pms.Reservation
	unreadable []string
	pages      int
	mark       string
	complete   bool
}

// read reads all pages. It fails where a page fails.
func (w *world) read(q pms.Query) (reading, error) {
	w.t.Helper()

	out := reading{rows: map[string]pms.Reservation{}}

	for {
		p, err := w.client.Reservations(w.t.Context(), &q)
		if err != nil {
			return out, err
		}

		out.pages++
		for i := range p.Unreadable {
			out.unreadable = append(out.unreadable, p.Unreadable[i].ID)
		}

		out.complete = p.Complete

		for _, r := range p.Reservations {
			out.rows[r.ID] = r
		}

		if out.mark == "" {
			out.mark = p.Mark
		}

		if q.Page = p.Next; p.Next == "" {
			return out, nil
		}
	}
}

// listings reads all pages of listings.
func (w *world) listings() map[string]pms.Listing {
	w.t.Helper()

	out := map[string]pms.Listing{}

	for page, more := "", true; more; more = page != "" {
		p, err := w.client.Listings(w.t.Context(), page)
		if err != nil {
			w.t.Fatal(err)
		}

		for _, l := range p.Listings {
			out[l.ID] = l
		}

		page = p.Next
	}

	return out
}

// stay returns a reservation as the system has it, with some members changed.
func stay(id int, changes sandbox.Object) sandbox.Object {
	out := sandbox.Object{
		"id": id, "listingMapId": 40160, "channelId": 2018, "channelName": "airbnbOfficial", "status": "new",
		"confirmationCode": "HMABC", "guestName": "Ada Lovelace", "guestEmail": "ada@example.com", "phone": "+12025550100",
		"numberOfGuests": 2, "arrivalDate": "2026-03-01", "departureDate": "2026-03-05", "isDatesUnspecified": 0,
		"reservationDate": "2026-01-10 09:00:00", "currency": "USD", "totalPrice": 100,
		"updatedOn": "2026-01-11 10:30:00", "latestActivityOn": "2026-01-11 10:30:00",
	}

	maps.Copy(out, changes)

	return out
}

// compare fails the test unless two values are equal, and shows both as JSON.
func compare(t *testing.T, got, want any) {
	t.Helper()

	if !reflect.DeepEqual(got, want) {
		g, _ := json.MarshalIndent(got, "", " ")
		w, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("got %s\nwant %s", g, w)
	}
}
