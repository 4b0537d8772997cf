package fee

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"What to do with a fee in use."`
}

// handler looks for what uses fees.
type handler struct{ used *parts.Usage }

// deleteOrArchive deletes a fee that is not in use, or archives one that is if the caller asks for it.
func (h handler) deleteOrArchive(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	f, err := loadFee(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	periods, err := loadPeriods(ctx, tx, f.ID)
	if err != nil {
		return nil, err
	}

	used, err := h.used.Load(ctx, tx, f.ID)
	if err != nil {
		return nil, err
	}

	// A fee that is not in use goes with its periods. One in use can only be archived, and its journals are derived
	// again.
	switch {
	case used.Deletion == nil:
		audit.Note(tx, audit.Deleted, audit.RecurringFee, f.ID, f, nil)

		for i := range periods {
			notePeriod(tx, audit.Deleted, &periods[i], nil)
		}

		return &api.None{}, deleteFee(ctx, tx, f.ID)
	case in.OnLocked == "archive":
		archived := f

		archived.Status, archived.UpdatedAt = inactive, day.At(tx.Now)
		if err := tx.Pipeline(ctx, feeStatements(tx, &archived)...); err != nil {
			return nil, err
		}

		audit.Note(tx, audit.Updated, audit.RecurringFee, f.ID, f, archived)
		_, err := outdate(ctx, tx, feeChange{before: &f, after: &archived, old: periods, new: periods})

		return &api.None{}, err
	default:
		return nil, errInUse.With(apierr.InUse{LockReasons: used.Deletion, SuggestedOnLocked: apierr.Archive})
	}
}

// deleteFee deletes a fee that is not in use. Journals that still wait for it, or that could not be derived with it,
// are derived without it.
func deleteFee(ctx context.Context, tx *db.Tx, feeID id.ID) error {
	args := db.Args{"team": tx.Team, "id": feeID}

	_, err := tx.Exec(ctx, `delete from fee where team_id = @team and id = @id`, args)
	switch {
	case db.Constraint(err) == "reservation_adjustment_fee":
		// An adjustment came in since the use was looked at.
		return errInUse.With(
			apierr.InUse{LockReasons: []string{"reservations"}, SuggestedOnLocked: apierr.Archive},
		).Because(err)
	case err != nil:
		return fmt.Errorf("delete recurring fee: %w", err)
	}

	// Stale journals name the fee as their cause. They are marked again, so that an operation derives them.
	stale, err := db.Select[id.ID](ctx, tx, `select source_id from ledger_stale where team_id = @team and cause_id = @id and source = 'reservation'
		order by source_id`, args)
	if err != nil {
		return fmt.Errorf("find the journals that wait for a recurring fee: %w", err)
	}

	_, err = ledger.Outdate(ctx, tx, ledger.Outdated{
		Reason:  ledger.FeeChanged,
		Cause:   operation.Resource{Type: operation.RecurringFee, ID: feeID},
		Sources: map[ledger.Noun][]id.ID{ledger.Reservations: stale},
	})

	return err
}
