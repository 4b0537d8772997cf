package payment

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/settlement/chain"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Claim is money that a provider is to be asked for, and where it comes from.
type Claim struct {
	// Owners are the amounts that a payout takes from the owners of ownership periods; Borne is the part of a bill that owners bear.
	Owners           map[chain.Chain]money.Cents
	Borne            []transaction.Borne
	FundingAccountID id.ID
	Amount           money.Cents
	Currency         string
	// BookedOn is the day on which the money leaves by the books, nil when it is not booked yet.
	BookedOn *day.Day
	// LeavesOn is the day on which the provider is to pay, today when it is zero.
	LeavesOn day.Day
	// PaymentID is the payment that waits for approval, the zero id for one that is to be made.
	PaymentID id.ID
}

// The codes of findings; those that refuse a payment are the reasons in the context of the refusal as well.
const (
	InsufficientFunds = "insufficientFunds"
	UncollectedFunds  = "uncollectedFunds"
	FundsNotReleased  = "fundsNotReleased"
	LimitExceeded     = "paymentLimitExceeded"
)

var (
	errFunds = apierr.New(apierr.CodeConflict, "", "The payment takes more than there is")
	errLimit = apierr.New(apierr.CodeConflict, "", "The payment exceeds a limit of the team")
)

// Refusal returns the error and the issue code for a finding of CheckFunds that refuses the payment; nil for any other
// finding.
func Refusal(f *finding.Finding) (*apierr.Error, apierr.IssueCode) {
	if f.Severity != finding.Error {
		return nil, ""
	}

	context := map[string]any{"reason": f.Code}
	maps.Copy(context, f.Context)

	if f.Code == LimitExceeded {
		return errLimit.With(context), apierr.IssuePaymentLimitExceeded
	}

	return errFunds.With(context), apierr.IssueInsufficientFunds
}

// CheckOverdraft fails with 403 if an overdraft is allowed by a credential without the scope for it.
func CheckOverdraft(tx *db.Tx, allowed bool) error {
	if allowed && !tx.Actor.Has("payments:override") {
		return apierr.MissingScope.With(map[string]any{"requiredScopes": []string{"payments:override"}})
	}

	return nil
}

// CheckFunds returns the findings on claims that are made together, by claim. The amounts that they take from the
// owners of a period must be available to them, the amounts that they take from an account must be on it, and the
// limits of the team must hold. With overdraft the first two are warnings. Previews call it too; callers that pay call
// LockDecisions first.
func CheckFunds(
	ctx context.Context,
	tx *db.Tx,
	claims []Claim,
	overdraft bool,
) ([][]finding.Finding, *CurrentLimits, error) {
	limits, err := loadCurrentLimits(ctx, tx)
	if err != nil {
		return nil, nil, err
	}

	out := make([][]finding.Finding, len(claims))
	if len(claims) == 0 {
		return out, limits, nil
	}

	// Load the funds once: claims on the same funds are added up.
	f, err := loadFunds(ctx, tx, claims)
	if err != nil {
		return nil, nil, err
	}

	// Then compare each claim with the sums of all.
	for i := range claims {
		out[i] = f.findings(&claims[i], overdraft)
	}

	return out, limits, limits.check(ctx, tx, claims, out)
}

// LockDecisions makes requests that decide on outgoing money of the team wait for each other, so that two of them do
// not spend the same money. It must come before every other lock of the request.
func LockDecisions(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('provider payments ' || @team::text, 0))`, db.Args{"team": tx.Team.String()})
	if err != nil {
		return fmt.Errorf("wait for other payments: %w", err)
	}

	return nil
}

// pool names the money on an account in one currency.
type pool struct {
	accountID id.ID
	currency  string
}

// funds are the amounts that claims are paid from, and the sums that the claims take from them.
type funds struct {
	owned               map[chain.Chain]chain.Owned
	held                map[pool]money.Cents
	claimedFromOwners   map[chain.Chain]money.Cents
	claimedFromAccounts map[pool]money.Cents
	borne               map[chain.Chain]money.Cents // of all the bills together
}

// loadFunds loads the funds of today. Amounts that the books have taken already for the claims themselves are added
// back.
func loadFunds(ctx context.Context, tx *db.Tx, claims []Claim) (*funds, error) {
	today := tx.Today()
	f := &funds{
		held:                map[pool]money.Cents{},
		claimedFromOwners:   map[chain.Chain]money.Cents{},
		claimedFromAccounts: map[pool]money.Cents{},
		borne:               map[chain.Chain]money.Cents{},
	}
	back := map[chain.Chain]money.Cents{}

	var accounts []id.ID

	// What is kept until stays is that of the day on which the first of them leaves.
	leaves := claims[0].LeavesOn

	// Add up the claims by owner and by account.
	for i := range claims {
		c := &claims[i]
		if c.LeavesOn.Before(leaves) {
			leaves = c.LeavesOn
		}

		for owners, cents := range c.Owners {
			f.claimedFromOwners[owners] += cents
			if c.BookedOn != nil {
				back[owners] += cents
			}
		}

		for j := range c.Borne {
			b := &c.Borne[j]
			f.borne[chain.Chain{OwnershipPeriodID: b.OwnershipPeriodID, Currency: b.Currency}] += b.Cents
		}

		// The account's balance is as of today, so only bookings up to today are in it.
		p := pool{c.FundingAccountID, c.Currency}

		f.claimedFromAccounts[p] += c.Amount
		if c.BookedOn != nil && !c.BookedOn.After(today) {
			f.held[p] += c.Amount
		}

		accounts = append(accounts, c.FundingAccountID)
	}

	// LoadOwned takes off later payouts as well, so each booked claim is added back, whatever its day.
	var err error
	if f.owned, err = chain.LoadOwned(ctx, tx, slices.Collect(maps.Keys(f.claimedFromOwners)), today, day.Max(today, leaves)); err != nil {
		return nil, err
	}

	for owners, cents := range back {
		o := f.owned[owners]
		o.Available, o.Released, o.Collected = o.Available+cents, o.Released+cents, o.Collected+cents
		f.owned[owners] = o
	}

	return f, f.addAccounts(ctx, tx, accounts, claimedPayments(claims), today)
}

// claimedPayments returns the payments that claims are already about.
func claimedPayments(claims []Claim) []id.ID {
	ids := []id.ID{}

	for i := range claims {
		if !claims[i].PaymentID.IsZero() {
			ids = append(ids, claims[i].PaymentID)
		}
	}

	return ids
}

// addAccounts adds the balances of accounts by the books at the end of today. It subtracts payments that were asked
// for and that are booked for a later day or not yet booked, those that wait for approval included. The payments in
// but are left out: they are the claims themselves.
func (f *funds) addAccounts(ctx context.Context, tx *db.Tx, accounts, but []id.ID, today day.Day) error {
	type row struct {
		AccountID id.ID
		Currency  string
		Cents     money.Cents
	}

	// Payouts of later days, bills that are booked as paid later, and bills that wait for approval are on their way
	// but not in the balance. Whole months and the days of this month make up the balance.
	rows, err := db.Select[row](ctx, tx, `
		with coming as (
			select p.id from transaction t join payment p on p.team_id = t.team_id and p.transaction_id = t.id
				where t.team_id = @team and t.date > @today and t.type = 'payout' and t.status = 'active'
			union select p.id from payment p join transaction t on t.team_id = p.team_id and t.id = p.transaction_id
				where p.team_id = @team and p.date > @today and t.type = 'expense' and t.payment_date > @today
			union select p.id from payment p join transaction t on t.team_id = p.team_id and t.id = p.transaction_id
				where p.team_id = @team and p.status = 'awaitingApproval' and t.type = 'expense'
		)
		select account_id, currency, sum(cents)::bigint as cents from (
			select account_id, currency, debit - credit as cents from ledger_month
				where team_id = @team and ledger in ('trust', 'operating') and account_id = any(@accounts) and month < @first
			union all
			select account_id, currency, debit - credit from ledger_day
				where team_id = @team and ledger in ('trust', 'operating') and account_id = any(@accounts) and day between @first and @today
			union all
			select p.funding_account_id, p.currency, -p.amount from coming join payment p on p.team_id = @team and p.id = coming.id
				where p.funding_account_id = any(@accounts) and p.recovered_at is null and p.status not in ('failed', 'canceled', 'returned')
					and p.id <> all(@but)
		) s group by 1, 2`,
		db.Args{"team": tx.Team, "accounts": accounts, "but": but, "first": today.FirstOfMonth(), "today": today})
	if err != nil {
		return fmt.Errorf("read what funding accounts hold: %w", err)
	}

	for _, r := range rows {
		f.held[pool{r.AccountID, r.Currency}] += r.Cents
	}

	return nil
}

// findings returns the findings on a claim.
func (f *funds) findings(c *Claim, overdraft bool) []finding.Finding {
	severity := finding.Error
	if overdraft {
		severity = finding.Warning
	}

	from := pool{c.FundingAccountID, c.Currency}

	var out []finding.Finding

	// All findings show the same figures, so that a person can compare them.
	add := func(
		code string,
		severity finding.Severity,
		requested money.Cents,
		of *chain.Owned,
		more map[string]any,
	) {
		context := map[string]any{
			"requested":        requested,
			"available":        nil,
			"collected":        nil,
			"fundingBalance":   f.held[from],
			"fundingAccountId": from.accountID,
			"currency":         c.Currency,
		}
		if of != nil {
			context["available"], context["collected"] = of.Available, of.Collected
		}

		maps.Copy(context, more)
		out = append(out, finding.Finding{Code: code, Severity: severity, Context: context})
	}

	var sum *chain.Owned

	// A claim is compared with the sum of all claims on the same owners.
	for owners := range c.Owners {
		o := f.owned[owners]

		if sum == nil {
			sum = &chain.Owned{}
		}

		sum.Available, sum.Collected = sum.Available+o.Available, sum.Collected+o.Collected

		more := map[string]any{"balance": "owner", "ownershipPeriodId": owners.OwnershipPeriodID}
		switch requested := f.claimedFromOwners[owners]; {
		case requested > o.Available:
			add(InsufficientFunds, severity, requested, &o, more)
		case requested > o.Released:
			more["released"], more["freeAt"] = o.Released, o.FreeAt
			add(FundsNotReleased, severity, requested, &o, more)
		case requested > o.Collected:
			add(UncollectedFunds, finding.Warning, requested, &o, more)
		}
	}

	// A bill is paid with the money of the owners who bear it, the reserve included, and with no one else's.
	for i := range c.Borne {
		b := &c.Borne[i]

		requested := f.borne[chain.Chain{OwnershipPeriodID: b.OwnershipPeriodID, Currency: b.Currency}]
		if b.Cents > 0 && requested > b.Funds {
			add(transaction.InsufficientOwnerFunds, severity, requested, nil, map[string]any{
				"balance": "owner", "ownershipPeriodId": b.OwnershipPeriodID, "available": b.Funds,
			})
		}
	}

	// The account must cover all claims on it.
	if requested := f.claimedFromAccounts[from]; requested > f.held[from] {
		add(InsufficientFunds, severity, requested, sum, map[string]any{"balance": "fundingAccount"})
	}

	return out
}
