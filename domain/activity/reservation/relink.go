package reservation

import (
	"context"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// loadRelinks loads the transactions to derive again after drafts were saved: transactions booked before their
// reservation arrived, or while several reservations had the confirmation code or guest they know it by, transactions
// with lines that have their listing from a reservation which moves to another, and transactions of owners with a
// reservation that gets other nights. Only drafts that gain or lose such a name, nights or a listing, or enter or leave
// the books, are looked up.
func loadRelinks(ctx context.Context, tx *db.Tx, drafts []*draft) ([]id.ID, error) {
	var (
		codes, guests []string
		moved, put    []id.ID
		renighted     []id.ID
	)

	for _, d := range drafts {
		code, guest := d.matchKeys()

		// A stored reservation matters if its names or its listing change; then the old names count as well,
		// because they may fit another reservation now.
		if d.before != nil {
			oldCode, oldGuest := d.before.matchKeys()

			elsewhere := d.ListingID != d.before.ListingID
			if elsewhere {
				moved = append(moved, d.ID)
			}

			if !d.hasSameNights(d.before) {
				renighted = append(renighted, d.ID)
			}

			switched := d.GeneralLedgerStatus != d.before.GeneralLedgerStatus
			if switched {
				put = append(put, d.ID)
			}

			if code == oldCode && guest == oldGuest && !elsewhere && !switched {
				continue
			}

			codes, guests = append(codes, oldCode), append(guests, oldGuest)
		}

		codes, guests = append(codes, code), append(guests, guest)
	}

	// Then look up both kinds of transactions. One may be of both kinds.
	waiting, err := loadUnlinkedTransactions(ctx, tx, codes, guests)
	if err != nil {
		return nil, err
	}

	following, err := loadFollowers(ctx, tx, moved)
	if err != nil {
		return nil, err
	}

	linked, err := loadNaming(ctx, tx, put)
	if err != nil {
		return nil, err
	}

	owned, err := loadOwnersMoney(ctx, tx, renighted)
	if err != nil {
		return nil, err
	}

	waiting = slices.Concat(waiting, following, linked, owned)

	return id.Distinct(waiting), nil
}

// hasSameNights reports whether money that names the reservation finds the same owners as in another state of the
// reservation.
func (r *Reservation) hasSameNights(o *Reservation) bool {
	return r.CheckIn == o.CheckIn && r.CheckOut == o.CheckOut && r.Status == o.Status &&
		ptr.Equal(r.BookedAt, o.BookedAt) && ptr.Equal(r.CancelledAt, o.CancelledAt) &&
		ptr.Equal(r.GeneralLedgerPostingAt, o.GeneralLedgerPostingAt)
}

// StartRelink starts the operation that links transactions to the reservations they wait for, and moves lines which
// have their listing from a reservation to its new listing. It names the first changed reservation.
func StartRelink(ctx context.Context, tx *db.Tx, changed, waiting []id.ID) error {
	if len(waiting) == 0 {
		return nil
	}

	_, err := ledger.Outdate(ctx, tx, ledger.Outdated{
		Reason:  ledger.TransactionChanged,
		Cause:   operation.Resource{Type: operation.Reservation, ID: changed[0]},
		Type:    operation.TransactionJournal,
		Sources: map[ledger.Noun][]id.ID{ledger.Transactions: waiting},
	})

	return err
}

// matchKeys returns the confirmation code and the Stripe guest that transactions may know the reservation by. An
// inactive reservation has none.
func (r *Reservation) matchKeys() (code, guest string) {
	if r.Status == Inactive {
		return "", ""
	}

	guest, _ = r.Metadata["stripeGuestRef"].(string)

	return ptr.Value(r.ConfirmationCode), guest
}
