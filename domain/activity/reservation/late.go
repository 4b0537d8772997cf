package reservation

import (
	"context"
	"errors"
	"maps"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// holdBack keeps what locks hold back of items that they have refused: what the books would have more with each.
func holdBack(ctx context.Context, tx *db.Tx, from intake.Origin, items []BatchItem, attempts []api.Attempt) error {
	// What a person asks for outside of a sync is refused, and does not wait.
	if from.SyncID.IsZero() {
		return nil
	}

	var waiting []ledger.Waiting

	for i := range attempts {
		if attempts[i].Refusal == nil || !IsLocked(attempts[i].Refusal) {
			continue
		}

		w, err := measure(ctx, tx, from, &items[i])
		if err != nil {
			return err
		}

		if w != nil {
			waiting = append(waiting, *w)
		}
	}

	return ledger.HoldWaiting(ctx, tx, waiting)
}

// errMeasured undoes a save that was made to measure it.
var errMeasured = errors.New("reservation: what was saved is measured")

// measure returns what the books would have more with an item that a lock refuses, nil for nothing. It saves the
// item, and undoes that.
func measure(ctx context.Context, tx *db.Tx, from intake.Origin, item *BatchItem) (*ledger.Waiting, error) {
	var before map[id.ID][]ledger.HeldLine

	late := ledger.Collecting()

	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		batch := &Batch{
			ConnectionID: from.ConnectionID, Data: []BatchItem{*item},
			lenience: ledger.Lenience{SkipLocked: true, Late: late},
		}
		if _, err := saveBatch(ctx, tx, batch); err != nil {
			return err
		}

		return errMeasured
	})
	if !errors.Is(err, errMeasured) {
		return nil, err
	}

	sources := slices.SortedFunc(maps.Keys(late.Held), id.ID.Compare)
	if len(sources) == 0 {
		return nil, nil //nolint:nilnil // nothing is held back
	}

	// What is held back of the record as it is here is not held back by this change.
	if before, err = ledger.LoadHeldLines(ctx, tx, sources); err != nil {
		return nil, err
	}

	w := &ledger.Waiting{
		Noun: ledger.Reservations, Origin: from.SourceID, Name: item.externalID, HeldBack: late.Held[sources[0]],
	}
	w.Lines = nil

	for _, source := range sources {
		w.Lines = append(w.Lines, ledger.Less(late.Held[source].Lines, before[source])...)
	}

	if item.ID != nil {
		w.SourceID = *item.ID
	}

	// A new record has no id yet.
	for i := range w.Lines {
		if item.ID == nil {
			w.Lines[i].ReservationID = id.Zero
		}
	}

	return w, nil
}
