package db_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/db"
)

// positions are the places between the statements of steps at which a fault can be.
var positions = []string{"before the first", "after the first", "after a read", "in a pipeline", "in a savepoint", "at the end", "after the last"}

// A fault is a statement that does not do its work.
type fault struct {
	sql string
	// attempts is how often the work runs when the fault is there at the first attempt only.
	attempts int
	// undone reports that a savepoint around it takes it back, so that the work goes on.
	undone bool
	// is reports whether the caller gets the error that it must get.
	is func(error) bool
}

var faults = map[string]fault{
	"refused": {
		`do $$ begin raise division_by_zero; end $$`, 1, true, func(err error) bool { return db.SQLState(err) == "22012" && !errors.Is(err, db.ErrUnavailable) },
	},
	"serialization failure": {`do $$ begin raise serialization_failure; end $$`, 2, true, func(err error) bool { return err == nil }},
	"connection lost":       {terminate, 1, false, func(err error) bool { return errors.Is(err, db.ErrUnavailable) }},
	"refused by COMMIT": {
		`insert into note (team_id, text) select (stayledger_teams())[1], t from unnest(array['twice', 'twice']) t`, 1, false,
		func(err error) bool { return db.Constraint(err) == "note_text" },
	},
}

// steps writes five notes in each of the ways in which a transaction sends statements, with a fault at one position.
func steps(ctx context.Context, tx *db.Tx, name, position, broken string) error {
	at := func(p string) []db.Stmt {
		if p == position {
			return []db.Stmt{{SQL: broken}}
		}

		return nil
	}

	note := func(letter string) db.Stmt {
		return db.Stmt{SQL: `insert into note (team_id, text) values (@team, @text)`, Args: db.Args{"team": tx.Team, "text": name + letter}}
	}
	if err := tx.Pipeline(ctx, append(at("before the first"), note("a"))...); err != nil {
		return err
	}

	for _, s := range at("after the first") {
		if _, err := tx.Exec(ctx, s.SQL, nil); err != nil {
			return err
		}
	}

	if _, err := texts(ctx, tx); err != nil {
		return err
	}

	for _, s := range at("after a read") {
		if _, err := tx.Exec(ctx, s.SQL, nil); err != nil {
			return err
		}
	}

	if err := tx.Pipeline(ctx, slices.Concat([]db.Stmt{note("b")}, at("in a pipeline"), []db.Stmt{note("c")})...); err != nil {
		return err
	}

	_ = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		return tx.Pipeline(ctx, append([]db.Stmt{note("d")}, at("in a savepoint")...)...)
	})
	for _, s := range slices.Concat(at("at the end"), []db.Stmt{note("e")}, at("after the last")) {
		tx.AtEnd(s)
	}

	return nil
}

// TestAFaultAtEveryStatement breaks a transaction at each position, in each way and each mode: all of it is kept or
// nothing, the caller learns which, it runs again only when that is safe, and the connections are sound afterwards.
//
// Proves: ERR-96, DRY-01.
func TestAFaultAtEveryStatement(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	modes := map[string]func(context.Context, db.Scope, db.Work) error{"write": x.DB.Write, "lazy write": x.DB.WriteLazily, "dry run": x.DB.DryRun}
	number := 0

	for mode, run := range modes {
		for what, f := range faults {
			for _, position := range positions {
				number++
				name, attempts := "n"+strconv.Itoa(number), 0
				err := run(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
					if attempts++; attempts > 1 {
						return steps(ctx, tx, name, "", "")
					}

					return steps(ctx, tx, name, position, f.sql)
				})
				goesOn := f.undone && position == "in a savepoint"

				told, again, want := f.is(err), f.attempts, ""
				if goesOn {
					told, again = err == nil, 1
				}

				if err == nil {
					want = "a b c d e"
				}

				if goesOn {
					want = "a b c e"
				}

				if mode == "dry run" {
					want = ""
				}

				if got := notesOf(t, x.DB, x.Scope(), name); got != want || !told || attempts != again {
					t.Errorf("%s, %s %s: %d attempts, kept %q, told %v; want %d and %q", mode, what, position, attempts, got, err, again, want)
				}
			}
		}
	}
}

// notesOf are the letters of the notes with texts that begin with a name.
func notesOf(t *testing.T, d *db.DB, scope db.Scope, name string) string {
	t.Helper()

	var letters []string

	err := d.Read(t.Context(), scope, func(ctx context.Context, tx *db.Tx) (err error) {
		letters, err = db.Select[string](ctx, tx, `select right(text, 1) from note where text ~ @form order by 1`, db.Args{"form": "^" + name + "[a-e]$"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return strings.Join(letters, " ")
}
