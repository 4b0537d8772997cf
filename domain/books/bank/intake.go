package bank

import (
	"context"
	"encoding/json"
	"errors"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Intake says how bank records from a feed or a file are taken in. Their values are the fields of BatchItem, without accountId:
// the account of the chart is the account to which the account at the bank is attached. Records of a file name it themselves.
func Intake(rules Rules) intake.Kind {
	door := &intake.Door[BatchItem]{
		Form: api.NewForm[BatchItem](),
		Name: func(item *BatchItem, of *id.ID) { item.ID = of },
		From: func(item *BatchItem, from intake.Origin, _ string) {
			if from.IsFile {
				item.Source = CSV
			}
		},
		Save: func(ctx context.Context, tx *db.Tx, from intake.Origin, items []BatchItem) ([]api.Attempt, error) {
			feed := &from.SourceID
			if from.IsFile {
				feed = nil
			}

			saved, err := rules.Save(ctx, tx, feed, items)

			out := make([]api.Attempt, len(saved))
			for i, o := range saved {
				out[i] = api.Attempt{ID: o.ID, Refusal: o.Refusal}
			}

			return out, err
		},
		Locked: func(err error) bool { return errors.Is(err, ErrReconciled) || errors.Is(err, errRuleMatched) },
	}

	return intake.Kind{
		Name: "bankRecord", Entity: audit.BankRecord, Match: intake.MatchByRef("bank_record"), Current: currentValues,
		Show: loadValues, Save: door.Write,
		// What the bank takes back counts no more, and stays readable.
		Present: intake.Values{"status": json.RawMessage(`"active"`)}, Remove: door.Deactivate,
		Lengths: door.Form.Lengths("uniqueRef"),
		// What came another way than by a file can have another day.
		Any: intake.AnyIn("bank_record"),
		Alike: intake.SelectAlike("d.id, d.date, d.description", "bank_record", `d.account_id = g.account and d.amount = g.amount and d.type = 'transaction'
			and d.status = 'active' and (d.date = g.date or d.source <> 'csv' and d.date between g.date - 3 and g.date + 3)`, "abs(d.date - g.date), d.id"),
	}
}

// currentValues locks bank records and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	_, found, err := lockToChange(ctx, tx, ids, nil)
	if err != nil {
		return nil, err
	}

	return encodeValues(found)
}

// loadValues returns the values of bank records.
func loadValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := loadWithState(ctx, tx, ids, "")
	if err != nil {
		return nil, err
	}

	return encodeValues(found)
}

// encodeValues returns the values of bank records by id.
func encodeValues(found map[id.ID]*lockedRecord) (_ map[id.ID]intake.Values, err error) {
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
