package merge

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/recurring"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/ledger"
	"stayledger/domain/exchange/calendar"
	"stayledger/domain/exchange/legacy"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/payee"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/settlement/statement"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// moveContact makes all records that name a contact name the other. No amount depends on a contact, so no journal is
// derived.
func moveContact(ctx context.Context, tx *db.Tx, m *contact.Merge) error {
	for _, move := range []func(ctx context.Context, tx *db.Tx, from, into id.ID) error{
		listing.MoveOwner, transaction.MoveContact, journal.MoveContact, ledger.MoveContact,
		payee.MoveContact, payment.MoveContact, recurring.MoveContact, rule.MoveContact, access.MoveContact,
		legacy.MoveContact,
	} {
		if err := move(ctx, tx, m.From.ID, m.Into.ID); err != nil {
			return err
		}
	}

	return m.Retire(ctx, tx)
}

// Refusals are the errors of Listings, in addition to listing.MergeErrors.
var Refusals = apierr.List{
	statement.ErrImporting, ledger.Refusals, ledger.MoveRefusals, reservation.DeriveErrors, calendar.MergeErrors,
}

// ListBusy returns the listings named by more than reservations, transactions and systems: owners, fees, rules and
// templates. They need Listings; all others can be moved many at once.
func ListBusy(ctx context.Context, tx *db.Tx, listings []id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, busySQL(), db.Args{"team": tx.Team, "ids": listings})
	if err != nil {
		return nil, fmt.Errorf("find what names listings: %w", err)
	}

	return found, nil
}

// CheckListings fails with the refusals of Listings that concern the listings themselves, their owners and fees, and
// statements made for them.
func CheckListings(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	_, _, err := planListings(ctx, tx, from, into)
	return err
}

// planListings locks two listings and plans the merge of the first into the second.
func planListings(ctx context.Context, tx *db.Tx, from, into id.ID) (*listing.Merge, *fee.Merge, error) {
	m, err := listing.LockMerge(ctx, tx, from, into)
	if err != nil {
		return nil, nil, err
	}

	p, err := newPlan(ctx, tx, listingRows, &input{ID: from, Body: Request{IntoID: into}})
	if err != nil {
		return nil, nil, err
	}

	p.holdRecords()

	if err := p.refusal(); err != nil {
		return nil, nil, err
	}

	fees, err := fee.PlanMerge(ctx, tx, m)

	return m, fees, err
}

// Listings merges a listing into another, and derives the journals again.
func Listings(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	m, fees, err := planListings(ctx, tx, from, into)
	if err != nil {
		return err
	}

	return moveListing(ctx, tx, m, fees)
}

// moveListing makes all records that name a listing name the other, and derives the journals again. Owners and fees
// come first, because journals are derived from them. Ownership periods that the other listing already has are
// deleted when no entry names them any more.
func moveListing(ctx context.Context, tx *db.Tx, m *listing.Merge, fees *fee.Merge) error {
	if err := m.MovePeriods(ctx, tx); err != nil {
		return err
	}

	if err := fees.Apply(ctx, tx); err != nil {
		return err
	}

	if err := moveBooks(ctx, tx, m); err != nil {
		return err
	}

	if err := m.DropPeriods(ctx, tx); err != nil {
		return err
	}

	// Last, records that decide about future records.
	for _, move := range []func(ctx context.Context, tx *db.Tx, from, into id.ID) error{
		recurring.MoveListing, rule.MoveListing, calendar.MoveListing, layout.MoveListing, pms.MoveListing,
		legacy.MoveListing,
	} {
		if err := move(ctx, tx, m.From.ID, m.Into.ID); err != nil {
			return err
		}
	}

	return m.Retire(ctx, tx)
}

// errLeft reports a defect: entries of a source that merges do not know.
var errLeft = errors.New("a merged listing still has entries")

// moveBooks moves the transactions, reservations and journals of a listing, and derives their journals. A lock on
// them, or on their days at the other listing, refuses the merge.
func moveBooks(ctx context.Context, tx *db.Tx, m *listing.Merge) error {
	from, into := m.From.ID, m.Into.ID

	bills, err := transaction.Move(ctx, tx, []id.ID{from}, []id.ID{into})
	if err != nil {
		return err
	}

	stays, following, err := reservation.Move(ctx, tx, []id.ID{from}, []id.ID{into})
	if err != nil {
		return err
	}

	journals, err := journal.MoveListing(ctx, tx, from, into)
	if err != nil {
		return err
	}

	if err := reservation.StartRelink(ctx, tx, stays, following); err != nil {
		return err
	}

	// Derive transactions first, in the order of locks.
	if _, err := transaction.Source().Book(ctx, tx, bills, ledger.Lenience{}); err != nil {
		return err
	}

	if err := reservation.Derive(ctx, tx, stays); err != nil {
		return err
	}

	if _, err := journal.Source().Book(ctx, tx, journals, ledger.Lenience{}); err != nil {
		return err
	}

	if err := ledger.MoveHistorical(ctx, tx, from, into, m.PeriodIDsToDelete()); err != nil {
		return err
	}

	// Nothing may be left in the books of an inactive listing.
	left, err := ledger.CountNaming(ctx, tx, ledger.NamesListing, from)
	if err == nil && left > 0 {
		err = errLeft
	}

	return err
}
