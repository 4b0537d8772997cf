package listing

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// checkCurrency fails with errInUse if a locked listing has amounts that are in its currency without saying so.
// In another currency they would be other amounts.
func checkCurrency(ctx context.Context, tx *db.Tx, l *Listing) error {
	reasons, err := loadCurrencyUses(ctx, tx, l.ID, l.DefaultCurrency)
	if err != nil || len(reasons) == 0 {
		return err
	}

	return errInUse.With(apierr.InUse{LockReasons: reasons}).At(apierr.IssueCurrencyMismatch.InBody("defaultCurrency"))
}

// loadCurrencyUses returns why the currency of a listing has to stay, none for no reason. Reserves and rates are
// amounts in the currency of the listing. Statements and entries in this currency were made with them. In another
// currency an entry counts only if a fee names amounts: the fee would be charged on that stay from then on. What
// belongs to members of a group counts for the group, which has their owners and fees.
func loadCurrencyUses(ctx context.Context, tx *db.Tx, listing id.ID, currency string) ([]string, error) {
	reasons, err := db.Select[string](ctx, tx, `
		with family as materialized (
			select id from listing where team_id = @team and id = @id union select id from listing where team_id = @team and parent_id = @id
		), charged as materialized (
			select p.rate, f.rate_type = 'flat' as flat from fee_listing_period p join fee f on f.team_id = @team and f.id = p.fee_id
			where p.team_id = @team and p.listing_id = @id
				and (f.rate_type = 'flat' or exists (select from fee_condition c where c.team_id = @team and c.fee_id = f.id))
		)
		select reason from (values
			(1, 'journalEntries', exists (select from family v join ledger_entry e on e.team_id = @team and e.listing_id = v.id
				where e.currency = @currency or exists (select from charged))),
			(2, 'ownerStatements', exists (select from statement s where s.team_id = @team and s.listing_id = @id and s.currency = @currency)
				or exists (select from legacy_statement s where s.team_id = @team and s.listing_id = @id and s.currency = @currency)),
			(3, 'recurringFees', exists (select from charged where flat and rate is not null)),
			(4, 'reserves', exists (select from listing_ownership_period p where p.team_id = @team and p.listing_id = @id and p.reserve <> 0))
		) u (n, reason, used) where used order by n`, db.Args{"team": tx.Team, "id": listing, "currency": currency})
	if err != nil {
		return nil, fmt.Errorf("find amounts in the currency of a listing: %w", err)
	}

	return reasons, nil
}
