package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

var adjustmentTable = db.NewTable[Adjustment]("reservation_adjustment", `
	id uuid key, reservation_id uuid fixed, unique_ref text, type text, description text, amount bigint, account_id uuid, party text,
	recurring_fee_id uuid, ownership_period_id uuid, reservation_ref text, general_ledger_posting_at date, metadata jsonb,
	created_at timestamptz fixed, updated_at timestamptz`)

// adjustmentSQL selects adjustments with the classification of their account and the accounts and parties of their
// fee; a condition follows it.
var adjustmentSQL = `
	select ` + adjustmentTable.ColumnsSQL("a") + `, coalesce(c.classification, '') as classification,
		coalesce(f.name, '') as fee_name, f.debit_account_id, f.credit_account_id, coalesce(f.debit_party, '') as debit_party,
		coalesce(f.credit_party, '') as credit_party
	from reservation_adjustment a
	left join account n on n.team_id = a.team_id and n.id = a.account_id
	left join account_category c on c.team_id = n.team_id and c.id = n.category_id
	left join fee f on f.team_id = a.team_id and f.id = a.recurring_fee_id
	where a.team_id = @team and `

// loadAdjustments loads the adjustments of reservations, by reservation, the oldest first.
func loadAdjustments(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]Adjustment, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	rows, err := db.Select[Adjustment](ctx, tx, adjustmentSQL+`a.reservation_id = any(@ids) order by a.reservation_id, a.created_at, a.id`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read reservation adjustments: %w", err)
	}

	out := map[id.ID][]Adjustment{}
	for i := range rows {
		out[rows[i].ReservationID] = append(out[rows[i].ReservationID], rows[i])
	}

	return out, nil
}

// loadAdjustment loads an adjustment of a reservation, or fails with apierr.NotFound.
func loadAdjustment(ctx context.Context, tx *db.Tx, reservationID, adjustmentID id.ID) (*Adjustment, error) {
	a, err := db.One[Adjustment](ctx, tx, apierr.NotFound, adjustmentSQL+`a.reservation_id = @reservation and a.id = @id`,
		db.Args{"team": tx.Team, "reservation": reservationID, "id": adjustmentID})

	return &a, err
}

// noteAdjustment writes the audit event of an adjustment. The event leaves out the fields that are computed.
func noteAdjustment(tx *db.Tx, what audit.Type, before, after *Adjustment) {
	type view struct {
		*Adjustment
		Status         *struct{} `json:"status,omitempty"`
		InactiveReason *struct{} `json:"inactiveReason,omitempty"`
	}

	var was, now any

	either := after
	if before != nil {
		was, either = view{Adjustment: before}, before
	}

	if after != nil {
		now = view{Adjustment: after}
	}

	audit.Note(
		tx, what, audit.Adjustment, either.ID, was, now,
		audit.Ref(audit.RoleReservation, audit.Reservation, either.ReservationID),
	)
}

// saveAdjustment inserts or updates an adjustment. It fails with a conflict for a uniqueRef that exists.
func saveAdjustment(ctx context.Context, tx *db.Tx, a *Adjustment) error {
	return constraintError(tx.Pipeline(ctx, adjustmentTable.Upsert(tx, a)))
}

// deleteAdjustmentRow deletes the row of an adjustment.
func deleteAdjustmentRow(ctx context.Context, tx *db.Tx, adjustmentID id.ID) error {
	_, err := tx.Exec(ctx, `delete from reservation_adjustment where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": adjustmentID})
	return err
}

// loadAccountByRef loads the id of an account by its uniqueRef, else by its code. It returns nil if there is none.
func loadAccountByRef(ctx context.Context, tx *db.Tx, ref string) (*id.ID, error) {
	return db.Maybe[id.ID](ctx, tx, `select id from account where team_id = @team and (unique_ref = @ref or code = @ref)
		order by unique_ref = @ref desc nulls last limit 1`, db.Args{"team": tx.Team, "ref": ref})
}
