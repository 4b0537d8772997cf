package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// loadCurrency reads the only reference data of these tests: the team's currency.
func loadCurrency(ctx context.Context, tx *db.Tx) (string, int64, error) {
	type row struct {
		DefaultCurrency  string
		ReferenceVersion int64
	}

	r, err := db.Get[row](ctx, tx, `select default_currency, reference_version from team where team_id = @team`, db.Args{"team": tx.Team})

	return r.DefaultCurrency, r.ReferenceVersion, err
}

// Two references stand for two processes; 24 workers change the data, read it, undo changes and look again in the same
// transaction. What a reference gives is always what the row says.
func TestReferencesAreNeverOutOfDate(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})
	processes := []*db.Reference[string]{db.NewReference(loadCurrency), db.NewReference(loadCurrency)}

	// checked compares what the reference of a process gives with the row, as the transaction sees both.
	checked := func(ctx context.Context, tx *db.Tx, process int) error {
		got, err := processes[process].Load(ctx, tx)
		if err != nil {
			return err
		}

		want, err := db.Get[string](ctx, tx, `select default_currency from team where team_id = @team`, db.Args{"team": tx.Team})
		if err == nil && got != want {
			err = fmt.Errorf("the reference of process %d gives %q, the team has %q", process, got, want)
		}

		return err
	}
	change := func(ctx context.Context, tx *db.Tx, to string) error {
		_, err := tx.Exec(ctx, `update team set default_currency = @to where id = @team`, db.Args{"team": tx.Team, "to": to})
		return err
	}

	const seed = 62

	t.Log("seed", seed)

	var workers sync.WaitGroup
	for worker := range 24 {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			for step := range 25 {
				process, to, end := random.IntN(2), fmt.Sprintf("c%02d%d", worker, step), random.IntN(4)

				scope := x.Scope()
				scope.Exclusive = true

				err := x.DB.Write(t.Context(), scope, func(ctx context.Context, tx *db.Tx) error {
					if err := checked(ctx, tx, process); err != nil {
						return err
					}

					undone := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
						if err := errors.Join(change(ctx, tx, "try"), checked(ctx, tx, process)); err != nil || end == 0 {
							return err
						}

						return errOurs
					})
					if undone != nil && !errors.Is(undone, errOurs) {
						return undone
					}

					if err := errors.Join(checked(ctx, tx, process), change(ctx, tx, to), checked(ctx, tx, 1-process)); err != nil || end > 1 {
						return err
					}

					return errOurs // rolled back, with a version that nobody sees again
				})
				if err != nil && !errors.Is(err, errOurs) {
					t.Error(err)
				}

				for _, read := range []func(context.Context, db.Scope, db.Work) error{x.DB.ReadOne, x.DB.Read, x.DB.Write, x.DB.DryRun} {
					if err := read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error { return checked(ctx, tx, process) }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}

	workers.Wait()
}

// A write finds the version at its gate, also while it waits for the round trip of other work, and a read in a statement
// that it sends anyway. Neither loads again what the process has.
func TestAReferenceLoadsAVersionOnce(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})
	loads, currency := 0, db.NewReference(loadCurrency)
	counting := db.NewReference(func(ctx context.Context, tx *db.Tx) (string, int64, error) {
		loads++
		return loadCurrency(ctx, tx)
	})

	for range 3 {
		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			var a, b string

			return tx.Together(ctx, db.Load(&a, counting.Load), db.Load(&b, currency.Load), db.Send(db.Stmt{SQL: `select 1`}))
		})
		if err != nil {
			t.Fatal(err)
		}

		err = x.DB.ReadOne(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			version, err := db.Get[int64](ctx, tx, `select `+db.VersionSQL, db.Args{"team": tx.Team})
			if err != nil {
				return err
			}

			tx.SeeVersion(version)

			_, err = counting.Load(ctx, tx)

			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	if loads != 1 {
		t.Errorf("the data of one version was loaded %d times", loads)
	}
}

// Several works of a read that need reference data ask for the version once.
func TestAReadAsksForTheVersionOnce(t *testing.T) {
	t.Parallel()

	type answer struct {
		First  string `json:"first"`
		Second string `json:"second"`
	}

	first, second := db.NewReference(loadCurrency), db.NewReference(loadCurrency)
	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: []api.Endpoint{api.Read(
		api.Endpoint{Method: "GET", Path: "/currencies", ID: "listCurrencies", Tag: "Test", Summary: "Read twice", Scopes: []string{"test:read"}},
		func(ctx context.Context, tx *db.Tx, _ *struct{}) (*answer, error) {
			var out answer

			return &out, tx.Together(ctx, db.Load(&out.First, first.Load), func(ctx context.Context, tx *db.Tx) error {
				return tx.Together(ctx, db.Load(&out.Second, second.Load))
			})
		})}})

	x.Get("/currencies").Want(200) // loads both

	r := x.Get("/currencies").Want(200)
	if n := len(r.Sent.Statements); n != 3 || r.String("first") != "usd" || r.String("second") != "usd" {
		t.Errorf("a read with two references sent %d statements, want begin, the settings and one question: %q", n, r.Sent.Statements)
	}
}

// Work that refuses something because of data that is out of date is run again with what the team has.
func TestWhatAnOldVersionRefusesIsTriedAgain(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})
	currency, runs := db.NewReference(loadCurrency), 0
	refuse := func(wanted string) error {
		return x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			runs++

			got, err := currency.Load(ctx, tx)
			if err == nil && got != wanted {
				err = errOurs
			}

			return err
		})
	}

	var before string

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		before, err = currency.Load(ctx, tx)
		return err
	})
	x.Exec(`update team set default_currency = 'eur' where id = @team`, nil)

	if err := refuse("eur"); err != nil || runs != 2 {
		t.Errorf("a write with another currency than that of the process: %v after %d runs", err, runs)
	}

	if err := refuse(before); !errors.Is(err, errOurs) {
		t.Errorf("a write with a former currency: %v", err)
	}
}

// The tables that the service takes for reference data are those with triggers that raise the version, and nothing else
// changes them: no key of another table that changes rows along with its own, and no function but those of the triggers.
func TestReferenceTablesRaiseTheVersion(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})

	var raising, along, functions []string

	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		raising, err = db.Select[string](ctx, tx, `select distinct t.tgrelid::regclass::text from pg_trigger t join pg_proc p on p.oid = t.tgfoid
			where p.proname in ('team_settings_changed', 'reference_rows_changed', 'reference_row_changed') order by 1`, nil)
		if err != nil {
			return err
		}

		// The transaction of an opening balance is no reference data.
		along, err = db.Select[string](ctx, tx, `select conname::text from pg_constraint where contype = 'f' and conname <> 'account_banking_opening_transaction' and (confdeltype not in ('a', 'r') or confupdtype not in ('a', 'r'))
			and conrelid::regclass::text = any(@tables) and not confrelid::regclass::text = any(@tables)`, db.Args{"tables": raising})
		if err != nil {
			return err
		}

		functions, err = db.Select[string](ctx, tx, `select prosrc from pg_proc where pronamespace = 'public'::regnamespace
			and proname not in ('team_settings_changed', 'reference_rows_changed', 'reference_row_changed')`, nil)

		return err
	})

	if got, want := db.ReferenceTables, strings.Join(raising, "|"); got != want {
		t.Errorf("the tables of reference data are %s, those with triggers %s", got, want)
	}

	if len(along) > 0 {
		t.Errorf("keys change rows of reference data along with others: %s", along)
	}

	writes := regexp.MustCompile(`(?i)\b(?:insert into|update|delete from) (?:` + db.ReferenceTables + `)\b`)
	for _, f := range functions {
		if writes.MatchString(f) {
			t.Errorf("a function writes reference data: %s", f)
		}
	}
}
