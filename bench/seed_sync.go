package main

import "context"

// The teams that batches are sent to, while the teams few and many read the same records from a system.
const fewBatchName, manyBatchName = "few-batch", "many-batch"

// syncSeed is equal teams without records: two that read systems, and one for the batches of each.
func syncSeed() *seed {
	return &seed{name: "sync", on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for _, name := range []string{fewName, fewBatchName, manyName, manyBatchName} {
			t, err := b.newBooks(ctx)
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
