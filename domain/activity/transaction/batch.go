package transaction

import (
	"context"
	"errors"

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

// errNothingLands rolls an atomic batch back if one of its items was refused.
var errNothingLands = errors.New("transaction: an item of an atomic batch was refused")

// batch adds the transactions of a batch and answers with the added and the refused ones.
func batch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	out := &api.Outcome{Data: []api.Written{}, Issues: []api.Refused{}}
	data := in.Body.Data

	// One savepoint around everything lets an atomic batch be undone and still be answered.
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		attempts, err := AddEach(ctx, tx, data, in.lenience())
		if err != nil {
			return err
		}

		for i, a := range attempts {
			if a.Refusal != nil {
				out.Issues = append(out.Issues, api.Refusal(i, data[i].UniqueRef.Value, a.Refusal))
			} else {
				out.Data = append(out.Data, api.Written{ID: a.Added.ID, UniqueRef: a.Added.UniqueRef, Index: i})
			}
		}

		if in.Atomic && len(out.Issues) > 0 {
			return errNothingLands
		}

		return nil
	})
	if errors.Is(err, errNothingLands) {
		out.Data, err = []api.Written{}, nil
	}

	return out, err
}

// Attempt is the outcome of one transaction of AddEach: either it was added, or it was refused.
type Attempt struct {
	Added   *Transaction
	Refusal *apierr.Error
}

// AddEach stores and books transactions, each by itself: those that are refused keep none of the others from being
// added. It returns an attempt for each, in the order given. All are tried together first, and when one is refused each
// half by itself, until the refused ones are alone.
func AddEach(ctx context.Context, tx *db.Tx, all []Create, l ledger.Lenience) ([]Attempt, error) {
	var added []Transaction

	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		added, err = AddAll(ctx, tx, all, l)
		return err
	})

	// One refused transaction fails them all, but a defect is no refusal and ends the work.
	switch {
	case err == nil:
		attempts := make([]Attempt, len(added))
		for i := range added {
			attempts[i].Added = &added[i]
		}

		return attempts, nil
	case !apierr.IsRefusal(err):
		return nil, err
	case len(all) == 1:
		return []Attempt{{Refusal: apierr.From(err)}}, nil
	}

	// Each half by itself: a batch with few refused items needs few attempts.
	middle := len(all) / 2

	first, err := AddEach(ctx, tx, all[:middle], l)
	if err != nil {
		return nil, err
	}

	second, err := AddEach(ctx, tx, all[middle:], l)

	return append(first, second...), err
}
