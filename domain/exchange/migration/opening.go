package migration

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/opening"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/exchange/legacy"
	"stayledger/domain/property/listing"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/historic"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// opens reports whether the balance of an imported statement opens the live books: it is the last final statement of
// its listing and currency, and the listing has the same owners when the live books begin.
func (h *history) opens(s *legacy.Head) bool {
	return h.final[place{s.ListingID, s.Currency}] == s.SourceID &&
		h.ownersOn(s.ListingID, s.EndAt) == h.ownersOn(s.ListingID, h.cutover.AddDays(-1))
}

// missingBanks is the context of a refusal for opening balances without a trust account.
type missingBanks struct {
	// Currencies are sorted.
	Currencies []string `json:"currencies"`
}

// checkOpenings refuses opening balances that could not be booked: with account.ErrRequiredMissing without an account for
// opening balances, with currencyMismatch for currencies without a trust account, and with the lock of the day on which
// they would be booked.
func (h *history) checkOpenings(ctx context.Context, tx *db.Tx) error {
	if err := account.Require(h.assigned, account.OpeningBalance); err != nil {
		return err //nolint:wrapcheck // It is a refusal.
	}

	hasBank, missing := map[string]bool{}, missingBanks{}

	for i := range h.heads {
		s := &h.heads[i]
		if _, known := hasBank[s.Currency]; known || !h.opens(s) || !h.mayOpenWith(s) {
			continue
		}

		has, err := opening.HasBank(ctx, tx, s.Currency)
		if err != nil {
			return fmt.Errorf("find the trust account of a currency: %w", err)
		}

		if hasBank[s.Currency] = has; !has {
			missing.Currencies = append(missing.Currencies, s.Currency)
		}
	}

	if missing.Currencies != nil {
		slices.Sort(missing.Currencies)

		return apierr.BadRequest.With(missing).At(apierr.IssueCurrencyMismatch.InBody("openingBalances"))
	}

	return h.checkOpeningDay(ctx, tx)
}

// checkOpeningDay refuses opening balances on a day that is closed, unless each listing has one already.
func (h *history) checkOpeningDay(ctx context.Context, tx *db.Tx) error {
	closing, err := ledger.LoadClosing(ctx, tx)
	if err != nil {
		return fmt.Errorf("open the books of listings: %w", err)
	}

	booked := ledger.Touched{Status: ledger.Active, TxnAt: h.cutover.AddDays(-1)}

	locked := ledger.CheckLocks(closing, booked, ledger.Lenience{})
	if locked == nil {
		return nil
	}

	opened, err := opening.ListPlaces(ctx, tx)
	if err != nil {
		return fmt.Errorf("open the books of listings: %w", err)
	}

	for i := range h.heads {
		s := &h.heads[i]
		at := opening.Place{ListingID: h.records["listing"][s.ListingID.String()], Currency: s.Currency}

		if h.opens(s) && h.mayOpenWith(s) && !slices.Contains(opened, at) {
			return locked
		}
	}

	return nil
}

// mayOpenWith reports whether a statement that opens the live books can leave something to book: a balance, or nothing
// for several members together where one can have what another owes, because payouts named them.
func (h *history) mayOpenWith(s *legacy.Head) bool {
	if s.BalanceEnd != 0 {
		return true
	}

	p := listing.Covering(h.periods[h.records["listing"][s.ListingID.String()]], s.EndAt)

	return h.namesPayees[place{s.ListingID, s.Currency}] && p != nil && len(p.Members) > 1
}

// openBooks gives each listing without an opening balance the balance of its last final statement in each currency,
// and each member the own share. The imported statements belong to the heads.
func (h *history) openBooks(ctx context.Context, tx *db.Tx, imported []historic.Statement) error {
	var last []int

	periods := []id.ID{}

	for i := range h.heads {
		if h.opens(&h.heads[i]) {
			last, periods = append(last, i), append(periods, imported[i].OwnershipPeriodID)
		}
	}

	// Members share a balance by all statements before it, not by their present splits.
	histories, err := chain.LoadHistories(ctx, tx, id.Distinct(periods))
	if err != nil {
		return fmt.Errorf("read how members share imported balances: %w", err)
	}

	for _, i := range last {
		s := &h.heads[i]
		of := histories.Chain(chain.Chain{OwnershipPeriodID: imported[i].OwnershipPeriodID, Currency: s.Currency})

		parts := splitOpening(s.BalanceEnd, of.Owners, of.Shares(s.BalanceEnd, s.EndAt, true))
		if len(parts) == 0 {
			continue
		}

		begun := &opening.Start{Listing: imported[i].ListingID, Currency: &s.Currency, Shares: parts}
		if _, err := opening.Begin(ctx, tx, begun); err != nil {
			return fmt.Errorf("open the books of a listing: %w", err)
		}
	}

	return nil
}

// splitOpening returns the shares of an opening balance: one for all members if their shares follow from their
// splits, else one for each member by name. A zero balance has none.
func splitOpening(balance money.Cents, owners []chain.Owner, shares []money.Cents) []opening.Share {
	splits := make([]int64, len(owners))
	for i := range owners {
		splits[i] = owners[i].Split
	}

	if len(owners) == 0 || slices.Equal(shares, money.Split(balance, splits)) {
		if balance == 0 {
			return nil
		}

		return []opening.Share{{Amount: balance}}
	}

	var parts []opening.Share

	for i, cents := range shares {
		if cents != 0 {
			parts = append(parts, opening.Share{Owner: owners[i].ContactID, Amount: cents})
		}
	}

	return parts
}
