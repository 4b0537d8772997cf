package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"stayledger/migrations"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var createNote sync.Once

// newTeam is a team in a database that has the table note. Its texts are unique per team; that is checked at the end of
// a transaction.
func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	x := apitest.New(t, apitest.Config{})

	createNote.Do(func() {
		for _, ddl := range []string{
			`create table note (team_id uuid not null, "text" text not null, constraint note_text unique (team_id, text) deferrable initially deferred)`,
			`select stayledger_tenant('note')`,
		} {
			x.System(func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, ddl, nil)
				return err
			})
		}
	})

	return x
}

func write(ctx context.Context, tx *db.Tx, text string) error {
	_, err := tx.Exec(ctx, `insert into note (team_id, text) values (@team, @text)`, db.Args{"team": tx.Team, "text": text})
	return err
}

// texts are the visible notes, in order and joined; it names no team on purpose.
func texts(ctx context.Context, tx *db.Tx) (string, error) {
	return db.Get[string](ctx, tx, `select coalesce(string_agg(text, ' ' order by text), '') from note`, nil)
}

func stored(t *testing.T, x *apitest.Team) (got string) {
	t.Helper()

	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		got, err = texts(ctx, tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return got
}

func wantStored(t *testing.T, x *apitest.Team, want string) {
	t.Helper()

	if got := stored(t, x); got != want {
		t.Errorf("stored %q, want %q", got, want)
	}
}

func raise(code string) db.Work {
	return func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `do $$ begin raise exception using errcode = '`+code+`'; end $$`, nil)
		return err
	}
}

var errOurs = errors.New("work refused")

// open opens a database of the test's own.
func open(t *testing.T, c db.Config) *db.DB {
	t.Helper()

	d, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	return d
}

var migrationFiles = migrations.FS
