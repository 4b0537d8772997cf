package pms

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// adopt gives a connection what former connections of its account have brought: an account that is connected again has
// the same records, whichever connection brings them. Their listings stay what they were here, and so does the accounting
// window.
func (k *app) adopt(ctx context.Context, tx *db.Tx, connectionID id.ID) error {
	former, err := k.ListFormer(ctx, tx, connectionID)
	if err != nil {
		return err
	}

	// The newest first: what it has brought is not replaced by what an older one has.
	for _, from := range slices.Backward(former) {
		if err := intake.Adopt(ctx, tx, connectionID, from); err != nil {
			return err
		}

		// What waits is tried again by the next sync.
		if err := ledger.FreeWaiting(ctx, tx, from, nil); err != nil {
			return err
		}

		if err := adoptRefs(ctx, tx, connectionID, from); err != nil {
			return err
		}

		adopted, err := reservation.Adopt(ctx, tx, connectionID, from)
		if err != nil {
			return err
		}

		if err := connection.InheritWindow(ctx, tx, connectionID, from); err != nil {
			return err
		}

		// The window of the connection can be another one.
		if _, err := ledger.Outdate(ctx, tx, ledger.Outdated{
			Sources: map[ledger.Noun][]id.ID{ledger.Reservations: adopted},
			Reason:  ledger.MappingChanged, Cause: operation.Resource{Type: operation.Connection, ID: connectionID},
		}); err != nil {
			return err
		}
	}

	return nil
}

// adoptRefs gives a connection the listings of a former one, except those that it has itself.
func adoptRefs(ctx context.Context, tx *db.Tx, into, from id.ID) error {
	for _, stmt := range []db.Stmt{
		{
			SQL: `update listing_connection r set connection_id = @into where team_id = @team and connection_id = @from and not exists (
			select from listing_connection o where o.team_id = @team and o.connection_id = @into and o.external_id = r.external_id)`,
			Args: db.Args{"team": tx.Team, "into": into, "from": from},
		},
		{SQL: `delete from listing_connection where team_id = @team and connection_id = @from`, Args: db.Args{"team": tx.Team, "from": from}},
	} {
		if _, err := tx.Exec(ctx, stmt.SQL, stmt.Args); err != nil {
			return fmt.Errorf("give a connection the listings of a former one: %w", err)
		}
	}

	return nil
}

// reunite has stays that an archived connection and another system have brought become one: that of the archived one, with
// its deposits and what people have done to it, which follows the other system from now on.
func reunite(ctx context.Context, tx *db.Tx, connectionID id.ID) error {
	twins, err := reservation.ListTwins(ctx, tx, connectionID)
	if err != nil || len(twins) == 0 {
		return err
	}

	// Sources come before records in the order of locks.
	if err := intake.IdentifyAnew(ctx, tx, reservationKind, twins); err != nil {
		return err
	}

	touched, err := reservation.Discard(ctx, tx, twins)
	if err != nil {
		return err
	}

	for _, stale := range []ledger.Outdated{
		{Sources: map[ledger.Noun][]id.ID{ledger.Reservations: twins}},
		{Sources: map[ledger.Noun][]id.ID{ledger.Transactions: touched}, Type: operation.TransactionJournal},
	} {
		stale.Reason, stale.Cause = ledger.MappingChanged, operation.Resource{Type: operation.Connection, ID: connectionID}
		if _, err := ledger.Outdate(ctx, tx, stale); err != nil {
			return err
		}
	}

	return nil
}
