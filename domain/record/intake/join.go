package intake

import (
	"context"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// saveAndJoin has the kind save changes, and joins new records with records here that are the same in the world. It
// returns an outcome for each change.
func (in *intake) saveAndJoin(ctx context.Context, tx *db.Tx, k *Kind, writes []*pending) ([]Saved, error) {
	isNew := func(p *pending) bool { return p.write.ID == nil }
	joins := k.Join != nil && slices.ContainsFunc(writes, isNew)

	if joins {
		var err error
		if joins, err = k.Join.Applies(ctx, tx, in.origin); err != nil {
			return nil, err
		}
	}

	if !joins {
		return in.saveAll(ctx, tx, k, writes)
	}

	// A refused join must undo the save of its record only, so halve the batch until the refused records are alone.
	saved := make([]Saved, len(writes))

	saveHalf := func(ctx context.Context, tx *db.Tx, from, to int) error {
		some, err := in.saveAll(ctx, tx, k, writes[from:to])
		if err != nil {
			return err
		}

		copy(saved[from:to], some)

		return in.joinNew(ctx, tx, k, writes[from:to], some)
	}

	refusals, err := db.Halves(ctx, tx, len(writes), apierr.IsRefusal, saveHalf)
	if err != nil {
		return nil, err
	}

	for i, refusal := range refusals {
		if refusal != nil {
			saved[i] = Saved{Refusal: apierr.From(refusal), Locked: k.Join.Locked(refusal)}
			writes[i].isSaved = false
		}
	}

	return saved, nil
}

// saveAll has the kind save changes, and notes the fields that it filled in.
func (in *intake) saveAll(ctx context.Context, tx *db.Tx, k *Kind, writes []*pending) ([]Saved, error) {
	all := make([]Write, len(writes))
	for i, p := range writes {
		all[i] = p.write
	}

	saved, err := k.Save(ctx, tx, in.origin, all)
	if err != nil {
		return nil, err
	}

	return saved, k.loadFilled(ctx, tx, writes, saved)
}

// joinNew joins the new records among the saved ones. It saves their external records first: joining can turn what
// the source said into a conflict.
func (in *intake) joinNew(ctx context.Context, tx *db.Tx, k *Kind, writes []*pending, saved []Saved) error {
	var (
		rows    []recordRow
		created []id.ID
	)

	for i, p := range writes {
		if s := &saved[i]; p.write.ID == nil && s.Refusal == nil && !s.ID.IsZero() {
			rows, created = append(rows, p.row(&s.ID)), append(created, s.ID)
			p.isSaved = true
		}
	}

	if len(created) == 0 {
		return nil
	}

	if err := upsertRecords(ctx, tx, in.origin, rows); err != nil {
		return err
	}

	return k.Join.Do(ctx, tx, in.origin, created)
}
