package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/trial"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Source describes to the ledger how the journals of transactions are found and derived.
func Source() *ledger.Source {
	return &ledger.Source{
		Noun:      ledger.Transactions,
		Touched:   loadTouched,
		AtOnce:    trial.Rebook,
		Derive:    derive,
		Operation: operation.TransactionJournal,
		Resource:  operation.Transaction,
		Group:     "id",
		Having:    "status = 'active'",
	}
}

// loadTouched loads the transactions that are affected by a change of the records which their journals depend on: those
// with a line on the listings, and those with entries on an assignment that deriving looks up each time. Other
// assignments are looked up once, when a transaction is written.
func loadTouched(ctx context.Context, tx *db.Tx, b ledger.Basis) ([]id.ID, error) {
	found, err := loadIDsByListing(ctx, tx, b.Listings)
	if err != nil {
		return nil, err
	}

	// The assignments that derivation.assigned asks for.
	assigned, err := ledger.ListByAssignments(
		ctx, tx, ledger.Transactions, b.Assignments,
		string(account.ExpenseSalesTax), string(account.AccountsPayable), string(account.ExpenseMarkup),
		string(account.DueToFromTrust), string(account.PayoutDistribution),
	)

	found = append(found, assigned...)
	if err != nil || !b.Settings {
		return found, err
	}

	// How stays are recognised decides which owners have the money that names them.
	named, err := loadIDsByStays(ctx, tx)

	return append(found, named...), err
}

// loadIDsByStays loads the active transactions with lines of the owners that name reservations.
func loadIDsByStays(ctx context.Context, tx *db.Tx) ([]id.ID, error) {
	ids, err := db.Select[id.ID](ctx, tx, `
		select t.id from transaction t where t.team_id = @team and t.status = 'active' and exists (
			select from transaction_line l where l.team_id = @team and l.transaction_id = t.id and l.party = 'owners' and l.reservation_id is not null)`,
		db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("find the owners' money of reservations: %w", err)
	}

	return ids, nil
}

// loadIDsByListing loads the active transactions with a line on some listings, none for nil.
func loadIDsByListing(ctx context.Context, tx *db.Tx, listingIDs []id.ID) ([]id.ID, error) {
	if listingIDs == nil {
		return nil, nil
	}

	ids, err := db.Select[id.ID](ctx, tx, `
		select t.id from transaction t where t.team_id = @team and t.status = 'active' and exists (
			select from transaction_line l where l.team_id = @team and l.transaction_id = t.id and l.listing_id = any(@listings))`, db.Args{"team": tx.Team, "listings": listingIDs})
	if err != nil {
		return nil, fmt.Errorf("find the transactions of listings: %w", err)
	}

	return ids, nil
}

// derive locks transactions and derives their journals. Lines that wait for a reservation are linked if it exists
// by now, and the journal of the reservation is derived as well. Lines that have their listing from a reservation
// follow it. A transaction cannot be derived if its listing lost the ownership period or an account its assignment.
func derive(ctx context.Context, tx *db.Tx, ids []id.ID) (*ledger.Derived, error) {
	if err := tx.Pipeline(ctx, db.Stmt{
		SQL:  `select from transaction where team_id = @team and id = any(@ids) order by id for update`,
		Args: db.Args{"team": tx.Team, "ids": ids},
	}); err != nil {
		return nil, fmt.Errorf("lock transactions: %w", err)
	}

	paired, err := followPairs(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	var (
		linked []id.ID
		stored []Transaction
		books  *account.Books
	)

	// The order matters: lines are linked and moved before the transactions are read.
	follow := func(ctx context.Context, tx *db.Tx) error { return followStays(ctx, tx, ids) }
	if err := tx.Together(
		ctx,
		db.LoadBy(&linked, linkLines, ids),
		follow,
		db.LoadBy(&stored, loadAll, ids),
		db.Load(&books, account.LoadBooks),
	); err != nil {
		return nil, fmt.Errorf("read transactions: %w", err)
	}

	// Then load the records that they name; drafts are only the form in which load takes them.
	drafts := make([]*draft, len(stored))
	for i := range stored {
		drafts[i] = &draft{Transaction: stored[i]}
	}

	r, err := loadReferences(ctx, tx, books, drafts)
	if err != nil {
		return nil, err
	}

	// Linked deposits change the costs that a stay's fees charge on, so those stays are derived afterwards.
	out := &ledger.Derived{
		Failed: map[id.ID]error{},
		With:   &ledger.Following{Source: reservation.Source(), IDs: id.Distinct(append(linked, paired...))},
	}

	for _, d := range drafts {
		postings, err := Journal(&d.Transaction, &r.facts)
		if err != nil {
			out.Failed[d.ID] = err
			continue
		}

		out.Postings, out.Sources = append(out.Postings, postings...), append(out.Sources, d.ID)
	}

	return out, nil
}
