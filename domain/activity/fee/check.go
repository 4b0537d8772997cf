package fee

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/domain/books/tax"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// check refuses what the schema cannot see: unknown accounts, tax rates and listings, contradictions, and formulas that
// are none.
func (c *change) check(ctx context.Context, tx *db.Tx) error {
	f := c.after

	issues, err := checkAccounts(ctx, tx, f)
	if err != nil {
		return err
	}

	if f.RateType == Percentage && f.ChargeBasis == PerNight {
		issues = append(issues, apierr.IssueContradiction.InBody("chargeBasis"))
	}

	taxIssues, err := c.checkTax(ctx, tx)
	if err != nil {
		return err
	}

	listingIssues, err := checkListings(ctx, tx, c.subscriptions)
	if err != nil {
		return err
	}

	if issues = append(append(issues, taxIssues...), listingIssues...); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	if f.TaxRateID != nil {
		// Without the account that owes the tax, no journal with the fee could be derived.
		assigned, err := account.Assigned(ctx, tx)
		if err != nil {
			return err
		}

		if err := account.Require(assigned, account.ExpenseSalesTax); err != nil {
			return err
		}
	}

	if c.keepFormula {
		return nil
	}

	return checkFormula(ctx, tx, f)
}

func checkAccounts(ctx context.Context, tx *db.Tx, f *Fee) ([]apierr.Issue, error) {
	ids := []id.ID{f.CreditAccountID, f.DebitAccountID}

	paths := [][]any{{"creditAccountId"}, {"debitAccountId"}}
	for i := range f.AccountTotalConditions {
		ids, paths = append(ids, f.AccountTotalConditions[i].AccountID), append(paths, []any{"accountTotalConditions", i, "accountId"})
	}

	accounts, err := account.ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	var issues []apierr.Issue

	for i, v := range ids {
		if _, known := accounts[v]; !known {
			issues = append(issues, apierr.IssueNotFound.InBody(paths[i]...))
		}
	}

	return issues, nil
}

// checkTax wants a tax rate with the behavior, and one in use when it is new to the fee. A rate without a behavior is
// excluded.
func (c *change) checkTax(ctx context.Context, tx *db.Tx) ([]apierr.Issue, error) {
	f := c.after
	switch {
	case f.TaxRateID == nil && f.TaxBehavior == nil:
		return nil, nil
	case f.TaxRateID == nil:
		return []apierr.Issue{apierr.IssueRequired.InBody("taxRateId")}, nil
	case f.TaxBehavior == nil:
		f.TaxBehavior = new(tax.Excluded)
	}

	rates, err := tax.ByID(ctx, tx, []id.ID{*f.TaxRateID})
	if err != nil {
		return nil, err
	}

	rate, known := rates[*f.TaxRateID]
	if !known {
		return []apierr.Issue{apierr.IssueNotFound.InBody("taxRateId")}, nil
	}

	f.TaxRate = &TaxRateRef{ID: rate.ID, Name: rate.Name, BasisPoints: rate.BasisPoints}

	isNew := c.before == nil || c.before.TaxRateID == nil || *c.before.TaxRateID != rate.ID
	if isNew && rate.Status != tax.Active {
		return []apierr.Issue{apierr.IssueInactive.InBody("taxRateId")}, nil
	}

	return nil, nil
}

func checkListings(ctx context.Context, tx *db.Tx, subscriptions []ListingSubscription) ([]apierr.Issue, error) {
	if len(subscriptions) == 0 {
		return nil, nil
	}

	ids := make([]id.ID, len(subscriptions))
	for i := range subscriptions {
		ids[i] = subscriptions[i].ListingID
	}

	listings, err := listing.ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	var issues []apierr.Issue

	for i := range ids {
		if _, known := listings[ids[i]]; !known {
			issues = append(issues, apierr.IssueNotFound.InBody("listingSubscriptions", i, "listingId"))
		}
	}

	return issues, nil
}
