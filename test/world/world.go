// Package world gives tests a whole team behind the whole service: people, listings, stays and money are made through
// the API.
package world

import (
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/test/fixture"
)

type (
	// Object is a JSON object.
	Object = fixture.Object
	// Array is a JSON array.
	Array = fixture.Array
)

// Keys are the secret keys of every world.
var Keys = []byte("test keys of at least 32 bytes, not for use")

// World is a fresh team with the standard chart, the layouts of the standard and a caller who may do everything. Its
// first statement month is January 2026.
type World struct {
	*apitest.Team
	T        testing.TB
	Box      *seal.Box
	Parts    parts.Part // the service, as it is assembled for the team
	accounts map[string]id.ID
}

// Listing is a property with its only ownership period.
type Listing struct{ ID, Period id.ID }

// New returns a world: a team with the standard chart and all endpoints. The changes replace connections to the
// outside.
func New(t testing.TB, changes ...func(*app.External)) *World {
	t.Helper()

	return In(t, nil, changes...)
}

// In returns a world in a database of the test's own; nil is the package's.
func In(t testing.TB, d *db.DB, changes ...func(*app.External)) *World {
	t.Helper()

	store, err := blob.Local(filepath.Join(t.TempDir(), "files"))
	if err != nil {
		t.Fatal(err)
	}

	signer, err := blob.NewSigner(Keys)
	if err != nil {
		t.Fatal(err)
	}

	box, err := seal.New(Keys)
	if err != nil {
		t.Fatal(err)
	}

	o := app.External{Store: store, Signer: signer, Box: box}
	for _, f := range changes {
		f(&o)
	}

	// The service as it is assembled, for one team.
	all := app.Parts(o, app.Config{PublicURL: "http://127.0.0.1", LocalProviders: true})
	w := &World{
		T:     t,
		Box:   box,
		Parts: all,
		Team: apitest.New(t, apitest.Config{
			Endpoints: all.Endpoints, Handlers: all.Handlers, Scopes: access.Scopes(), Audit: audit.Record, DB: d,
		}),
	}
	w.Patch("/teams/"+w.ID.String()+"/init", Object{}).Want(200)
	w.accounts = map[string]id.ID{}

	// Tests name accounts by their codes.
	var chart struct {
		Data []struct {
			ID   id.ID
			Code string
		}
	}
	w.Get("/accounts?limit=250").Want(200).Into(&chart)

	for _, a := range chart.Data {
		w.accounts[a.Code] = a.ID
	}

	return w
}

// RunTask runs a periodic task of the service once, for all teams of the database. It panics if there is no such task.
func (w *World) RunTask(name string) error {
	i := slices.IndexFunc(w.Parts.Every, func(e job.Every) bool { return e.Name == name })

	return w.Parts.Every[i].Do(w.T.Context(), w.DB)
}

// Account returns the account of the standard chart with a code, such as 1000 for the trust bank.
func (w *World) Account(code string) id.ID {
	w.T.Helper()

	a, ok := w.accounts[code]
	if !ok {
		w.T.Fatalf("no account %s", code)
	}

	return a
}

// Contact adds an owner or a vendor, with an e-mail address.
func (w *World) Contact(kind, name string) id.ID {
	w.T.Helper()

	return w.Post("/contacts", Object{
		"type":  kind,
		"name":  name,
		"email": url.PathEscape(name) + "@example.com",
	}).Want(201).ID("id")
}

// Listing adds a property owned by contacts in equal parts from the beginning; the first gets the remainder.
func (w *World) Listing(name string, owners ...id.ID) Listing {
	w.T.Helper()

	members, part := Array{}, int64(100000/len(owners))
	for i, o := range owners {
		split := part
		if i == 0 {
			split = 100000 - part*int64(len(owners)-1)
		}

		members = append(members, Object{"contactId": o, "split": split})
	}

	l := Listing{ID: w.Post("/listings", Object{
		"name":             name,
		"initialOwnership": Object{"members": members},
	}).Want(201).ID("id")}
	l.Period = w.Get("/listings/ownership-periods?listingIds=" + l.ID.String()).Want(200).ID("data.0.id")

	return l
}

// Stay books one night from a day on, for rent in cents that belong to the owners on that day, and pays it into the
// trust bank on the same day.
func (w *World) Stay(l Listing, date string, cents int64) id.ID {
	w.T.Helper()

	year, month, day := date[:4], date[5:7], date[8:]

	n, err := strconv.Atoi(day)
	if err != nil || n >= 28 {
		w.T.Fatalf("a stay of a night cannot start on %s", date)
	}

	stay := w.Post("/reservations", Object{
		"listingId": l.ID,
		"checkIn":   date,
		"checkOut":  year + "-" + month + "-" + strconv.Itoa(n + 101)[1:],
		"bookedAt":  date,
		"lines":     Array{Object{"type": "rent", "amount": cents}},
	}).Want(201).ID("id")
	w.Post("/transactions", Object{
		"type":  "deposit",
		"date":  date,
		"lines": Array{Object{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay}},
	}).Want(201)

	return stay
}

// Expense books a cost of a listing's owners, paid from the trust bank at once.
func (w *World) Expense(l Listing, date string, cents int64) id.ID {
	w.T.Helper()

	return w.Post("/transactions", Object{
		"type":      "expense",
		"date":      date,
		"accountId": w.Account("1000"),
		"lines":     Array{Object{"accountId": w.Account("5200"), "amount": cents, "listingId": l.ID}},
	}).Want(201).ID("id")
}

// Statement returns the id of the statement of a listing's month, saved or draft.
func (w *World) Statement(l Listing, month string) id.ID {
	w.T.Helper()
	return w.Get("/statements?month=" + month + "&listingIds=" + l.ID.String()).Want(200).ID("data.0.id")
}

// Publish publishes the statements of a month for listings, all when none is named.
func (w *World) Publish(month string, listings ...Listing) {
	w.T.Helper()

	body := Object{"month": month, "status": "published"}

	if len(listings) > 0 {
		periods := Array{}
		for _, l := range listings {
			periods = append(periods, l.Period)
		}

		body["listingPeriodIds"] = periods
	}

	w.Post("/statements", body).Want(201)
}
