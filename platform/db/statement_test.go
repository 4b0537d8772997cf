package db_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestTryUndoesWhatFailed(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := write(ctx, tx, "a"); err != nil {
			return err
		}

		for _, c := range []struct {
			text string
			end  error
		}{{"b", nil}, {"c", errOurs}, {"d", nil}, {"e", errOurs}} {
			err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
				tx.AtEnd(db.Stmt{SQL: `insert into note (team_id, text) values (@team, @text)`, Args: db.Args{"team": tx.Team, "text": c.text + "-end"}})
				return errors.Join(write(ctx, tx, c.text), c.end)
			})
			if !errors.Is(err, c.end) {
				t.Errorf("%s: %v", c.text, err)
			}
		}

		if err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return raise("23505")(ctx, tx) }); db.SQLState(err) != "23505" {
			t.Errorf("a failed statement: %v", err)
		}

		return tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
			inner := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return errors.Join(write(ctx, tx, "inner"), errOurs) })
			if !errors.Is(inner, errOurs) {
				t.Errorf("inner: %v", inner)
			}

			return write(ctx, tx, "outer")
		})
	})
	wantStored(t, x, "a b b-end d d-end outer")
}

func TestArgumentsAreNamedExactly(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for name, args := range map[string]db.Args{"missing": {"a": 1}, "unused": {"a": 1, "b": 2, "c": 3}, "none": {}} {
		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `select @a::int, @b::int`, args)
			return err
		})
		if err == nil {
			t.Errorf("%s argument: no error", name)
		}
	}
}

func TestRowsBecomeValues(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	type row struct {
		ID      id.ID
		DueAt   day.Instant
		Day     day.Day
		Missing *string
		Tags    []string
	}

	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		const columns = `select @id::uuid as id, '2026-03-04T05:06:07.008Z'::timestamptz as due_at, '2026-03-04'::date as day, null::text as missing, '{a,b}'::text[] as tags`

		got, err := db.Get[row](ctx, tx, columns, db.Args{"id": x.ID})
		if err != nil || got.ID != x.ID || got.DueAt.String() != "2026-03-04T05:06:07.008Z" || got.Day.String() != "2026-03-04" || got.Missing != nil || len(got.Tags) != 2 {
			t.Errorf("a row: %+v, %v", got, err)
		}

		if v, err := db.Get[id.ID](ctx, tx, `select @id::uuid`, db.Args{"id": x.ID}); err != nil || v != x.ID {
			t.Errorf("an id: %v, %v", v, err)
		}

		if v, err := db.Get[day.Instant](ctx, tx, `select '2026-03-04T05:06:07Z'::timestamptz`, nil); err != nil || v.String() != "2026-03-04T05:06:07.000Z" {
			t.Errorf("an instant: %v, %v", v, err)
		}

		if v, err := db.Get[time.Time](ctx, tx, `select '2026-03-04T05:06:07Z'::timestamptz`, nil); err != nil || v.Unix() != 1772600767 {
			t.Errorf("a time: %v, %v", v, err)
		}

		if v, err := db.Get[day.Day](ctx, tx, `select '2026-03-04'::date`, nil); err != nil || v.String() != "2026-03-04" {
			t.Errorf("a day: %v, %v", v, err)
		}

		if v, err := db.Get[*int64](ctx, tx, `select null::bigint`, nil); err != nil || v != nil {
			t.Errorf("null: %v, %v", v, err)
		}

		if _, err := db.Get[int64](ctx, tx, `select 1::bigint where false`, nil); err == nil {
			t.Error("no row is one")
		}

		missing := errors.New("there is no such row")
		if _, err := db.One[int64](ctx, tx, missing, `select 1::bigint where false`, nil); err != missing { //nolint:errorlint // as it is given
			t.Errorf("one of none: %v", err)
		}

		if got, err := db.One[int64](ctx, tx, missing, `select 7::bigint`, nil); err != nil || got != 7 {
			t.Errorf("one of one: %d, %v", got, err)
		}

		if got, err := db.Maybe[int64](ctx, tx, `select 1::bigint where false`, nil); err != nil || got != nil {
			t.Errorf("maybe none: %v, %v", got, err)
		}

		if got, err := db.Maybe[int64](ctx, tx, `select 7::bigint`, nil); err != nil || got == nil || *got != 7 {
			t.Errorf("maybe one: %v, %v", got, err)
		}

		if got, err := db.Maybe[int64](ctx, tx, `select generate_series(1, 2)::bigint`, nil); err == nil || got != nil {
			t.Errorf("maybe one of two: %v, %v", got, err)
		}

		if _, err := db.Get[int64](ctx, tx, `select generate_series(1, 2)::bigint`, nil); err == nil {
			t.Error("two rows are one")
		}

		none, err := db.Select[int64](ctx, tx, `select 1::bigint where false`, nil)
		if none == nil || len(none) != 0 {
			t.Errorf("no rows: %v", none)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The third row waits for a lock that is let go of when the first one arrives.
func TestEachHandsRowsOverAsTheyArrive(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	const (
		key  = `('x' || left(replace(@team::text, '-', ''), 15))::bit(60)::bigint`
		rows = `select case when n < 3 then repeat('x', 100000) else (pg_advisory_xact_lock(` + key + `) is null)::text end from generate_series(1, 3) n`
	)

	first, locked, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(`+key+`)`, db.Args{"team": tx.Team})

			close(locked)
			<-first

			return err
		})
	}()

	<-locked

	count := 0
	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		return db.Each(ctx, tx, db.Stmt{SQL: rows, Args: db.Args{"team": tx.Team}}, func(string) error {
			if count++; count == 1 {
				close(first)
			}

			return nil
		})
	})

	if count == 0 {
		close(first)
	}

	if err != nil || count != 3 {
		t.Errorf("%d rows, %v", count, err)
	}

	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEachStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		count := 0

		err := db.Each(ctx, tx, db.Stmt{SQL: `select generate_series(1, 100000)`}, func(int64) error {
			if count++; count == 3 {
				return errOurs
			}

			return nil
		})
		if !errors.Is(err, errOurs) || count != 3 {
			t.Errorf("after %d rows: %v", count, err)
		}

		return write(ctx, tx, "still sound")
	})
	wantStored(t, x, "still sound")
}

func TestNotificationsAreHeard(t *testing.T) {
	t.Parallel()
	d := open(t, db.Config{URL: apitest.Database(t)})
	ctx, stop := context.WithCancel(t.Context())

	heard, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() { ended <- d.Listen(ctx, "odd name", func() { heard <- struct{}{} }) }()

	for waiting := true; waiting; {
		if err := d.Notify(ctx, "odd name"); err != nil {
			t.Fatal(err)
		}

		select {
		case <-heard:
			waiting = false
		case <-time.After(10 * time.Millisecond):
		}
	}

	stop()

	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	t.Parallel()

	at := apitest.Database(t)
	if n, err := db.Migrate(t.Context(), at, migrationFiles); n != 0 || err != nil {
		t.Errorf("applied %d, %v", n, err)
	}
}

func TestMessagesHoldNoPassword(t *testing.T) {
	t.Parallel()

	for _, at := range []string{"postgres://u:secret@[::1/x", "postgres://u:secret@127.0.0.1:1/x", "host=127.0.0.1 port=nan password=secret", "host=127.0.0.1 port=1 password=secret"} {
		_, err := db.Open(t.Context(), db.Config{URL: at})

		_, migrating := db.Migrate(t.Context(), at, migrationFiles)
		for _, err := range []error{err, migrating} {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		}
	}
}
