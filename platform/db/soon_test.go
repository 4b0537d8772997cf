package db_test

import (
	"context"
	"errors"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// soonNote sends a note with the next round trip.
func soonNote(tx *db.Tx, text string) {
	tx.SendSoon(func(err error) error { return errors.Join(errOurs, err) },
		db.Stmt{SQL: `insert into note (team_id, text) values (@team, @text)`, Args: db.Args{"team": tx.Team, "text": text}})
}

func TestWhatIsSentSoonIsThereForWhatFollows(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		soonNote(tx, "a")

		if got, err := texts(ctx, tx); got != "a" {
			t.Errorf("the next statement finds %q: %v", got, err)
		}

		return tx.Together(ctx, func(_ context.Context, tx *db.Tx) error {
			soonNote(tx, "b")
			return nil
		}, func(ctx context.Context, tx *db.Tx) error {
			got, err := texts(ctx, tx)
			if got != "a b" {
				t.Errorf("work beside it finds %q", got)
			}

			soonNote(tx, "c") // goes with the commit

			return err
		})
	})
	wantStored(t, x, "a b c")
}

// The error of a statement that was sent soon is that of what is sent with it, and undoes what it belongs to.
func TestWhatIsSentSoonFailsWithItsOwnError(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})
	fail := func(tx *db.Tx) {
		tx.SendSoon(func(err error) error { return errors.Join(errOurs, err) }, db.Stmt{SQL: `select 1/0`})
	}
	explained := func(err error) bool { return errors.Is(err, errOurs) && db.SQLState(err) == "22012" }

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		for name, work := range map[string]db.Work{
			"a statement": func(ctx context.Context, tx *db.Tx) error { return tx.Pipeline(ctx, db.Stmt{SQL: `select 1`}) },
			"the end":     func(context.Context, *db.Tx) error { return nil },
			"a second try": func(ctx context.Context, tx *db.Tx) error {
				return tx.Try(ctx, func(context.Context, *db.Tx) error { return nil })
			},
		} {
			err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
				fail(tx)
				return work(ctx, tx)
			})
			if !explained(err) {
				t.Errorf("with %s: %v", name, err)
			}
		}

		err := tx.Try(ctx, func(_ context.Context, tx *db.Tx) error {
			fail(tx)
			return errTogether
		})
		if !errors.Is(err, errTogether) {
			t.Errorf("work that fails by itself: %v", err)
		}

		return nil
	})

	err := x.DB.Write(t.Context(), x.Scope(), func(_ context.Context, tx *db.Tx) error {
		fail(tx)
		return nil
	})
	if !explained(err) {
		t.Errorf("with the commit: %v", err)
	}
}

var errTogether = errors.New("work that fails by itself")
