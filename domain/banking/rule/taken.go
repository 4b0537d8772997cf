package rule

import (
	"context"

	"stayledger/domain/banking/match"
	"stayledger/domain/books/bank"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// loadTaken returns open records as rules look at them, with the facts that keep rules off: transactions that match
// a record, and duplicates that no person has settled. Work that runs by itself must not book what is booked
// already.
func loadTaken(ctx context.Context, tx *db.Tx, open []bank.Open) ([]Record, error) {
	ids := make([]id.ID, len(open))
	for i := range open {
		ids[i] = open[i].ID
	}

	duplicates, err := bank.ListWithDuplicates(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	answers, err := match.Find(ctx, tx, open)
	if err != nil {
		return nil, err
	}

	records := make([]Record, len(open))
	for i := range open {
		records[i] = newRecord(&open[i])
		records[i].OpenDuplicate = duplicates[open[i].ID]
		records[i].Explained = answers[open[i].ID].IsExplained()
	}

	return records, nil
}
