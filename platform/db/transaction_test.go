package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

func TestReadIsOneSnapshot(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := texts(ctx, tx); err != nil {
			return err
		}

		x.Tx(func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "later") })

		got, err := texts(ctx, tx)
		if got != "" {
			t.Errorf("a read saw %q, written after it began", got)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	wantStored(t, x, "later")
}

func TestReadsRefuseWrites(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for name, read := range map[string]func(context.Context, db.Scope, db.Work) error{"Read": x.DB.Read, "ReadAnswer": x.DB.ReadAnswer, "ReadOne": x.DB.ReadOne} {
		err := read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, name) })
		if db.SQLState(err) != "25006" {
			t.Errorf("%s let a write pass: %v", name, err)
		}

		err = read(t.Context(), x.Scope(), func(_ context.Context, tx *db.Tx) error {
			tx.AtEnd(db.Stmt{SQL: `select 1`})
			return nil
		})
		if err == nil {
			t.Errorf("%s dropped a statement for its end", name)
		}
	}

	wantStored(t, x, "")
}

func TestReadOneBeginsAgainForASecondRoundTrip(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	setting := func(name string, is *string) db.Work {
		return func(ctx context.Context, tx *db.Tx) (err error) {
			*is, err = db.Get[string](ctx, tx, `select current_setting(@name)`, db.Args{"name": name})
			return err
		}
	}
	for name, first := range map[string]func(ctx context.Context, tx *db.Tx) error{
		"one statement": func(ctx context.Context, tx *db.Tx) error {
			_, err := texts(ctx, tx)
			return err
		},
		// Several see the same, as in any read.
		"several": func(ctx context.Context, tx *db.Tx) error {
			var isolation, readOnly string

			err := tx.Together(ctx, setting("transaction_isolation", &isolation), setting("transaction_read_only", &readOnly))
			if isolation != "repeatable read" || readOnly != "on" {
				t.Errorf("several statements run in a transaction that is %q and read only %q", isolation, readOnly)
			}

			return err
		},
	} {
		if err := x.DB.ReadOne(t.Context(), x.Scope(), first); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		// Work that sends more begins again, and sees one snapshot in all of its round trips.
		runs, name := 0, "written while "+name+" ran"

		err := x.DB.ReadOne(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			runs++

			if err := first(ctx, tx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}

			if runs == 2 {
				x.Tx(func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, name) })
			}

			got, err := texts(ctx, tx)
			if strings.Contains(got, name) {
				t.Errorf("the second round trip sees what was %s", name)
			}

			return err
		})
		if err != nil || runs != 2 {
			t.Errorf("%d runs: %v", runs, err)
		}
	}
}

func TestWriteEndsAsItsWorkDoes(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for name, write2 := range map[string]func(context.Context, db.Scope, db.Work) error{"write": x.DB.Write, "lazily": x.DB.WriteLazily} {
		err := write2(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, name) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}

		err = write2(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(write(ctx, tx, "refused"), errOurs)
		})
		if !errors.Is(err, errOurs) {
			t.Errorf("%s: %v", name, err)
		}
	}

	wantStored(t, x, "lazily write")
}

// What was answered is on the disk, so an operation that was acknowledged outlives a crash of the database.
// Proves: OPS-82.
func TestOnlyLazyWritesDoNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	setting := func(run func(context.Context, db.Scope, db.Work) error) (got string) {
		err := run(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
			got, err = db.Get[string](ctx, tx, `select current_setting('synchronous_commit')`, nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}

		return got
	}
	if got := setting(x.DB.WriteLazily); got != "off" {
		t.Errorf("lazily: synchronous_commit %s", got)
	}

	if got := setting(x.DB.Write); got != "on" {
		t.Errorf("write: synchronous_commit %s", got)
	}
}

// Proves: DRY-14, DRY-15.
func TestDryRunKeepsNothing(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	err := x.DB.DryRun(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := write(ctx, tx, "dry"); err != nil {
			return err
		}

		tx.AtEnd(db.Stmt{SQL: `insert into note (team_id, text) values (@team, 'end')`, Args: db.Args{"team": tx.Team}})

		got, err := texts(ctx, tx)
		if got != "dry" {
			t.Errorf("a dry run did not see its own write but %q", got)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}

	wantStored(t, x, "")
}

// Proves: DRY-08.
func TestDryRunRefusesWhatCommitWould(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	twice := func(ctx context.Context, tx *db.Tx) error {
		return errors.Join(write(ctx, tx, "same"), write(ctx, tx, "same"))
	}
	for name, run := range map[string]func(context.Context, db.Scope, db.Work) error{"dry": x.DB.DryRun, "real": x.DB.Write} {
		if err := run(t.Context(), x.Scope(), twice); db.Constraint(err) != "note_text" || db.SQLState(err) != "23505" {
			t.Errorf("%s run over a deferred constraint: %v", name, err)
		}
	}

	wantStored(t, x, "")
}

func TestWorkIsRunAgainAfterASerializationFailureAndNothingElse(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	for _, c := range []struct {
		code     string
		attempts int
	}{{"40001", 2}, {"40P01", 2}, {"23505", 1}, {"55P03", 1}, {"57014", 1}, {"57P01", 1}, {"08006", 1}, {"53300", 1}} {
		attempts := 0

		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if attempts++; attempts == 1 {
				return errors.Join(write(ctx, tx, "first"+c.code), raise(c.code)(ctx, tx))
			}

			return write(ctx, tx, c.code)
		})
		if attempts != c.attempts || (err == nil) != (c.attempts == 2) {
			t.Errorf("%s: %d attempts, %v", c.code, attempts, err)
		}
	}

	wantStored(t, x, "40001 40P01")
}

func TestSerializationFailuresEndAtLast(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	attempts := 0

	err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		attempts++
		return raise("40001")(ctx, tx)
	})
	if db.SQLState(err) != "40001" || attempts != 4 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
}

func TestAStatementThatFailedCannotBeCommittedOver(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	bad := map[string]db.Stmt{
		"unprepared": {SQL: `select nothing from nowhere`},
		"unbound":    {SQL: `select @missing::text`, Args: db.Args{}},
		"executed":   {SQL: `select 1 / 0`},
	}
	for name, s := range bad {
		for position, before := range map[string]db.Work{
			"first": func(context.Context, *db.Tx) error { return nil },
			"later": func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, name) },
		} {
			if name == "unbound" && position == "later" {
				continue // it is never sent, so the transaction is as sound as it was
			}

			err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
				if err := before(ctx, tx); err != nil {
					return err
				}

				if _, err := tx.Exec(ctx, s.SQL, s.Args); err == nil {
					t.Errorf("%s: no error", name)
				}

				_, _ = tx.Exec(ctx, `select 1`, nil)

				return nil // the work overlooks it
			})
			if err == nil {
				t.Errorf("%s statement, %s: the transaction was committed", name, position)
			}
		}
	}

	wantStored(t, x, "")
}

func TestAPanicGivesTheConnectionBack(t *testing.T) {
	t.Parallel()
	d := open(t, db.Config{URL: apitest.Database(t), MaxConnections: 1, AcquireTimeout: 2 * time.Second})

	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()

			_ = d.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
				if _, err := tx.Exec(ctx, `insert into job_schedule (name, next_at) values ('x', now())`, nil); err != nil {
					t.Error(err)
				}

				panic("work")
			})
		}()
	}

	err := d.ReadOne(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Get[int64](ctx, tx, `select count(*) from job_schedule`, nil)
		if n != 0 {
			t.Error("what a panicking work wrote was kept")
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestACancelledWorkIsRolledBack(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ctx, cancel := context.WithCancel(t.Context())

	err := x.DB.Write(ctx, x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		err := write(ctx, tx, "cancelled")

		cancel()

		return err
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, db.ErrUnavailable) {
		t.Errorf("cancelled work: %v", err)
	}

	wantStored(t, x, "")
}

func TestQueuedWorkIsAnnouncedAfterTheCommitOnly(t *testing.T) {
	t.Parallel()

	announced := 0
	d := open(t, db.Config{URL: apitest.Database(t), OnQueued: func(...string) { announced++ }})

	queue := func(ctx context.Context, tx *db.Tx) error {
		tx.MarkQueued("test")
		_, err := tx.Exec(ctx, `select 1`, nil)

		if announced > 0 {
			t.Error("announced before the commit")
		}

		return err
	}
	for name, c := range map[string]struct {
		run  func(context.Context, db.Scope, db.Work) error
		work db.Work
		want int
	}{
		"write":   {d.Write, queue, 1},
		"lazily":  {d.WriteLazily, queue, 1},
		"dry run": {d.DryRun, queue, 0},
		"failed":  {d.Write, func(ctx context.Context, tx *db.Tx) error { return errors.Join(queue(ctx, tx), errOurs) }, 0},
		"nothing": {d.Write, func(context.Context, *db.Tx) error { return nil }, 0},
		"undone": {d.Write, func(ctx context.Context, tx *db.Tx) error {
			if err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return errors.Join(queue(ctx, tx), errOurs) }); !errors.Is(err, errOurs) {
				t.Error(err)
			}

			return nil
		}, 0},
	} {
		announced = 0

		if err := c.run(t.Context(), db.AcrossTeams(), c.work); err != nil && !errors.Is(err, errOurs) {
			t.Errorf("%s: %v", name, err)
		}

		if announced != c.want {
			t.Errorf("%s: announced %d times, want %d", name, announced, c.want)
		}
	}
}

func TestTheTransactionHasOneInstant(t *testing.T) {
	t.Parallel()

	zone := time.FixedZone("elsewhere", 3600)
	now := time.Date(2026, 3, 4, 5, 6, 7, 8_999_999, zone)
	d := open(t, db.Config{URL: apitest.Database(t), Now: func() time.Time { now = now.Add(time.Second); return now }})

	err := d.Write(t.Context(), db.AcrossTeams(), func(_ context.Context, tx *db.Tx) error {
		if want := time.Date(2026, 3, 4, 4, 6, 8, 8_000_000, time.UTC); tx.Now != want {
			t.Errorf("now is %v, want %v", tx.Now, want)
		}

		if made := tx.NewID().Time(); made != tx.Now {
			t.Errorf("an id made at %v, not at %v", made, tx.Now)
		}

		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestStatementsAreBounded(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	scope := x.Scope()

	scope.Timeout = 20 * time.Millisecond
	for name, run := range map[string]func(context.Context, db.Scope, db.Work) error{"read": x.DB.Read, "answer": x.DB.ReadAnswer, "one": x.DB.ReadOne, "write": x.DB.Write} {
		err := run(t.Context(), scope, func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `select pg_sleep(10)`, nil)
			return err
		})
		if db.SQLState(err) != "57014" {
			t.Errorf("%s: %v", name, err)
		}
	}

	// What the service is told nothing about.
	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	if err := d.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		limit, err := db.Get[string](ctx, tx, `show statement_timeout`, nil)
		if err == nil && limit != "30s" {
			t.Errorf("a statement may take %s", limit)
		}

		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestWaitingForALockEnds(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Tx(func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "one") })
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `update note set text = 'two'`, nil); err != nil {
			return err
		}

		err := x.DB.Write(ctx, x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			return tx.Pipeline(ctx, db.Stmt{SQL: `set local lock_timeout = '20ms'`}, db.Stmt{SQL: `update note set text = 'three'`})
		})
		if !db.IsLockTimeout(err) || db.IsLockTimeout(errOurs) {
			t.Errorf("waiting for a lock: %v", err)
		}

		return nil
	})
	wantStored(t, x, "two")
}
