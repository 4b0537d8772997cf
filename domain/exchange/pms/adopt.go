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

// adopt moves to a connection what former connections of its account have brought: an account that is connected again
// has the same records, whichever connection brings them. Listings stay bound to the listings here, and the
// accounting window is inherited.
func (k *app) adopt(ctx context.Context, tx *db.Tx, connectionID id.ID) error {
	former, err := k.ListFormer(ctx, tx, connectionID)
	if err != nil {
		return err
	}

	// The newest former connection first, because its records win over older ones.
	for _, from := range slices.Backward(former) {
		if err := intake.Adopt(ctx, tx, connectionID, from); err != nil {
			return err
		}

		// The next sync tries waiting records again.
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

		// The connection can have another accounting window, so the books of its stays are stale.
		if _, err := ledger.Outdate(ctx, tx, ledger.Outdated{
			Sources: map[ledger.Noun][]id.ID{ledger.Reservations: adopted},
			Reason:  ledger.MappingChanged, Cause: operation.Resource{Type: operation.Connection, ID: connectionID},
		}); err != nil {
			return err
		}
	}

	return nil
}

// adoptRefs moves the listings of a former connection. Of listings that the new connection has read itself only the
// decisions move, unless they have one already, or their listing here is that of another one.
func adoptRefs(ctx context.Context, tx *db.Tx, into, from id.ID) error {
	err := tx.Pipeline(ctx, []db.Stmt{
		{
			SQL: `update listing_connection o set listing_id = r.listing_id, is_decided = true from listing_connection r
			where o.team_id = @team and o.connection_id = @into and not o.is_decided and r.team_id = @team and r.connection_id = @from
				and r.external_id = o.external_id and r.is_decided and not exists (
				select from listing_connection b where b.team_id = @team and b.connection_id = @into and b.listing_id = r.listing_id)`,
			Args: db.Args{"team": tx.Team, "into": into, "from": from},
		},
		{
			SQL: `update listing_connection r set connection_id = @into where team_id = @team and connection_id = @from and not exists (
			select from listing_connection o where o.team_id = @team and o.connection_id = @into and o.external_id = r.external_id)`,
			Args: db.Args{"team": tx.Team, "into": into, "from": from},
		},
		{
			SQL:  `delete from listing_connection where team_id = @team and connection_id = @from`,
			Args: db.Args{"team": tx.Team, "from": from},
		},
	}...)
	if err != nil {
		return fmt.Errorf("give a connection the listings of a former one: %w", err)
	}

	return nil
}

// reunite makes one stay of the stays that both an archived connection and another system have brought: the archived
// stay keeps its deposits and edits, and follows the other system from now on.
func reunite(ctx context.Context, tx *db.Tx, connectionID id.ID) error {
	twins, err := reservation.ListTwins(ctx, tx, connectionID)
	if err != nil || len(twins) == 0 {
		return err
	}

	// Lock sources before their records, as syncs do.
	if err := intake.IdentifyAnew(ctx, tx, reservationKind, twins); err != nil {
		return err
	}

	// Transactions that referred to the twins lose their stay, so their journals are stale as well.
	touched, err := reservation.Discard(ctx, tx, twins)
	if err != nil {
		return err
	}

	for _, stale := range []ledger.Outdated{
		{Sources: map[ledger.Noun][]id.ID{ledger.Reservations: twins}},
		{Sources: map[ledger.Noun][]id.ID{ledger.Transactions: touched}, Type: operation.TransactionJournal},
	} {
		stale.Reason = ledger.MappingChanged
		stale.Cause = operation.Resource{Type: operation.Connection, ID: connectionID}

		if _, err := ledger.Outdate(ctx, tx, stale); err != nil {
			return err
		}
	}

	return nil
}
