package onboarding

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/tax"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// settings are what can be copied from another team.
type settings struct {
	chart    *account.Chart
	rates    []tax.Rate
	mappings []mapping.Mapping
	fees     []fee.Fee
	layouts  []layout.Design
}

func readSettings(ctx context.Context, tx *db.Tx, from id.ID) (s settings, err error) {
	err = tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) error {
		var errs [5]error
		s.chart, errs[0] = account.ReadChart(ctx, tx, from)
		s.rates, errs[1] = tax.InUse(ctx, tx, from)
		s.mappings, errs[2] = mapping.All(ctx, tx, from)
		s.fees, errs[3] = fee.InUse(ctx, tx, from)
		s.layouts, errs[4] = layout.All(ctx, tx, from)
		return errors.Join(errs[:]...)
	})
	if err != nil {
		return s, fmt.Errorf("read the team to copy: %w", err)
	}
	return s, nil
}

// copySettings copies the parts from another team, leaving out what the team has already, so that running it again adds nothing. Accounts are
// found again by name, code or reference, so a part whose accounts the team lacks brings what it can.
func copySettings(ctx context.Context, tx *db.Tx, from id.ID, include []Copied) error {
	s, err := readSettings(ctx, tx, from)
	if err != nil {
		return err
	}
	included := func(p Copied) bool { return include == nil || slices.Contains(include, p) }
	if included(Accounts) {
		if err := s.chart.Copy(ctx, tx); err != nil {
			return err
		}
	}
	if included(TaxRates) {
		if err := tax.Copy(ctx, tx, s.rates); err != nil {
			return err
		}
	}
	accounts, err := s.chart.Counterparts(ctx, tx)
	if err != nil {
		return err
	}
	if included(Accounts) {
		if err := s.chart.Assign(ctx, tx, accounts); err != nil {
			return err
		}
	}
	if included(LineMappings) {
		if err := mapping.Copy(ctx, tx, s.mappings, accounts); err != nil {
			return err
		}
	}
	if included(RecurringFees) {
		rates, err := tax.Counterparts(ctx, tx, s.rates)
		if err != nil {
			return err
		}
		if err := fee.Copy(ctx, tx, s.fees, accounts, rates); err != nil {
			return err
		}
	}
	if !included(StatementLayouts) {
		return nil
	}
	return layout.Copy(ctx, tx, s.layouts, accounts)
}
