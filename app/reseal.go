package app

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/exchange/pms"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/proof"
	"stayledger/domain/settlement/delivery"
	"stayledger/domain/settlement/payee"
	"stayledger/domain/tenant/connection"
	"stayledger/domain/tenant/webhook"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// listSealedColumns returns every column with values that the secret keys seal.
func listSealedColumns() []seal.Column {
	return append([]seal.Column{
		contact.SealedColumn(), connection.CredentialsColumn(), connection.CodeColumn(), pms.TokenColumn(), payee.SealedColumn(), delivery.SealedColumn(),
		proof.SealedColumn(),
	}, webhook.SealedColumns()...)
}

// Resealed counts the values of a column.
type Resealed struct {
	Table, Column string
	// Resealed had another key than the first; Current had the first already.
	Resealed, Current int
	// Lost cannot be opened with any of the keys.
	Lost []id.ID
}

// ErrLost means that values could not be opened, so that dropping keys would not be what loses them.
var ErrLost = errors.New("some values cannot be opened with any of the keys; put the key that sealed them back, at " +
	"the end, and run this again")

// resealBatch is how many values one transaction seals anew.
const resealBatch = 500

// Reseal seals every stored secret with the first of the secret keys, after which the others can be dropped. It
// calls done for each column. It can be stopped anywhere and run again, and can run while the service works, if all
// processes have the same first key: one with another key would go on sealing with that. Values that cannot be
// opened stay and are listed; Reseal then ends with ErrLost.
func Reseal(ctx context.Context, d *db.DB, c *Config, done func(Resealed) error) error {
	keys, err := c.keys()
	if err != nil {
		return err
	}

	box, err := seal.New(keys...)
	if err != nil {
		return fmt.Errorf("secret keys: %w", err)
	}

	lost := false

	for _, column := range listSealedColumns() {
		count, err := resealColumn(ctx, d, box, column)
		if err != nil {
			return fmt.Errorf("seal %s.%s anew: %w", column.Table, column.Name, err)
		}

		if err := done(count); err != nil {
			return err
		}

		lost = lost || len(count.Lost) > 0
	}

	if lost {
		return ErrLost
	}

	return nil
}

// resealColumn seals the values of a column anew, batch by batch.
func resealColumn(ctx context.Context, d *db.DB, box *seal.Box, column seal.Column) (Resealed, error) {
	count := Resealed{Table: column.Table, Column: column.Name}
	at := place{}

	for {
		var batch resealed

		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			batch, err = resealSome(ctx, tx, box, column, at)
			return err
		})
		if err != nil {
			return count, err
		}

		count.Resealed += batch.fresh
		count.Current += batch.current

		count.Lost = append(count.Lost, batch.lost...)
		if batch.read < resealBatch {
			return count, nil
		}

		at = batch.end
	}
}

// place is a row in the order of the work.
type place struct{ team, row id.ID }

// resealed counts the rows of one batch.
type resealed struct {
	fresh, current, read int
	lost                 []id.ID
	end                  place
}

// resealSome seals the values of the next rows anew. The rows are locked meanwhile, so that a concurrent write is
// not overwritten.
func resealSome(ctx context.Context, tx *db.Tx, box *seal.Box, column seal.Column, after place) (resealed, error) {
	type row struct {
		TeamID, ID id.ID
		Value      []byte
	}

	var out resealed

	// In the order of the primary key, after the last row of the batch before.
	rows, err := db.Select[row](ctx, tx, fmt.Sprintf(`
		select team_id, id, %[2]s as value from %[1]s
		where %[2]s is not null and (team_id, id) > (coalesce(@team, '00000000-0000-0000-0000-000000000000'::uuid), coalesce(@row, '00000000-0000-0000-0000-000000000000'::uuid))
		order by team_id, id limit @limit for no key update`, column.Table, column.Name),
		db.Args{"team": after.team, "row": after.row, "limit": resealBatch})
	if err != nil {
		return out, err
	}

	var (
		teams, ids []id.ID
		values     [][]byte
	)

	for _, r := range rows {
		value, isNew, err := box.Reseal(r.Value, column.Label(r.ID))
		switch {
		case err != nil:
			out.lost = append(out.lost, r.ID)
		case isNew:
			teams, ids, values = append(teams, r.TeamID), append(ids, r.ID), append(values, value)
		default:
			out.current++
		}

		out.end = place{r.TeamID, r.ID}
	}

	// Write only the values that changed, in one statement.
	out.read, out.fresh = len(rows), len(ids)
	if len(ids) == 0 {
		return out, nil
	}

	_, err = tx.Exec(ctx, fmt.Sprintf(`
		update %[1]s t set %[2]s = fresh.value from unnest(@teams::uuid[], @ids::uuid[], @values::bytea[]) as fresh (team_id, id, value)
		where t.team_id = fresh.team_id and t.id = fresh.id`, column.Table, column.Name),
		db.Args{"teams": teams, "ids": ids, "values": values})

	return out, err
}
