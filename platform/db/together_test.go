package db_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"stayledger/platform/db"
)

func countNotes(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.Get[int64](ctx, tx, `select count(*) from note where team_id = @team`, db.Args{"team": tx.Team})
}

func TestWorksThatRunTogetherTakeTurnsInTheirOrder(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	var (
		first, second, third, nested int64
		turns                        []string
	)

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		return tx.Together(ctx,
			func(ctx context.Context, tx *db.Tx) (err error) {
				if first, err = countNotes(ctx, tx); err != nil {
					return err
				}

				turns = append(turns, "first")

				return write(ctx, tx, "b")
			},
			func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "a") },
			func(ctx context.Context, tx *db.Tx) (err error) {
				if err := tx.Together(ctx, db.Load(&second, countNotes), db.Load(&nested, countNotes)); err != nil {
					return err
				}

				turns = append(turns, "third")
				third, err = countNotes(ctx, tx)

				return err
			})
	})

	if first != 0 || second != 1 || nested != 1 || third != 2 || !slices.Equal(turns, []string{"first", "third"}) {
		t.Errorf("the works saw %d, then %d and %d, then %d notes, in the order %v", first, second, nested, third, turns)
	}

	wantStored(t, x, "a b")
}

func TestAWorkThatFindsNoRowKeepsOthersFromNothing(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	var (
		found bool
		count int64
	)

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		return tx.Together(ctx,
			func(ctx context.Context, tx *db.Tx) error {
				note, err := db.Maybe[string](ctx, tx, `select text from note where team_id = @team`, db.Args{"team": tx.Team})
				if found = note != nil; found || err != nil {
					return err
				}

				return write(ctx, tx, "a")
			},
			func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "b") },
			db.Load(&count, countNotes))
	})

	if found || count != 1 {
		t.Errorf("a row was found: %t; %d notes were counted, want 1", found, count)
	}

	wantStored(t, x, "a b")
}

func TestTheFirstWorkThatFailsIsToldOf(t *testing.T) {
	t.Parallel()

	errLater := errors.New("later")
	nothing := func(context.Context, *db.Tx) error { return nil }
	slowly := func(err error) db.Work {
		return func(ctx context.Context, tx *db.Tx) error {
			for range 3 {
				if _, err := countNotes(ctx, tx); err != nil {
					return err
				}
			}

			return err
		}
	}

	atOnce := func(context.Context, *db.Tx) error { return errLater }
	for name, c := range map[string]struct {
		works []db.Work
		want  func(error) bool
	}{
		"none":                     {nil, func(err error) bool { return err == nil }},
		"nobody":                   {[]db.Work{nothing, slowly(nil)}, func(err error) bool { return err == nil }},
		"the first, later":         {[]db.Work{slowly(errOurs), atOnce}, func(err error) bool { return errors.Is(err, errOurs) }},
		"the second":               {[]db.Work{slowly(nil), atOnce}, func(err error) bool { return errors.Is(err, errLater) }},
		"a statement before":       {[]db.Work{slowly(errOurs), raise("23505")}, func(err error) bool { return db.SQLState(err) == "23505" }},
		"a statement, not another": {[]db.Work{raise("23505"), slowly(errOurs)}, func(err error) bool { return db.SQLState(err) == "23505" }},
		"a savepoint": {
			[]db.Work{func(ctx context.Context, tx *db.Tx) error { return tx.Try(ctx, nothing) }},
			func(err error) bool { return err != nil && db.SQLState(err) == "" },
		},
	} {
		x := newTeam(t)

		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(write(ctx, tx, name), tx.Together(ctx, c.works...))
		})
		if !c.want(err) {
			t.Errorf("%s: %v", name, err)
		}

		if want := name; err == nil {
			wantStored(t, x, want)
		} else {
			wantStored(t, x, "")
		}
	}
}
