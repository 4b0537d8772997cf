package main

import (
	"context"

	"stayledger/domain/settlement/payapp"
)

// The teams that records are taken in by: one from a source, one by the batch endpoint.
const intakeName, batchName = "intake", "batch"

// intakeSeed is two equal teams without records.
func intakeSeed() *seed {
	return &seed{name: "intake", on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for _, name := range []string{intakeName, batchName} {
			t, err := b.newBooks(ctx)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			// Any connection will do: the source behind it is the bench's own.
			if err := b.asAdministrator(ctx, []string{
				`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
					values ($1, gen_random_uuid(), 'c', '` + string(payapp.Apps(nil)[0].ID) + `', 'Source', 'active', now(), now())`,
				`insert into account_connection (team_id, id, connection_id, provider_account_id, name, currency, account_id, status, created_at, updated_at)
					select $1, gen_random_uuid(), c.id, 'checking', 'Checking', 'usd', a.id, 'active', now(), now()
					from connection c join account a on a.team_id = c.team_id and a.code = '1000' where c.team_id = $1`,
			}, t); err != nil {
				return err
			}
		}

		return nil
	}}
}
