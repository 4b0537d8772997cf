package main

import (
	"context"
	"fmt"

	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// migrationSeed is two teams without a general ledger and without records, each with a key of its own.
func migrationSeed() *seed {
	return &seed{name: "migration", on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for _, name := range []string{fewName, manyName} {
			t, err := b.newLegacy(ctx)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}
		}

		return nil
	}}
}

// newLegacy creates a team without a general ledger, and a key with all rights.
func (b *bed) newLegacy(ctx context.Context) (t tenant, err error) {
	err = b.db.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		if t.team, err = team.Create(ctx, tx, team.New{Name: "Legacy", Type: team.PropertyManager, Region: "us", Legacy: true}); err != nil {
			return err
		}

		key, err := access.IssueKey(ctx, tx, access.NewKey{Name: "bench", Teams: []id.ID{t.team}, Scopes: []string{"admin"}})
		if err != nil {
			return err
		}

		t.user, t.secret = key.UserID, key.Secret

		return nil
	})
	if err != nil {
		return t, fmt.Errorf("make a legacy team: %w", err)
	}

	return t, nil
}
