package payout_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Whoever pays the same statements at the same time, as payment or as operation, pays them once between them; one that
// is reopened meanwhile is either paid or a draft.
func TestTheSameStatementsArePaidOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cabin := h.Listing("Cabin", h.ben)

	for round := range 6 {
		month := "2026-0" + strconv.Itoa(round+1)
		villa, cabin := h.earn(h.villa, month, 50000), h.earn(cabin, month, 10000)
		date := "2026-0" + strconv.Itoa(round+2) + "-05"

		var group sync.WaitGroup

		statuses := make([]int, 4)
		for i := range statuses {
			group.Go(func() {
				path, statements := "/statements/pay", []id.ID{villa, cabin}
				if i%2 == 1 {
					path, statements = "/statements/payouts?dryRun=false", []id.ID{cabin, villa}
				}

				statuses[i] = h.Post(path, body(date, statements...)).Status
			})
		}

		reopened := 0

		if round%2 == 1 {
			group.Go(func() {
				reopened = h.Call(http.MethodPut, "/statements/"+villa.String()+"?dryRun=false", object{"status": "inReview"}).Status
			})
		}

		group.Wait()
		h.Work()

		for i, status := range statuses {
			if status != http.StatusOK && status != http.StatusAccepted && status != http.StatusConflict && status != http.StatusBadRequest {
				t.Errorf("round %d: request %d answered %d", round, i, status)
			}
		}

		switch n, total := h.payouts(villa); {
		case reopened == http.StatusOK && n == 0:
			h.Put("/statements/"+villa.String(), object{"status": "published"}).Want(200)
			h.Post("/statements/pay", body(date, villa)).Want(200)
		case reopened != 0 && reopened != http.StatusOK && reopened != http.StatusConflict:
			t.Errorf("round %d: reopening answered %d", round, reopened)
		case n != 2 || round > 0 && total != 50000 || round == 0 && total != 30000:
			t.Errorf("round %d: %d payouts of %d", round, n, total)
		}

		if n, total := h.payouts(cabin); reopened == 0 && (n != 1 || total != 10000) {
			t.Errorf("round %d: the cabin has %d payouts of %d", round, n, total)
		} else if n == 0 {
			h.Post("/statements/pay", body(date, cabin)).Want(200)
		}
	}
}

// The same request under one key is carried out once.
func TestThePaymentOfAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	o := with(body("2026-02-05", january), object{"amounts": array{object{"statementId": january, "contactId": h.ada, "centTotal": 1000}}})

	first := h.Post("/statements/pay", o, "Idempotency-Key", "a").Want(200)
	if again := h.Post("/statements/pay", o, "Idempotency-Key", "a").Want(200); string(again.Body) != string(first.Body) {
		t.Errorf("answers differ: %s %s", first.Body, again.Body)
	}

	h.wantPayouts(january, 1, 1000)
	h.Post("/statements/pay", o, "Idempotency-Key", "b").Want(200)
	h.wantPayouts(january, 2, 2000)
}

// many makes published statements of as many listings with two owners each, and gives their ids.
func (h *house) many(n int) []id.ID {
	h.T.Helper()

	var (
		listings, periods, statements []id.ID
		refs                          []string
	)

	for range n {
		l, p := id.New(h.DB.Now()), id.New(h.DB.Now())
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s := id.Derive(at, "statement", p.String(), "usd")

		listings, periods, statements, refs = append(listings, l), append(periods, p), append(statements, s), append(refs, l.ShortRef())
	}

	args := func(a db.Args) db.Args {
		a["team"] = h.ID
		return a
	}

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		return tx.Pipeline(ctx,
			db.Stmt{
				SQL: `insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at)
				select @team, l, r, 'Unit ' || r, 'usd', now(), now() from unnest(@listings::uuid[], @refs::text[]) x (l, r)`,
				Args: args(db.Args{"listings": listings, "refs": refs}),
			},
			db.Stmt{
				SQL: `insert into listing_ownership_period (team_id, id, listing_id, created_at, updated_at)
				select @team, p, l, now(), now() from unnest(@periods::uuid[], @listings::uuid[]) x (p, l)`,
				Args: args(db.Args{"listings": listings, "periods": periods}),
			},
			db.Stmt{
				SQL: `insert into listing_ownership_member (team_id, period_id, position, contact_id, split)
				select @team, p, m.position, m.contact, m.split from unnest(@periods::uuid[]) p,
					(values (1, @ada::uuid, 60000), (2, @ben::uuid, 40000)) m (position, contact, split)`,
				Args: args(db.Args{"periods": periods, "ada": h.ada, "ben": h.ben}),
			},
			db.Stmt{
				SQL: `insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, party, listing_id,
					ownership_period_id, trigger_type, created_at)
				select @team, gen_random_uuid(), p, p::text, side.ref, 'trust', '2026-01-09', side.account, side.cents, 'usd', side.party,
					case when side.party is not null then l end, case when side.party is not null then p end, 'manual', now()
				from unnest(@periods::uuid[], @listings::uuid[]) x (p, l),
					(values ('a', @bank::uuid, 10001, null), ('b', @rent::uuid, -10001, 'owners')) side (ref, account, cents, party)`,
				Args: args(db.Args{"listings": listings, "periods": periods, "bank": h.Account("1000"), "rent": h.Account("4000")}),
			},
		)
	})
	h.Call(http.MethodPost, "/statements?dryRun=false", object{"month": "2026-01", "status": "published"}).Want(201)

	return statements
}

// Hundreds of statements are paid by one operation, all with one statement to the database each.
func TestManyStatements(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	statements := h.many(scale)
	started := time.Now()
	op := h.Call(http.MethodPost, "/statements/payouts?dryRun=false", body("2026-02-05", statements...)).Want(202).String("operationId")
	asked := time.Now()

	h.Work()

	worked := time.Now()
	r := h.Get("/operations/" + op + "/result").Want(200)

	t.Logf("%d statements: asked in %v, paid in %v, read in %v", scale, asked.Sub(started), worked.Sub(asked), time.Since(worked))

	if r.String("providerOperation.status") != "completed" || r.Len("results") != scale {
		t.Fatalf("operation %v", r.Value("providerOperation"))
	}

	for _, at := range []string{"results.0", "results." + strconv.Itoa(scale-1)} {
		wantEntry(t, r, at, isRecorded, 6001, 4000)
	}

	h.wantPayouts(statements[scale/2], 2, 10001)
}

const scale = 300

// Two statements of one ownership period that are paid at the same time pay the amount of the later one: it holds what
// the earlier one left.
func TestStatementsOfOneChainArePaidInTurn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january, february := h.earn(h.villa, "2026-01", 50000), h.earn(h.villa, "2026-02", 10000)

	var group sync.WaitGroup

	// Nothing can be booked on the listing until both requests have come as far as they can: the first has decided and
	// waits for the listing, the second waits for the first.
	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `select from listing where team_id = @team and id = @id for update`, db.Args{"team": tx.Team, "id": h.villa.ID})
		if err != nil {
			return err
		}

		for _, v := range []id.ID{january, february} {
			group.Go(func() {
				if got := h.Call(http.MethodPost, "/statements/pay", body("2026-06-05", v)); got.Status >= 300 {
					t.Errorf("%d %s", got.Status, got.Body)
				}
			})
		}

		return apitest.UntilWaiting(ctx, tx, 2)
	})
	group.Wait()

	_, first := h.payouts(january)
	if _, second := h.payouts(february); first+second != 40000 {
		t.Errorf("%d and %d are paid of 40000", first, second)
	}
}
