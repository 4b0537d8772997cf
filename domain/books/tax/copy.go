package tax

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// readCopy loads the rates of a team that the transaction may read, and returns the function that copies them.
func readCopy(ctx context.Context, tx *db.Tx, from id.ID) (parts.Paste, error) {
	rates, err := loadActive(ctx, tx, from)

	return func(ctx context.Context, tx *db.Tx, asked bool, here parts.Counterparts) error {
		if asked {
			if err := Copy(ctx, tx, rates); err != nil {
				return err
			}
		}

		// Fees need the counterparts even if the rates themselves are not copied.
		own, err := loadCounterparts(ctx, tx, rates)
		maps.Copy(here, own)

		return err
	}, err
}

// loadActive loads the active tax rates of a team that the transaction may read.
func loadActive(ctx context.Context, tx *db.Tx, team id.ID) ([]Rate, error) {
	rates, err := db.Select[Rate](ctx, tx, `select `+columns+` from tax_rate where team_id = @team and status = 'active' order by id`, db.Args{"team": team})
	if err != nil {
		return nil, fmt.Errorf("read the tax rates of a team: %w", err)
	}

	return rates, nil
}

// Copy adds the rates of another team, except those with a name or reference that the team has. Running it again
// adds nothing.
func Copy(ctx context.Context, tx *db.Tx, from []Rate) error {
	rates := slices.Clone(from)
	for i := range rates {
		rates[i].ID, rates[i].Status = tx.NewID(), Active
	}

	// Rates that exist already are skipped and have no audit event.
	insert := rateTable.Insert(tx, db.Refs(rates)...)

	made, err := db.Select[Rate](ctx, tx, insert.SQL+" on conflict do nothing returning "+columns, insert.Args)
	if err != nil {
		return fmt.Errorf("copy tax rates: %w", err)
	}

	for i := range made {
		audit.Note(tx, audit.Created, audit.TaxRate, made[i].ID, nil, made[i])
	}

	return nil
}

// loadCounterparts loads the team's own active rates by those of another team that have the same name.
func loadCounterparts(ctx context.Context, tx *db.Tx, from []Rate) (map[id.ID]id.ID, error) {
	own, err := loadActive(ctx, tx, tx.Team)
	if err != nil {
		return nil, err
	}

	// Names are unique in a team.
	names := map[string]id.ID{}
	for i := range own {
		names[own[i].Name] = own[i].ID
	}

	out := map[id.ID]id.ID{}

	for i := range from {
		if here, exists := names[from[i].Name]; exists {
			out[from[i].ID] = here
		}
	}

	return out, nil
}
