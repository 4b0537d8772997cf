package reservation

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// kindName is what sources call reservations.
const kindName = "reservation"

// encode returns a value that can always be encoded as JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("reservation: encode a value: " + err.Error())
	}

	return raw
}

// Intake says how reservations from outside are taken in. Their values are the fields of BatchItem.
func Intake() intake.Kind { return intakeKind(ledger.Lenience{}) }

// LateIntake is Intake for records that locks hold: they are saved, and the locks hold back their journals.
func LateIntake() intake.Kind { return intakeKind(ledger.Lenience{SkipLocked: true}) }

// intakeKind says how reservations are taken in with lenience about locks.
func intakeKind(l ledger.Lenience) intake.Kind {
	door := &intake.Door[BatchItem]{
		Form: api.NewForm[BatchItem](),
		Name: func(item *BatchItem, of *id.ID) { item.ID = of },
		From: func(item *BatchItem, _ intake.Origin, externalID string) { item.externalID = externalID },
		Save: func(ctx context.Context, tx *db.Tx, from intake.Origin, items []BatchItem) ([]api.Attempt, error) {
			attempts, err := saveBatch(ctx, tx, &Batch{ConnectionID: from.ConnectionID, Data: items, lenience: l})
			if err != nil {
				return nil, err
			}

			return attempts, holdBack(ctx, tx, from, items, attempts)
		},
		Locked: IsLocked,
	}

	return intake.Kind{
		Name: kindName, Entity: audit.Reservation,
		Lists: map[string]intake.List{
			"lines": {Key: "type", Label: "description", Amount: "amount", Unit: "currency"},
		},
		Together: [][]string{{"checkIn", "checkOut"}}, Fills: []string{"currency"},
		Filled:  intake.LoadFilledFrom("reservation", "currency", "currency"),
		Lengths: door.Form.Lengths(),
		Any:     intake.AnyIn(kindName),
		Match:   recognize, Current: currentValues, Show: loadValues, Save: door.Write,
		Remove: door.Deactivate, Successors: loadSuccessors, Withhold: holdFormer,
		Freed: func(ctx context.Context, tx *db.Tx, from intake.Origin, names []string) error {
			return ledger.FreeWaiting(ctx, tx, from.SourceID, names)
		},
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

// holdFormer holds the changes of a system that the team has left by a cutover. Stays from the day of the cutover on
// are not read. A person decides about earlier stays that the system drops, and about changes to stays that the new
// system has, too.
func holdFormer(
	ctx context.Context, tx *db.Tx, from intake.Origin, changes []*intake.Change, entities []*id.ID,
) ([]intake.Withheld, error) {
	if from.ConnectionID == nil {
		return nil, nil
	}

	end, err := db.Maybe[day.Day](ctx, tx, `
		select accounting_end_at from connection where team_id = @team and id = @id and successor_id is not null and accounting_end_at is not null`,
		db.Args{"team": tx.Team, "id": from.ConnectionID})
	if err != nil || end == nil {
		return nil, err
	}

	s, err := loadSettings(ctx, tx)
	if err != nil {
		return nil, err
	}

	here, err := loadDated(ctx, tx, entities)
	if err != nil {
		return nil, err
	}

	out := make([]intake.Withheld, len(changes))

	for i, c := range changes {
		stay := here[ptr.Value(entities[i])]
		if stay == nil {
			stay = &datedStay{}
			stay.follow(c.Values)
		}

		// One that only this system has is read also when it comes to before the day.
		isBefore := stay.accountingDate(s).Before(*end)
		if !isBefore && !stay.IsPaired && !c.Gone {
			said := stay.Dates
			said.follow(c.Values)

			isBefore = said.accountingDate(s).Before(*end)
		}

		switch {
		case c.Gone && entities[i] == nil:
			// It never came here.
		case !isBefore:
			out[i].Skip = intake.Reason(OutsideWindow)
		case c.Gone, stay.IsPaired:
			out[i].Asks = true
		}
	}

	return out, nil
}

// datedStay is a reservation with its dates.
type datedStay struct {
	Dates

	ID       id.ID
	IsPaired bool // the system that the team has moved to has it as well
}

// loadDated loads the dates of reservations.
func loadDated(ctx context.Context, tx *db.Tx, entities []*id.ID) (map[id.ID]*datedStay, error) {
	rows, err := db.Select[datedStay](ctx, tx, `
		select r.id, r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at,
			exists (select from reservation_pair p where p.team_id = @team and p.source_id = r.id) as is_paired
		from reservation r where r.team_id = @team and r.id = any(@ids)`, db.Args{"team": tx.Team, "ids": entities})
	if err != nil {
		return nil, fmt.Errorf("read the dates of reservations: %w", err)
	}

	out := make(map[id.ID]*datedStay, len(rows))
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}

	return out, nil
}

// follow sets the dates that a source says of a stay.
func (d *Dates) follow(v intake.Values) {
	readValue(v["checkIn"], &d.CheckIn)
	readValue(v["checkOut"], &d.CheckOut)
	readValue(v["bookedAt"], &d.BookedAt)
}
