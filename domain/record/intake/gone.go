package intake

import (
	"context"
	"maps"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// remove makes records inactive that the source has no more.
func (in *intake) remove(ctx context.Context, tx *db.Tx, k *Kind, changes []*Change, known map[key]*memory) error {
	if len(changes) == 0 {
		return nil
	}

	changes, err := in.replace(ctx, tx, k, changes, known)
	if err != nil || len(changes) == 0 {
		return err
	}

	ids := make([]id.ID, len(changes))
	for i, c := range changes {
		ids[i] = *known[c.key()].EntityID
	}

	// A kind that removes nothing leaves its records as they are.
	saved, before, after := make([]Saved, len(ids)), map[id.ID]Values{}, map[id.ID]Values{}

	if k.Remove != nil {
		if before, err = k.Current(ctx, tx, ids); err != nil {
			return err
		}

		if saved, err = k.Remove(ctx, tx, in.origin, ids); err != nil {
			return err
		}

		if after, err = k.Current(ctx, tx, ids); err != nil {
			return err
		}
	}

	for i, c := range changes {
		was := known[c.key()]

		switch s := &saved[i]; {
		case s.Refusal == nil:
			in.note(c, was.EntityID, Done, "")

			row := was.row(gone, nil)
			row.Taken = follow(was.Taken, before[ids[i]], after[ids[i]])
			in.keep = append(in.keep, row)
		case s.Locked:
			// Waiting for nothing is a removal that waits.
			in.note(c, was.EntityID, Skipped, Locked)

			row := was.row(active, Values{})
			row.Locked = true
			in.keep = append(in.keep, row)
		default:
			in.reject(c, was.EntityID, s.Refusal)
		}
	}

	return nil
}

// follow returns what was taken over with the fields that a removal has changed as it left them: nobody here has changed
// them, so that they follow the source again if it has the record again.
func follow(taken, before, after Values) Values {
	out := maps.Clone(taken)

	for field := range taken {
		was, _ := canonical(before[field])
		if is, _ := canonical(after[field]); is != was {
			out[field] = after[field]
		}
	}

	return out
}
