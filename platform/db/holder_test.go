package db_test

import (
	"context"
	"errors"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestTheHolderOfUniqueValuesIsFound(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})
	other := apitest.New(t, apitest.Config{Silent: true})

	// keep inserts a contact with a reference and fails as the database does if another one has it.
	keep := func(x *apitest.Team, ref string) (made id.ID, err error) {
		err = x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			made = tx.NewID()
			_, err := tx.Exec(ctx, `insert into contact (team_id, id, short_ref, unique_ref, type, name, created_at, updated_at)
				values (@team, @id, @id::uuid::text, @unique_ref, 'owner', 'n', @now, @now)`,
				db.Args{"team": tx.Team, "id": made, "unique_ref": ref, "now": tx.Now})

			return err
		})

		return made, err
	}
	holder := func(x *apitest.Team, broken error) (found id.ID) {
		err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
			found, err = tx.Holder(ctx, broken)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}

		return found
	}

	for _, ref := range []string{"a", "b, c", `'"\`, "é"} {
		first, err := keep(x, ref)
		if err != nil {
			t.Fatal(err)
		}

		_, err = keep(x, ref)
		if got := holder(x, err); got != first {
			t.Errorf("%q is held by %v, want %v: %v", ref, got, first, err)
		}

		// Another team sees nobody.
		if got := holder(other, err); !got.IsZero() {
			t.Errorf("%q: another team is told %v", ref, got)
		}
	}

	if got := holder(x, errors.New("no constraint")); !got.IsZero() {
		t.Errorf("held by %v", got)
	}
}
