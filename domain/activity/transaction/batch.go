package transaction

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// batchLines is the limit on the lines of all transactions of a batch: all of them are held in memory and booked
// together.
const batchLines = 20_000

type batchInput struct {
	Override
	Atomic bool `query:"atomic" doc:"Nothing lands unless everything does."`
	Body   struct {
		Data []Create `json:"data" minItems:"1" maxItems:"1000"`
	}
}

// Resolve refuses a batch of too many lines.
func (in *batchInput) Resolve() []apierr.Issue {
	lines := 0
	for i := range in.Body.Data {
		lines += len(in.Body.Data[i].Lines)
	}

	if lines > batchLines {
		return []apierr.Issue{apierr.IssueTooManyLines.InBody("data")}
	}

	return nil
}

// batch adds the transactions of a batch and answers with the added and the refused ones.
func batch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	return api.Land(ctx, tx, in.Atomic, func(ctx context.Context, tx *db.Tx) ([]api.Attempt, error) {
		attempts, err := AddEach(ctx, tx, in.Body.Data, in.lenience(tx))
		out := make([]api.Attempt, len(attempts))

		for i, a := range attempts {
			if out[i] = (api.Attempt{UniqueRef: in.Body.Data[i].UniqueRef.Value, Refusal: a.Refusal}); a.Added != nil {
				out[i].ID = a.Added.ID
			}
		}

		return out, err
	})
}

// Attempt is the outcome of one transaction of AddEach: either it was added, or it was refused.
type Attempt struct {
	Added   *Transaction
	Refusal *apierr.Error
}

// AddEach stores and books transactions, each by itself: those that are refused keep none of the others from being
// added. It returns an attempt for each, in the order given.
func AddEach(ctx context.Context, tx *db.Tx, all []Create, l ledger.Lenience) ([]Attempt, error) {
	attempts := make([]Attempt, len(all))

	refusals, err := db.Halves(ctx, tx, len(all), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		added, err := AddAll(ctx, tx, all[from:to], l)
		for i := range added {
			attempts[from+i].Added = &added[i]
		}

		return err
	})
	if err != nil {
		return nil, err
	}

	for i, refusal := range refusals {
		if refusal != nil {
			attempts[i] = Attempt{Refusal: apierr.From(refusal)}
		}
	}

	return attempts, nil
}
