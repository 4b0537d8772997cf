package api

import (
	"context"
	"errors"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Written is an item of a batch that landed.
type Written struct {
	ID        id.ID   `json:"id"`
	UniqueRef *string `json:"uniqueRef"`
	Index     int     `json:"index" doc:"Place in the request, from 0."`
}

// Refused is an item of a batch that did not land. Rules ERR-18, ERR-19.
type Refused struct {
	Index     int           `json:"index" doc:"Place in the request, from 0."`
	UniqueRef *string       `json:"uniqueRef"`
	Code      apierr.Code   `json:"code"`
	Reason    apierr.Reason `json:"reason,omitempty"`
	Message   string        `json:"message"`
	Context   any           `json:"context,omitempty"`
}

// Outcome lists the written and the refused items of a batch.
type Outcome struct {
	Data   []Written `json:"data"`
	Issues []Refused `json:"issues"`
}

// Refusal returns the error of an item. The findings of a validation are in the context, since an item has no
// issues of its own.
func Refusal(index int, ref *string, e *apierr.Error) Refused {
	out := Refused{
		Index:     index,
		UniqueRef: ref,
		Code:      e.Code(),
		Reason:    e.Reason(),
		Message:   e.Message(),
		Context:   e.Context(),
	}
	if issues := e.Issues(); out.Context == nil && len(issues) > 0 {
		out.Context = map[string]any{"issues": issues}
	}

	return out
}

// Attempt is the outcome of one item of a batch: it was saved, or refused. The zero value is one that was left out.
type Attempt struct {
	ID        id.ID
	UniqueRef *string
	Refusal   *apierr.Error
}

// errNothingLands rolls an atomic batch back if one of its items was refused.
var errNothingLands = errors.New("an item of an atomic batch was refused")

// Land saves the items of a batch and returns the answer: the saved and the refused ones in the order of the request. With
// atomic nothing is saved if one of them is refused.
func Land(
	ctx context.Context, tx *db.Tx,
	atomic bool,
	save func(ctx context.Context, tx *db.Tx) ([]Attempt, error),
) (*Outcome, error) {
	out := &Outcome{Data: []Written{}, Issues: []Refused{}}

	// One savepoint around everything lets an atomic batch be undone and still be answered.
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		attempts, err := save(ctx, tx)
		if err != nil {
			return err
		}

		for i, a := range attempts {
			switch {
			case a.Refusal != nil:
				out.Issues = append(out.Issues, Refusal(i, a.UniqueRef, a.Refusal))
			case !a.ID.IsZero():
				out.Data = append(out.Data, Written{ID: a.ID, UniqueRef: a.UniqueRef, Index: i})
			}
		}

		if atomic && len(out.Issues) > 0 {
			return errNothingLands
		}

		return nil
	})
	if errors.Is(err, errNothingLands) {
		out.Data, err = []Written{}, nil
	}

	return out, err
}
