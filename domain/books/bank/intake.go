package bank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Intake says how bank records from a feed are taken in. Their values are the fields of BatchItem, without accountId:
// the account of the chart is the one that the account at the bank is attached to.
func Intake(rules Rules) intake.Kind {
	door := &intake.Door[BatchItem]{
		Form: api.NewForm[BatchItem](),
		Name: func(item *BatchItem, of *id.ID) { item.ID = of },
		Save: func(ctx context.Context, tx *db.Tx, from intake.Origin, items []BatchItem) ([]api.Attempt, error) {
			saved, err := rules.Save(ctx, tx, &from.SourceID, items)

			out := make([]api.Attempt, len(saved))
			for i, o := range saved {
				out[i] = api.Attempt{ID: o.ID, Refusal: o.Refusal}
			}

			return out, err
		},
		Locked: func(err error) bool { return errors.Is(err, ErrReconciled) || errors.Is(err, errRuleMatched) },
	}

	return intake.Kind{
		Name: "bankRecord", Match: matchIntake, Current: currentValues, Save: door.Write,
		Present: intake.Values{"status": json.RawMessage(`"active"`)},
		// What the bank takes back counts no more, and stays readable.
		Remove: func(ctx context.Context, tx *db.Tx, from intake.Origin, ids []id.ID) ([]intake.Saved, error) {
			writes := make([]intake.Write, len(ids))
			for i := range ids {
				writes[i] = intake.Write{ID: &ids[i], Fields: intake.Values{"status": json.RawMessage(`"inactive"`)}}
			}

			return door.Write(ctx, tx, from, writes)
		},
	}
}

// matchIntake finds the records with the same reference, which is unique in the team.
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
		select g.n, r.id from unnest(@refs::text[]) with ordinality as g (ref, n)
		cross join lateral (select id from bank_record where team_id = @team and unique_ref = g.ref`+db.Fence+`) r`, db.Args{"team": tx.Team, "refs": refs})
	if err != nil {
		return nil, fmt.Errorf("match bank records: %w", err)
	}

	out := make([]intake.Match, len(unknown))
	for _, r := range found {
		out[r.N-1] = intake.Match{ID: &r.ID}
	}

	return out, nil
}

// currentValues locks bank records and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	_, found, err := lockToChange(ctx, tx, ids, nil)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for v, h := range found {
		if out[v], err = intake.Encode(struct {
			*storedRecord
			BankAccountID *id.ID `json:"bankAccountId"`
		}{&h.storedRecord, h.BankAccountID}); err != nil {
			return nil, err
		}
	}

	return out, nil
}
