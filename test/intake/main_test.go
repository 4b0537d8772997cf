// Package intake_test takes in records from a source that lies in every way that sources do: late, twice, out of order,
// changed while it is read, gone, without its cursor, malformed.
package intake_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/intake"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

func TestMain(m *testing.M) {
	// The kill test runs this program as a worker.
	if url := os.Getenv(workerDatabase); url != "" {
		work(url)
	}

	apitest.Main(m)
}

type (
	object = world.Object
	array  = world.Array
)

// scene is a world with a connection that a lying source is behind.
type scene struct {
	*world.World
	villa      world.Listing
	source     *liar
	connection id.ID
}

// newScene returns a scene with a listing. The changes replace connections to the outside.
func newScene(t testing.TB, changes ...func(*app.External)) *scene {
	t.Helper()

	return newSceneIn(t, nil, changes...)
}

// newSceneIn returns a scene in a database of the test's own; nil is the package's.
func newSceneIn(t testing.TB, d *db.DB, changes ...func(*app.External)) *scene {
	t.Helper()

	source := newLiar()
	s := &scene{source: source}
	s.World = world.In(t, d, append([]func(*app.External){func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	}}, changes...)...)
	s.villa = s.Listing("Villa", s.Contact("owner", "Ada"))
	source.listing = s.villa.ID

	// Any connection will do: the source is ours.
	s.connection = s.Post("/connections", object{"appId": "nacha", "name": "Stays", "settings": object{
		"immediateDestination": "021000021", "immediateDestinationName": "First Bank", "immediateOrigin": "1234567890",
		"immediateOriginName": "Seaside", "companyName": "Seaside", "companyIdentification": "1234567890", "odfiRouting": "02100002",
	}}).Want(202).ID("resource.id")
	s.Outlast(nil)

	return s
}

// sync runs a sync to its end and returns it.
func (s *scene) sync(mode intake.Mode, change ...func(*intake.New)) *apitest.Response {
	s.T.Helper()

	n := intake.New{ConnectionID: s.connection, View: intake.Automate, Mode: mode, Trigger: intake.Manual}
	for _, f := range change {
		f(&n)
	}

	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := intake.Start(ctx, tx, n)
		return err
	})
	s.Outlast(nil)

	return s.latest()
}

// latest returns the sync that was queued last.
func (s *scene) latest() *apitest.Response {
	s.T.Helper()

	return s.Get("/syncs/" + s.Get("/syncs?limit=1&connectionIds="+s.connection.String()).Want(200).String("data.0.id")).Want(200)
}

// outcomes returns what became of the records of the latest sync, by external id.
func (s *scene) outcomes() map[string]string {
	s.T.Helper()

	var page struct {
		Data []struct {
			ExternalID, Outcome string
			Reason              *string
		}
	}

	s.Get("/syncs/" + s.latest().String("id") + "/items?limit=250").Want(200).Into(&page)

	out := map[string]string{}

	for _, it := range page.Data {
		if out[it.ExternalID] = it.Outcome; it.Reason != nil {
			out[it.ExternalID] += " " + *it.Reason
		}
	}

	return out
}

// stays returns the team's reservations by confirmation code, which the liar makes of its external ids.
func (s *scene) stays() map[string]stay {
	s.T.Helper()

	out, lines := map[string]stay{}, s.lines()

	for offset := 0; ; offset += 250 {
		var page struct {
			Data  []stay
			Total int
		}

		s.Get("/reservations?limit=250&sort=checkIn&offset=" + jsonText(offset)).Want(200).Into(&page)

		for _, r := range page.Data {
			r.Lines = lines[r.ID]

			if other, twice := out[r.ConfirmationCode]; twice {
				s.T.Errorf("%s is there twice: %v and %v", r.ConfirmationCode, other.ID, r.ID)
			}

			out[r.ConfirmationCode] = r
		}

		if len(page.Data) < 250 {
			return out
		}
	}
}

// lines returns the lines of all reservations.
func (s *scene) lines() map[id.ID][]line {
	s.T.Helper()

	type row struct {
		ReservationID id.ID
		Type          string
		Amount        int64
	}

	out := map[id.ID][]line{}

	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		rows, err := db.Select[row](ctx, tx, `select reservation_id, type, amount from reservation_line where team_id = @team order by position`, db.Args{"team": tx.Team})
		for _, r := range rows {
			out[r.ReservationID] = append(out[r.ReservationID], line{r.Type, r.Amount})
		}

		return err
	})

	return out
}

// stay is what is compared of a reservation.
type stay struct {
	ID               id.ID
	ConfirmationCode string
	Status           string
	GuestName        string
	CheckIn          string
	CheckOut         string
	Lines            []line
}

type line struct {
	Type   string `json:"type"`
	Amount int64  `json:"amount"`
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}

	return string(text)
}
