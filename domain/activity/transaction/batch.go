package transaction

import (
	"context"
	"errors"

	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// batchLines is how many lines the transactions of a batch have at the most: all of them are held and booked together.
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

// errNothingLands undoes an atomic batch with an item that was refused.
var errNothingLands = errors.New("transaction: an item of an atomic batch was refused")

func batch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	b := &batcher{data: in.Body.Data, lenience: in.lenience(), out: api.Outcome{Data: []api.Written{}, Issues: []api.Refused{}}}
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := b.land(ctx, tx, 0, len(b.data)); err != nil {
			return err
		}
		if in.Atomic && len(b.out.Issues) > 0 {
			return errNothingLands
		}
		return nil
	})
	if errors.Is(err, errNothingLands) {
		b.out.Data, err = []api.Written{}, nil
	}
	return &b.out, err
}

// batcher lands the items of a batch.
type batcher struct {
	data     []Create
	lenience ledger.Lenience
	out      api.Outcome
}

// land books the items from one place to another together; when one is refused, each half by itself, until the refused ones stand alone.
func (b *batcher) land(ctx context.Context, tx *db.Tx, from, to int) error {
	var added []Transaction
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		added, err = AddAll(ctx, tx, b.data[from:to], b.lenience)
		return err
	})
	switch {
	case err == nil:
		for i := range added {
			b.out.Data = append(b.out.Data, api.Written{ID: added[i].ID, UniqueRef: added[i].UniqueRef, Index: from + i})
		}
		return nil
	case !apierr.Refused(err):
		return err
	case to-from == 1:
		b.out.Issues = append(b.out.Issues, api.Refusal(from, b.data[from].UniqueRef.Value, apierr.From(err)))
		return nil
	}
	middle := (from + to) / 2
	if err := b.land(ctx, tx, from, middle); err != nil {
		return err
	}
	return b.land(ctx, tx, middle, to)
}
