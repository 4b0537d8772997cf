package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/file"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// DeleteAll deletes transactions and takes them out of the books, all or none; transactions that are gone already
// are left out. It fails as Remove does for the first that cannot be deleted, and with errInUse for opening
// balances, which Remove deletes one by one.
func DeleteAll(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) error {
	// First, lock and read them, each by id.
	if _, err := tx.Exec(ctx, `select from transaction where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": ids}); err != nil {
		return fmt.Errorf("lock transactions: %w", err)
	}

	all, err := loadAll(ctx, tx, ids)
	if err != nil || len(all) == 0 {
		return err
	}

	// Then see whether each may go.
	found, stays := make([]id.ID, len(all)), idSet{}
	for i := range all {
		if all[i].IsOpeningBalance {
			return errInUse.With(apierr.InUse{LockReasons: []string{"openingBalance"}})
		}

		found[i] = all[i].ID
		stays.addReservations(&all[i])
	}

	// A payment that was tried or returned still needs the transaction.
	paid, err := db.Get[bool](ctx, tx, `
		select exists (select from payment where team_id = @team and transaction_id = any(@ids))
			or exists (select from payment_return where team_id = @team and (transaction_id = any(@ids) or original_id = any(@ids)))`,
		db.Args{"team": tx.Team, "ids": found})
	if err != nil {
		return fmt.Errorf("look for payments of transactions: %w", err)
	}

	if paid {
		return ErrAttempted
	}

	// Last, take them out of the books and away.
	if len(stays) > 0 {
		if err := tx.Pipeline(ctx, lockStays(tx, stays)); err != nil {
			return fmt.Errorf("lock reservations: %w", err)
		}
	}

	// No postings in their place: the ledger checks the locks and removes the entries.
	if _, err := ledger.Replace(ctx, tx, found, nil, l); err != nil {
		return fmt.Errorf("take transactions out of the books: %w", err)
	}

	stmts := make([]db.Stmt, 0, len(found)+1)

	for i := range all {
		note(tx, audit.Deleted, &all[i], nil)
		stmts = append(stmts, file.Detach(tx, all[i].ID, []id.ID{}))
	}

	stmts = append(stmts, db.Stmt{
		SQL: `delete from transaction where team_id = @team and id = any(@ids)`, Args: db.Args{"team": tx.Team, "ids": found},
	})
	if err := deletionError(
		tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return tx.Pipeline(ctx, stmts...) }),
	); err != nil {
		return err
	}

	// Stays that lost a deposit are derived again, because their fees charge the costs of deposits on.
	return reservation.Source().BookAfter(ctx, tx, stays.list(), l)
}
