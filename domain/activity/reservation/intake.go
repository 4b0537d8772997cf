package reservation

import (
	"context"
	"encoding/json"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Intake says how reservations from outside are taken in. Their values are the fields of BatchItem.
func Intake() intake.Kind {
	door := &intake.Door[BatchItem]{
		Form: api.NewForm[BatchItem](),
		Name: func(item *BatchItem, of *id.ID) { item.ID = of },
		Save: func(ctx context.Context, tx *db.Tx, from intake.Origin, items []BatchItem) ([]api.Attempt, error) {
			return Save(ctx, tx, &Batch{ConnectionID: from.ConnectionID, Data: items})
		},
		Locked: isLocked,
	}

	return intake.Kind{
		Name: "reservation", Entity: audit.Reservation, ShowsIssues: true,
		Lists:    map[string]intake.List{"lines": {Key: "type", Label: "description", Amount: "amount", Unit: "currency"}},
		Together: [][]string{{"checkIn", "checkOut"}}, Fills: []string{"currency"}, Filled: intake.FilledColumn("reservation", "currency", "currency"),
		Lengths: door.Form.Lengths(),
		Match:   recognize, Current: currentValues, Show: loadValues, Save: door.Write,
		Remove: door.Deactivate, Successors: loadSuccessors,
	}
}

// currentValues locks reservations and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	if _, err := lockNamed(ctx, tx, ids, nil); err != nil {
		return nil, err
	}

	return loadValues(ctx, tx, ids)
}

// loadValues returns the values of reservations.
func loadValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := loadReservations(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	own, err := loadOwnRecords(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for i := range found {
		own.attach(&found[i])

		// The fields of an event are those that callers write.
		if out[found[i].ID], err = intake.Encode(auditView(&found[i])); err != nil {
			return nil, err
		}

		// A day of cancellation that was filled in is no one's word.
		if found[i].CancelledAtIsAssumed {
			out[found[i].ID]["cancelledAt"] = json.RawMessage("null")
		}
	}

	return out, nil
}
