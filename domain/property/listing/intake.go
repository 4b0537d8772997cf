package listing

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Intake says how listings from outside are taken in. Their values are the fields of BatchItem.
func (h Listings) Intake() intake.Kind {
	door := &intake.Door[BatchItem]{
		Form: api.NewForm[BatchItem](),
		Name: func(item *BatchItem, of *id.ID) { item.ID = of },
		Save: func(ctx context.Context, tx *db.Tx, _ intake.Origin, items []BatchItem) ([]api.Attempt, error) {
			return h.save(ctx, tx, items)
		},
	}

	// A listing that its source has no more stays as it is: its guests and books stay too, and only people say that it is
	// not managed any more.
	return intake.Kind{Name: "listing", Match: matchIntake, Current: currentValues, Save: door.Write}
}

// matchIntake finds the listings with the same reference, which is unique in the team. Names are never enough.
func matchIntake(ctx context.Context, tx *db.Tx, _ intake.Origin, unknown []intake.Change) ([]intake.Match, error) {
	refs := make([]string, len(unknown))
	for i := range unknown {
		// Values that do not fit are refused when they are saved.
		_ = json.Unmarshal(unknown[i].Values["uniqueRef"], &refs[i])
	}

	type row struct {
		N  int64
		ID id.ID
	}

	found, err := db.Select[row](ctx, tx, `
		select g.n, l.id from unnest(@refs::text[]) with ordinality as g (ref, n)
		cross join lateral (select id from listing where team_id = @team and unique_ref = g.ref`+db.Fence+`) l`, db.Args{"team": tx.Team, "refs": refs})
	if err != nil {
		return nil, fmt.Errorf("match listings: %w", err)
	}

	out := make([]intake.Match, len(unknown))
	for _, r := range found {
		out[r.N-1] = intake.Match{ID: &r.ID}
	}

	return out, nil
}

// currentValues locks listings and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := lockAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for v, l := range found {
		if out[v], err = intake.Encode(l); err != nil {
			return nil, err
		}
	}

	return out, nil
}
