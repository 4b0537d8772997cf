package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// adjustmentSQL selects adjustments with the classification of their account and the accounts and parties of their
// fee; a condition follows it.
const adjustmentSQL = `
	select a.id, a.reservation_id, a.unique_ref, a.type, a.description, a.amount, a.account_id, a.party, a.recurring_fee_id, a.ownership_period_id, a.reservation_ref,
		a.general_ledger_posting_at, a.metadata, a.created_at, a.updated_at, coalesce(c.classification, '') as classification,
		coalesce(f.name, '') as fee_name, f.debit_account_id, f.credit_account_id, coalesce(f.debit_party, '') as debit_party,
		coalesce(f.credit_party, '') as credit_party
	from reservation_adjustment a
	left join account n on n.team_id = a.team_id and n.id = a.account_id
	left join account_category c on c.team_id = n.team_id and c.id = n.category_id
	left join fee f on f.team_id = a.team_id and f.id = a.recurring_fee_id
	where a.team_id = @team and `

// loadAdjustments loads the adjustments of reservations, by reservation, the oldest first.
func loadAdjustments(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]Adjustment, error) {
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

const upsertAdjustment = `
	insert into reservation_adjustment (team_id, id, reservation_id, unique_ref, type, description, amount, account_id, party, recurring_fee_id,
		ownership_period_id, reservation_ref, general_ledger_posting_at, metadata, created_at, updated_at)
	values (@team, @id, @reservation_id, @unique_ref, @type, @description, @amount, @account_id, @party, @recurring_fee_id,
		@ownership_period_id, @reservation_ref, @general_ledger_posting_at, @metadata, @created_at, @updated_at)
	on conflict (team_id, id) do update set unique_ref = excluded.unique_ref, type = excluded.type, description = excluded.description,
		amount = excluded.amount, account_id = excluded.account_id, party = excluded.party, recurring_fee_id = excluded.recurring_fee_id,
		ownership_period_id = excluded.ownership_period_id, reservation_ref = excluded.reservation_ref, general_ledger_posting_at = excluded.general_ledger_posting_at, metadata = excluded.metadata,
		updated_at = excluded.updated_at`

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
	_, err := tx.Exec(ctx, upsertAdjustment, db.Args{
		"team":                      tx.Team,
		"id":                        a.ID,
		"reservation_id":            a.ReservationID,
		"unique_ref":                a.UniqueRef,
		"type":                      string(a.Type),
		"description":               a.Description,
		"amount":                    a.Amount,
		"account_id":                a.AccountID,
		"party":                     (*string)(a.Party),
		"recurring_fee_id":          a.RecurringFeeID,
		"ownership_period_id":       a.OwnershipPeriodID,
		"reservation_ref":           a.ReservationRef,
		"general_ledger_posting_at": a.GeneralLedgerPostingAt,
		"metadata":                  a.Metadata,
		"created_at":                a.CreatedAt,
		"updated_at":                a.UpdatedAt,
	})

	return constraintError(err)
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
