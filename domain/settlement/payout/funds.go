package payout

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// fund is money that payouts come out of: the owners' balance of one ownership period, or a bank account. The
// surplus of one listing covers no deficit of another one, even if they have the same owners.
type fund struct {
	chain.Chain

	account id.ID
}

// warnOfOverdrafts adds issues to payouts that take more than there is on their date. They are made all the same,
// because the caller may know of money on its way.
func (b *book) warnOfOverdrafts(ctx context.Context, tx *db.Tx) error {
	funds, err := b.loadFunds(ctx, tx)
	if err != nil {
		return err
	}

	// Plans draw in the order of the request, so the later ones get the warnings.
	for _, p := range b.plans {
		if p.cause == "" {
			b.drawFunds(p, funds)
		}
	}

	return nil
}

// checkPayments adds the findings on the payments that the provider is to make.
func (b *book) checkPayments(ctx context.Context, tx *db.Tx) error {
	var (
		claims []payment.Claim
		of     []*plan
	)

	// Each payout is a claim on the owners and on the account. Of keeps the plan at the same place.
	for _, p := range b.plans {
		if p.cause != "" {
			continue
		}

		for i := range p.payouts {
			o := &p.payouts[i]
			if o.Provider == nil {
				continue
			}

			claims = append(claims, payment.Claim{
				Owners:           map[chain.Chain]money.Cents{p.of.Chain: o.Amount},
				FundingAccountID: p.accounts[i],
				Amount:           o.Amount,
				Currency:         p.of.Currency,
				LeavesOn:         b.date,
			})
			of = append(of, p)
		}
	}

	// The claims are checked together, because they take from the same funds.
	found, limits, err := payment.CheckFunds(ctx, tx, claims, b.request.AllowOverdraft)
	if err != nil {
		return err
	}

	b.limits = limits

	// A finding belongs to the plan of its claim.
	for i, p := range of {
		for j := range found[i] {
			p.addFinding(&found[i][j])
		}
	}

	return nil
}

// addFinding adds a finding once, however many members of the statement it is about. The first error is the one that
// refuses the plan.
func (p *plan) addFinding(f *finding.Finding) {
	if slices.ContainsFunc(p.issues, func(o finding.Finding) bool { return reflect.DeepEqual(o, *f) }) {
		return
	}

	p.issues = append(p.issues, *f)
	if f.Severity == finding.Error && p.against == nil {
		p.against = f
	}
}

// checkFunds returns the first refusal with an issue for each statement that is refused.
func (b *book) checkFunds() error {
	var (
		first  *apierr.Error
		issues []apierr.Issue
	)

	// The error is that of the first statement; the issues name up to maxIssues.
	for _, p := range b.plans {
		if p.against == nil {
			continue
		}

		refusal, code := payment.Refusal(p.against)
		if first == nil {
			first = refusal
		}

		if len(issues) < maxIssues {
			issues = append(issues, code.InBody(p.path...))
		}
	}

	if first == nil {
		return nil
	}

	return first.At(issues...)
}

// checkOutgoing refuses requests for outgoing money that a provider cannot carry out: an overdraft without the scope,
// and a day that has passed or is too far ahead.
func (r *Request) checkOutgoing(tx *db.Tx) error {
	if err := payment.CheckOverdraft(tx, r.AllowOverdraft); err != nil {
		return err
	}

	if r.ConnectionID == nil || r.Date == nil {
		return nil
	}

	return payment.CheckDate(tx, *r.Date)
}

// drawFunds takes the payouts of a statement from the owners' balance and from the bank accounts.
func (b *book) drawFunds(p *plan, funds map[fund]money.Cents) {
	owners := fund{Chain: p.of.Chain}

	// A negative amount is paid in by the owner, so it never lacks funds.
	take := func(f fund, amount money.Cents, context map[string]any) {
		available := funds[f]

		funds[f] -= amount
		if amount <= 0 || funds[f] >= 0 {
			return
		}

		context["available"] = available
		context["amount"] = amount
		context["currency"] = p.of.Currency
		context["date"] = b.date
		p.issues = append(p.issues, finding.Finding{
			Code:     insufficientOwnerFunds,
			Severity: finding.Warning,
			Context:  context,
		})
	}

	// First the owners' balance, with the whole amount.
	take(owners, p.total(), map[string]any{
		"balance":           "owner",
		"ownershipPeriodId": p.of.OwnershipPeriodID,
		"listingId":         p.of.ListingID,
	})

	// Then each bank account once, in the order of the payouts.
	var order []id.ID

	sums := map[id.ID]money.Cents{}
	for i := range p.payouts {
		if _, known := sums[p.accounts[i]]; !known {
			order = append(order, p.accounts[i])
		}

		sums[p.accounts[i]] += p.payouts[i].Amount
	}

	for _, account := range order {
		take(fund{
			account: account,
			Chain:   chain.Chain{Currency: p.of.Currency},
		}, sums[account], map[string]any{"balance": "bankAccount", "accountId": account})
	}
}

// loadFunds loads the balances of the funds that the plans take from, on the date of the payouts.
func (b *book) loadFunds(ctx context.Context, tx *db.Tx) (map[fund]money.Cents, error) {
	out := map[fund]money.Cents{}

	var (
		chains   []chain.Chain
		accounts []id.ID
	)

	// Plans with a cause pay nothing, so their funds do not matter.
	for _, p := range b.plans {
		if p.cause != "" {
			continue
		}

		accounts = append(accounts, p.accounts...)
		if _, known := out[fund{Chain: p.of.Chain}]; !known {
			chains = append(chains, p.of.Chain)
			out[fund{Chain: p.of.Chain}] = 0
		}
	}

	if len(chains) == 0 {
		return out, nil
	}

	owned, err := chain.LoadBalances(ctx, tx, chains, b.date)
	if err != nil {
		return nil, err
	}

	for c, cents := range owned {
		out[fund{Chain: c}] = cents
	}

	// Bank accounts are funds too.
	held, err := loadBankBalances(ctx, tx, id.Distinct(accounts), b.date)
	if err != nil {
		return nil, err
	}

	maps.Copy(out, held)

	return out, nil
}

// loadBankBalances loads the book balances of bank accounts at the end of a day, by currency.
func loadBankBalances(ctx context.Context, tx *db.Tx, accounts []id.ID, date day.Day) (map[fund]money.Cents, error) {
	type row struct {
		AccountID id.ID
		Currency  string
		Total     money.Cents
	}

	rows, err := db.Select[row](ctx, tx, sumsSQL("account_id", "account_id = any(@of::uuid[])"),
		db.Args{"team": tx.Team, "of": accounts, "first": date.FirstOfMonth(), "date": date})
	if err != nil {
		return nil, fmt.Errorf("read bank balances: %w", err)
	}

	out := make(map[fund]money.Cents, len(rows))
	for _, r := range rows {
		out[fund{account: r.AccountID, Chain: chain.Chain{Currency: r.Currency}}] = r.Total
	}

	return out, nil
}

// loadManagerBalance loads the manager's balance in a ledger at the end of a day.
func loadManagerBalance(ctx context.Context, tx *db.Tx, ledger, currency string, date day.Day) (money.Cents, error) {
	type row struct {
		Ledger   string
		Currency string
		Total    money.Cents
	}

	rows, err := db.Select[row](ctx, tx, sumsSQL("ledger", "party = 'manager' and ledger = @of::text"),
		db.Args{"team": tx.Team, "of": ledger, "first": date.FirstOfMonth(), "date": date})
	if err != nil {
		return 0, fmt.Errorf("read the manager's balance: %w", err)
	}

	// Entries have the opposite sign of the manager's claim.
	for _, r := range rows {
		if r.Currency == currency {
			return -r.Total, nil
		}
	}

	return 0, nil
}

// sumsSQL returns the SQL that adds up whole months and then days: few rows, however many entries.
func sumsSQL(by, which string) string {
	return `
		select ` + by + `, currency, sum(cents)::bigint as total from (
			select ledger, account_id, party, currency, debit - credit as cents from ledger_month
			where team_id = @team and ledger in ('trust', 'operating') and month < @first and ` + which + `
			union all
			select ledger, account_id, party, currency, debit - credit from ledger_day
			where team_id = @team and ledger in ('trust', 'operating') and day between @first and @date and ` + which + `
		) s group by 1, 2`
}
