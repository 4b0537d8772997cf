package migration

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/opening"
	"stayledger/domain/exchange/legacy"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/historic"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// opens reports whether the balance of a statement that is imported opens the live books: it is the last final one of its
// listing in its currency, and whoever held it owns the listing when the live books begin.
func (h *history) opens(s *legacy.Head) bool {
	return h.final[place{s.ListingID, s.Currency}] == s.SourceID &&
		h.ownersOn(s.ListingID, s.EndAt) == h.ownersOn(s.ListingID, h.cutover.AddDays(-1))
}

// checkBanks refuses with currencyMismatch opening balances in a currency that no trust account has.
func (h *history) checkBanks(ctx context.Context, tx *db.Tx) error {
	known := map[string]bool{}

	for i := range h.heads {
		s := &h.heads[i]
		if known[s.Currency] || s.BalanceEnd == 0 || !h.opens(s) {
			continue
		}

		has, err := opening.HasBank(ctx, tx, s.Currency)

		switch {
		case err != nil:
			return fmt.Errorf("find the trust account of a currency: %w", err)
		case !has:
			return apierr.BadRequest.At(apierr.IssueCurrencyMismatch.InBody("openingBalances"))
		}

		known[s.Currency] = true
	}

	return nil
}

// open gives each listing without an opening balance that of its last final statement, in each currency, and each member
// the own part of it. Imported are the statements of the heads.
func (h *history) open(ctx context.Context, tx *db.Tx, imported []historic.Statement) error {
	var last []int

	periods := []id.ID{}

	for i := range h.heads {
		if h.opens(&h.heads[i]) {
			last, periods = append(last, i), append(periods, imported[i].OwnershipPeriodID)
		}
	}

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

// splitOpening returns the parts of an opening balance: one of all members where their shares follow from their splits,
// else one of each member by name. There are none where nothing is left.
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
