package reservation_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Changes of one reservation, and of its neighbours on the listing, take turns: none fails, and the journal is that of
// the last one.
func TestConcurrentChangesTakeTurns(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee()).Want(201)
	first := b.Post("/reservations", b.stay()).Want(201).String("id")
	second := b.Post("/reservations", b.stay()).Want(201).String("id")
	paths := []string{"/reservations/" + first, "/reservations/" + second, "/reservations"}

	var wait sync.WaitGroup
	for i := range 24 {
		wait.Go(func() {
			// The harness would send a dry run first and compare the whole team, which the others are changing.
			method, body := http.MethodPut, map[string]any{"lines": []any{map[string]any{"type": "rent", "amount": 1_000 + i}}}

			path := paths[i%len(paths)]
			if path == "/reservations" {
				method, body = http.MethodPost, b.stay("checkIn", "2026-01-"+strconv.Itoa(10+i%10))
			}

			if got := b.Call(method, path+"?dryRun=false", body); got.Status >= 300 {
				t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
			}
		})
	}

	wait.Wait()

	for _, path := range paths[:2] {
		got := b.Get(path).Want(200)

		var owed int64

		b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			owed, err = db.Get[int64](ctx, tx, `select sum(cent_total)::bigint from ledger_entry where team_id = @team and source_id = @id and ref = 'guest'`,
				db.Args{"team": tx.Team, "id": got.ID("id")})

			return err
		})

		if total := got.Int("financials.total"); owed != total {
			t.Errorf("the journal shows %d, the reservation %d", owed, total)
		}
	}
}

// A change of the mappings waits for the derivations that have read them, so that none of them escapes it.
func TestMappingChangesWaitForDerivations(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	r := b.Post("/reservations", b.rent("one", 100)).Want(201)
	rent := b.Get(mappings + "?lineType=rent").Want(200).String("data.0.id")
	account := b.account("4020")
	changed := make(chan int, 1)

	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := reservation.Refresh(ctx, tx, []id.ID{r.ID("id")}, ledger.Lenience{}); err != nil {
			return err
		}

		go func() {
			changed <- b.Call(http.MethodPut, mappings+"/"+rent, object{"accountId": account}).Status
		}()

		return apitest.UntilWaiting(ctx, tx, 1)
	})

	if status := <-changed; status != http.StatusOK {
		t.Errorf("the change that waited answered %d", status)
	}
}

// An adjustment for a recurring fee waits for a change of the fee that is under way, and so has the fee's new accounts.
func TestAdjustmentsWaitForTheirFee(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	path := "/reservations/" + b.Post("/reservations", b.rent("one", 100)).Want(201).String("id") + "/adjustments"
	managed := b.Post("/recurring-fees", b.fee("listingSubscriptions", []any{})).Want(201).ID("id")
	made := make(chan int, 1)

	alone := b.Scope()
	alone.Exclusive = true

	err := b.DB.Write(t.Context(), alone, apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update fee set credit_account_id = debit_account_id where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": managed})
		if err != nil {
			return err
		}

		go func() {
			made <- b.Call(http.MethodPost, path+"?dryRun=false", object{"amount": 7, "recurringFeeId": managed}).Status
		}()

		return apitest.UntilWaiting(ctx, tx, 1)
	}))
	if err != nil {
		t.Fatal("the adjustment did not wait: ", err)
	}

	if status := <-made; status != http.StatusCreated {
		t.Errorf("the adjustment that waited answered %d", status)
	}

	b.wantEntries("2026-01-29 2000 100", "2026-01-29 4000o -100", "2026-01-29 5100o 7", "2026-01-29 5100m -7")
}
