package tax

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// outdate marks the journals that a changed rate makes stale: those of the stays that a fee with the tax is charged
// on, with the fee as the cause. It starts the operations that derive them. The tax of a transaction is the one on
// its bill and stays.
func outdate(ctx context.Context, tx *db.Tx, rate id.ID) error {
	fees, err := loadChargedFees(ctx, tx, rate)
	if err != nil {
		return err
	}

	// One operation for each fee: the fee is the cause that journals show.
	for _, f := range fees {
		_, err := ledger.Outdate(ctx, tx, ledger.Outdated{
			Reason:  ledger.FeeChanged,
			Cause:   operation.Resource{Type: operation.RecurringFee, ID: f.FeeID},
			Sources: map[ledger.Noun][]id.ID{ledger.Reservations: f.Reservations},
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// chargedFee are the stays with entries of a fee.
type chargedFee struct {
	FeeID        id.ID
	Reservations []id.ID
}

// loadChargedFees loads, by fee with the tax, the stays that it or a fee that builds on it is charged on. A stay
// without such entries is charged nothing at any rate.
func loadChargedFees(ctx context.Context, tx *db.Tx, rate id.ID) ([]chargedFee, error) {
	// The query follows the references of fees from those with the tax to all that build on them.
	found, err := db.Select[chargedFee](ctx, tx, `
		with recursive affected (root, fee) as (
			select id, id from fee where team_id = @team and tax_rate_id = @rate
			union select a.root, r.fee_id from affected a join fee_reference r on r.team_id = @team and r.target_fee_id = a.fee)
		select a.root as fee_id, array_agg(distinct e.reservation_id order by e.reservation_id) as reservations
		from affected a join ledger_entry e on e.team_id = @team and e.recurring_fee_id = a.fee and e.reservation_id is not null
		group by a.root order by a.root`, db.Args{"team": tx.Team, "rate": rate})
	if err != nil {
		return nil, fmt.Errorf("find reservations charged with a tax: %w", err)
	}

	return found, nil
}
