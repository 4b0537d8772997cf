package ownerrez_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/ownerrez"
	sandbox "stayledger/provider/sandbox/ownerrez"
)

const (
	email     = "ada@example.com"
	token     = "pt_ours"
	clientID  = "c_ours"
	clientKey = "s_ours"
)

// world is a sandbox behind a loopback address, and a client of it.
type world struct {
	*sandbox.Server

	t      *testing.T
	url    string
	client *ownerrez.Client
	app    *ownerrez.App
}

func newWorld(t *testing.T) *world {
	t.Helper()

	s, err := sandbox.New(sandbox.Config{
		Email: email, Token: token, ClientID: clientID, ClientSecret: clientKey, AccountID: "77", PageSize: 10, MessageEvery: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(s)
	w := &world{Server: s, t: t, url: server.URL}

	if w.app, err = ownerrez.NewApp(clientID, clientKey, server.URL, pms.Options{AllowPrivate: true}); err != nil {
		t.Fatal(err)
	}

	w.client = w.open(`{"email":"` + email + `","token":"` + token + `"}`)

	t.Cleanup(func() {
		s.Close()
		server.Close()
	})

	return w
}

// open makes a client of the sandbox.
func (w *world) open(credentials string) *ownerrez.Client {
	w.t.Helper()

	client, err := ownerrez.New(json.RawMessage(fmt.Sprintf(`{"baseUrl":%q}`, w.url+"/v2/")), json.RawMessage(credentials),
		w.app, &pms.MemoryTokens{}, pms.Options{AllowPrivate: true})
	if err != nil {
		w.t.Fatal(err)
	}

	return client
}

// fill adds properties and bookings.
func (w *world) fill(properties, bookings int) {
	w.t.Helper()

	if err := w.Generate(sandbox.Plan{Seed: 7, Properties: properties, Bookings: bookings}); err != nil {
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

// stay returns a booking as the system has it, with some members changed.
func stay(id int, changes sandbox.Object) sandbox.Object {
	out := sandbox.Object{
		"id": id, "property_id": 40001, "type": "booking", "is_block": false, "status": "active", "listing_site": "Airbnb",
		"platform_reservation_number": "HMABC", "platform_email_address": "ada@example.com", "adults": 2, "children": 1,
		"guest":   sandbox.Object{"id": 5, "first_name": "Ada", "last_name": "Lovelace"},
		"arrival": "2026-03-01", "departure": "2026-03-05", "check_in": "16:00", "booked_utc": "2026-01-10T09:00:00Z",
		"currency_code": "USD", "total_amount": 100, "updated_utc": "2026-01-11T10:30:00Z",
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
