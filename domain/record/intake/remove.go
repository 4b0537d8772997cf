package intake

import (
	"context"
	"maps"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// removeGone makes records inactive that their source no longer has.
func (in *intake) removeGone(ctx context.Context, tx *db.Tx, k *Kind, changes []*Change, known map[key]*memory) error {
	if len(changes) == 0 {
		return nil
	}

	// First records that come under another id now: they are not gone.
	changes, err := in.replaceRenamed(ctx, tx, k, changes, known)
	if err != nil || len(changes) == 0 {
		return err
	}

	ids := make([]id.ID, len(changes))
	for i, c := range changes {
		ids[i] = *known[c.key()].EntityID
	}

	// A kind without Remove leaves its records as they are.
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
			in.addItem(c, was.EntityID, Done, "")

			row := was.row(gone, nil)
			row.Taken = followRemoval(was.Taken, before[ids[i]], after[ids[i]])
			in.records = append(in.records, row)
		case s.Locked:
			// Empty waiting values mean that a removal waits.
			in.addItem(c, was.EntityID, Skipped, Locked)

			row := was.row(active, Values{})
			row.Locked = true
			in.records = append(in.records, row)
		default:
			in.addRejection(c, was.EntityID, s.Refusal)
		}
	}

	return nil
}

// followRemoval returns the values last taken over, with the fields that a removal changed as it left them. They are
// no edits of a person, so they follow the source again if the record comes back.
func followRemoval(taken, before, after Values) Values {
	out := maps.Clone(taken)

	for field := range taken {
		was, _ := canonical(before[field])
		if is, _ := canonical(after[field]); is != was {
			out[field] = after[field]
		}
	}

	return out
}
