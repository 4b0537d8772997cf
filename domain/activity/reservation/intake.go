package reservation

import (
	"context"
	"encoding/json"
	"fmt"

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
		Name: "reservation", Entity: audit.Reservation, Lists: map[string][]string{"lines": {"type", "description"}},
		Match: matchIntake, Current: currentValues, Show: loadValues, Save: door.Write,
		Remove: door.Deactivate,
	}
}

// matchIntake finds the reservations of the same listing that have the same confirmation code. Several of one code are
// ambiguous. Those of another connection are its own until it is archived: a team that moves to another system has both
// for a while, and a cutover says which of their reservations are the same.
func matchIntake(ctx context.Context, tx *db.Tx, from intake.Origin, unknown []intake.Change) ([]intake.Match, error) {
	type stay struct {
		ListingID        id.ID  `json:"listingId"`
		ConfirmationCode string `json:"confirmationCode"`
	}

	wanted := make([]stay, len(unknown))
	for i := range unknown {
		// Values that do not fit are refused when they are saved.
		_ = json.Unmarshal(unknown[i].Values["listingId"], &wanted[i].ListingID)
		_ = json.Unmarshal(unknown[i].Values["confirmationCode"], &wanted[i].ConfirmationCode)
	}

	type row struct {
		N   int64
		IDs []id.ID
	}

	found, err := db.Select[row](ctx, tx, `
		select g.n, array_agg(r.id order by r.id) as ids
		from rows from (jsonb_to_recordset(@wanted) as ("listingId" uuid, "confirmationCode" text)) with ordinality as g ("listingId", "confirmationCode", n)
		cross join lateral (
			select id from reservation s where team_id = @team and listing_id = g."listingId" and confirmation_code = g."confirmationCode"
				and (connection_id is null or connection_id = @connection or exists (
					select from connection c where c.team_id = @team and c.id = s.connection_id and c.status = 'archived'))`+db.Fence+`) r
		where g."confirmationCode" <> '' group by g.n`, db.Args{"team": tx.Team, "wanted": wanted, "connection": from.ConnectionID})
	if err != nil {
		return nil, fmt.Errorf("match reservations: %w", err)
	}

	out := make([]intake.Match, len(unknown))
	for _, r := range found {
		out[r.N-1] = intake.Match{ID: &r.IDs[0], Ambiguous: len(r.IDs) > 1}
	}

	return out, nil
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
	}

	return out, nil
}
