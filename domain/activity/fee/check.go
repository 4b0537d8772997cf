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

// check refuses what the schema of the API cannot see: unknown accounts, tax rates and listings, contradictions,
// and formulas that cannot be read.
func (c *change) check(ctx context.Context, tx *db.Tx) error {
	f := c.after

	// First collect the issues of all fields, to report them together.
	issues, err := checkAccounts(ctx, tx, f)
	if err != nil {
		return err
	}

	// Only flat rates can be charged per night.
	if f.RateType == Percentage && f.ChargeBasis == PerNight {
		issues = append(issues, apierr.IssueContradiction.InBody("chargeBasis"))
	}

	taxIssues, err := c.checkTax(ctx, tx)
	if err != nil {
		return err
	}

	listingIssues, err := c.checkListings(ctx, tx)
	if err != nil {
		return err
	}

	if issues = append(append(issues, taxIssues...), listingIssues...); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	if f.TaxRateID != nil {
		// Without the account that owes the tax, no journal with the fee could be derived.
		assigned, err := account.LoadAssigned(ctx, tx)
		if err != nil {
			return err
		}

		if err := account.Require(assigned, account.ExpenseSalesTax); err != nil {
			return err
		}
	}

	// Last the formula: its error has a position.
	if c.keepFormula {
		return nil
	}

	return checkFormula(ctx, tx, f)
}

// checkAccounts returns an issue for each account that the team does not have.
func checkAccounts(ctx context.Context, tx *db.Tx, f *Fee) ([]apierr.Issue, error) {
	ids := []id.ID{f.CreditAccountID, f.DebitAccountID}

	// Each id has the path of its field at the same index.
	paths := [][]any{{"creditAccountId"}, {"debitAccountId"}}

	for i := range f.AccountTotalConditions {
		ids = append(ids, f.AccountTotalConditions[i].AccountID)
		paths = append(paths, []any{"accountTotalConditions", i, "accountId"})
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

// checkTax returns an issue for a behavior without a tax rate, for an unknown rate, and for an archived one that is
// new to the fee. A rate without a behavior is excluded.
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

	// A fee may keep a rate that was archived since.
	isNew := c.before == nil || c.before.TaxRateID == nil || *c.before.TaxRateID != rate.ID
	if isNew && rate.Status != tax.Active {
		return []apierr.Issue{apierr.IssueInactive.InBody("taxRateId")}, nil
	}

	return nil, nil
}

// checkGroups fails with listing.ErrInGroup if subscriptions would charge a member of a group itself. Those that it had
// before it joined may stay as they are.
func (c *change) checkGroups(before []Period) error {
	had := map[string]bool{}
	for i := range before {
		had[before[i].terms()] = true
	}

	now := newPeriods(c.subscriptions)
	for i := range now {
		if l := c.listings[now[i].ListingID]; l.Parent != nil && !had[now[i].terms()] {
			return listing.ErrInGroup.At(apierr.IssueContradiction.InBody("listingSubscriptions", i, "listingId"))
		}
	}

	return nil
}

// checkListings loads the listings of the subscriptions, and returns an issue for each that the team does not have.
func (c *change) checkListings(ctx context.Context, tx *db.Tx) ([]apierr.Issue, error) {
	if len(c.subscriptions) == 0 {
		return nil, nil
	}

	ids := make([]id.ID, len(c.subscriptions))
	for i := range c.subscriptions {
		ids[i] = c.subscriptions[i].ListingID
	}

	var err error
	if c.listings, err = listing.ByID(ctx, tx, ids); err != nil {
		return nil, err
	}

	var issues []apierr.Issue

	for i := range ids {
		if _, known := c.listings[ids[i]]; !known {
			issues = append(issues, apierr.IssueNotFound.InBody("listingSubscriptions", i, "listingId"))
		}
	}

	return issues, nil
}
