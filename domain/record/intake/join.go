package intake

import (
	"context"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// write has the kind save changes, and join the new records among them with those here that are the same in the world. It returns
// an outcome for each.
func (in *intake) write(ctx context.Context, tx *db.Tx, k *Kind, writes []*pending) ([]Saved, error) {
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

	saved := make([]Saved, len(writes))

	refusals, err := db.Halves(ctx, tx, len(writes), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		some, err := in.saveAll(ctx, tx, k, writes[from:to])
		if err != nil {
			return err
		}

		copy(saved[from:to], some)

		return in.join(ctx, tx, k, writes[from:to], some)
	})
	if err != nil {
		return nil, err
	}

	for i, refusal := range refusals {
		if refusal != nil {
			saved[i] = Saved{Refusal: apierr.From(refusal), Locked: k.Join.Locked(refusal)}
			writes[i].isKept = false
		}
	}

	return saved, nil
}

// saveAll has the kind save changes.
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

// join joins the new records among saved ones. What their source said is saved before that: it can become a conflict.
func (in *intake) join(ctx context.Context, tx *db.Tx, k *Kind, writes []*pending, saved []Saved) error {
	var (
		rows    []keepRow
		created []id.ID
	)

	for i, p := range writes {
		if s := &saved[i]; p.write.ID == nil && s.Refusal == nil && !s.ID.IsZero() {
			rows, created = append(rows, p.row(&s.ID)), append(created, s.ID)
			p.isKept = true
		}
	}

	if len(created) == 0 {
		return nil
	}

	if err := remember(ctx, tx, in.origin, rows); err != nil {
		return err
	}

	return k.Join.Do(ctx, tx, in.origin, created)
}
