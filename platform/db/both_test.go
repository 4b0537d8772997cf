package db_test

import (
	"context"
	"testing"

	"stayledger/platform/db"
)

// Both statements are done, each with its own arguments of the same names; neither sees what the other writes, and a
// constraint that either breaks undoes both.
func TestBothAreDone(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	insert := func(tx *db.Tx, text string) db.Stmt {
		return db.Stmt{SQL: `insert into note (team_id, text) values (@team, @text)`, Args: db.Args{"team": tx.Team, "text": text}}
	}
	count := func(tx *db.Tx, prefix string) db.Stmt {
		return db.Stmt{
			SQL: `
			with seen as (select count(*) as n from note where team_id = @team)
			insert into note (team_id, text) select @team, @text || n from seen`,
			Args: db.Args{"team": tx.Team, "text": prefix},
		}
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		return tx.Pipeline(ctx, db.Both(insert(tx, "a"), insert(tx, "b")), db.Both(insert(tx, "c"), count(tx, "seen ")))
	})

	err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		return tx.Pipeline(ctx, db.Both(insert(tx, "d"), insert(tx, "a")))
	})
	if db.Constraint(err) != "note_text" {
		t.Errorf("a text that is there: %v", err)
	}

	wantStored(t, x, "a b c seen 2")
}
