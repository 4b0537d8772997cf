package export_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Thirty exports of one team are waited for and none ends; another team's is rendered at once, and the next place that
// gets free is a third team's.
func TestAwaitedExportsOfOneTeamDoNotHoldUpAnothers(t *testing.T) {
	t.Parallel()

	begun, end, one := make(chan id.ID, 100), make(chan struct{}), make(chan struct{})
	w := newWorld(t, export.Config{Limits: export.Limits{AtOnce: 2}}, probe(func(_ context.Context, tx *db.Tx, s *selection, _ *export.Sink) error {
		begun <- tx.Team

		if s.Word == "many" {
			select {
			case <-one:
			case <-end:
			}

			return nil
		}

		<-end

		return nil
	}))

	var asked sync.WaitGroup

	ask := func(x *apitest.Team, n int, word string) {
		for range n {
			asked.Go(func() {
				if got := x.Get("/probes/csv?word=" + word).Status; got != http.StatusOK {
					t.Errorf("an export of %s answered %d", word, got)
				}
			})
		}
	}
	next := func(want *apitest.Team) {
		t.Helper()

		select {
		case team := <-begun:
			if team != want.ID {
				t.Errorf("an export of another team began")
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("no export begins")
		}
	}
	second := apitest.New(t, apitest.Config{Endpoints: w.endpoints})
	third := apitest.New(t, apitest.Config{Endpoints: w.endpoints})
	release := sync.OnceFunc(func() { close(end) })

	defer asked.Wait()
	defer release()

	ask(w.Team, 30, "many")
	next(w.Team)
	next(w.Team)
	ask(second, 3, "second")
	next(second)
	ask(third, 3, "third")

	one <- struct{}{}

	next(third)
}

// A team that lets more than a hundred exports wait is refused the next, with a time to come back; no other team is.
func TestTooManyAwaitedExportsAreRefused(t *testing.T) {
	t.Parallel()

	begun, end := make(chan struct{}, 200), make(chan struct{})
	w := newWorld(t, export.Config{Limits: export.Limits{AtOnce: 1}}, probe(func(context.Context, *db.Tx, *selection, *export.Sink) error {
		begun <- struct{}{}

		<-end

		return nil
	}))
	other := apitest.New(t, apitest.Config{Endpoints: w.endpoints})

	var asked sync.WaitGroup

	release := sync.OnceFunc(func() { close(end) })

	defer asked.Wait()
	defer release()

	refused := make(chan *apitest.Response, 200)

	for range 102 { // one is rendered, a hundred wait
		asked.Go(func() {
			if got := w.Get("/probes/csv"); got.Status != http.StatusOK {
				refused <- got
			}
		})
	}

	select {
	case got := <-refused:
		if got.WantError(apierr.CodeServiceUnavailable, ""); got.Header.Get("Retry-After") == "" {
			t.Error("no time to come back")
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("none is refused")
	}

	<-begun
	asked.Go(func() { other.Get("/probes/csv").Want(http.StatusOK) })
	<-begun
	release()
	asked.Wait()

	if len(refused) != 0 {
		t.Errorf("%d more are refused", len(refused))
	}
}
