package payment

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Claim is money that a provider is to be asked for, with where it comes from.
type Claim struct {
	// Owners are what it takes of the owners of ownership periods; none for a bill.
	Owners           map[statement.Chain]money.Cents
	FundingAccountID id.ID
	Amount           money.Cents
	Currency         string
	// BookedOn is the day on which the books have it leave already, nil when they do not have it yet.
	BookedOn *day.Day
	// PaymentID is the payment that waits for approval, the zero id for one that is to be made.
	PaymentID id.ID
}

// The codes of findings; those that refuse a payment are the reasons in the context of the refusal as well.
const (
	InsufficientFunds = "insufficientFunds"
	UncollectedFunds  = "uncollectedFunds"
	LimitExceeded     = "paymentLimitExceeded"
)

var (
	errFunds = apierr.New(apierr.CodeConflict, "", "The payment takes more than there is")
	errLimit = apierr.New(apierr.CodeConflict, "", "The payment exceeds a limit of the team")
)

// Refusal is what a finding of Judge refuses with, and the fault of what it is about; nil for one that refuses nothing.
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

// MayOverdraw fails with 403 for a credential that allows an overdraft without holding the scope for it.
func MayOverdraw(tx *db.Tx, allowed bool) error {
	if allowed && !tx.Actor.Has("payments:override") {
		return apierr.MissingScope.With(map[string]any{"requiredScopes": []string{"payments:override"}})
	}

	return nil
}

// Judge finds what stands against claims that are made together: what they take of the owners of a period must be
// available to them, what they take from an account must be on it, and the limits of the team hold. With overdraft the
// first two are warnings. The findings are by claim. A preview asks it as well as whoever pays, who has called
// TakeTurns.
func Judge(ctx context.Context, tx *db.Tx, claims []Claim, overdraft bool) ([][]finding.Finding, *CurrentLimits, error) {
	limits, err := currentLimits(ctx, tx)
	if err != nil {
		return nil, nil, err
	}

	out := make([][]finding.Finding, len(claims))
	if len(claims) == 0 {
		return out, limits, nil
	}

	f, err := loadFunds(ctx, tx, claims)
	if err != nil {
		return nil, nil, err
	}

	for i := range claims {
		out[i] = f.findings(&claims[i], overdraft)
	}

	return out, limits, limits.check(ctx, tx, claims, out)
}

// TakeTurns lets one request at a time decide on money that leaves the team, so that two do not spend the same. It
// comes before every other lock of such a request.
func TakeTurns(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('provider payments ' || @team::text, 0))`, db.Args{"team": tx.Team.String()})
	if err != nil {
		return fmt.Errorf("wait for other payments: %w", err)
	}

	return nil
}

// pool is an account's money in one currency.
type pool struct {
	accountID id.ID
	currency  string
}

// funds are what claims are paid from, and what they take of it together.
type funds struct {
	owned   map[statement.Chain]statement.Owned
	held    map[pool]money.Cents
	ofOwned map[statement.Chain]money.Cents
	ofHeld  map[pool]money.Cents
}

// loadFunds reads what there is today. What the books have taken already for the claims themselves is put back.
func loadFunds(ctx context.Context, tx *db.Tx, claims []Claim) (*funds, error) {
	today := day.Of(tx.Now)
	f := &funds{held: map[pool]money.Cents{}, ofOwned: map[statement.Chain]money.Cents{}, ofHeld: map[pool]money.Cents{}}
	back := map[statement.Chain]money.Cents{}

	var accounts []id.ID

	for i := range claims {
		c := &claims[i]
		for chain, cents := range c.Owners {
			f.ofOwned[chain] += cents
			if c.BookedOn != nil {
				back[chain] += cents
			}
		}

		p := pool{c.FundingAccountID, c.Currency}

		f.ofHeld[p] += c.Amount
		if c.BookedOn != nil && !c.BookedOn.After(today) {
			f.held[p] += c.Amount
		}

		accounts = append(accounts, c.FundingAccountID)
	}

	var err error
	if f.owned, err = statement.OwnedOn(ctx, tx, slices.Collect(maps.Keys(f.ofOwned)), today); err != nil {
		return nil, err
	}

	for chain, cents := range back {
		o := f.owned[chain]
		o.Available, o.Collected = o.Available+cents, o.Collected+cents
		f.owned[chain] = o
	}

	return f, f.addAccounts(ctx, tx, accounts, judged(claims), today)
}

// judged are the payments that claims are about already.
func judged(claims []Claim) []id.ID {
	ids := []id.ID{}

	for i := range claims {
		if !claims[i].PaymentID.IsZero() {
			ids = append(ids, claims[i].PaymentID)
		}
	}

	return ids
}

// addAccounts adds the balances of accounts by the books at the end of today, less payments that were asked for and
// that the books have leave later, or not yet: those that wait for approval among them, but for the ones that are
// judged.
func (f *funds) addAccounts(ctx context.Context, tx *db.Tx, accounts, but []id.ID, today day.Day) error {
	type row struct {
		AccountID id.ID
		Currency  string
		Cents     money.Cents
	}

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

// findings are what the funds say of a claim.
func (f *funds) findings(c *Claim, overdraft bool) []finding.Finding {
	severity := finding.Error
	if overdraft {
		severity = finding.Warning
	}

	from := pool{c.FundingAccountID, c.Currency}

	var out []finding.Finding

	add := func(code string, severity finding.Severity, requested money.Cents, of *statement.Owned, more map[string]any) {
		context := map[string]any{
			"requested": requested, "available": nil, "collected": nil, "fundingBalance": f.held[from], "fundingAccountId": from.accountID, "currency": c.Currency,
		}
		if of != nil {
			context["available"], context["collected"] = of.Available, of.Collected
		}

		maps.Copy(context, more)
		out = append(out, finding.Finding{Code: code, Severity: severity, Context: context})
	}

	var sum *statement.Owned

	for chain := range c.Owners {
		o := f.owned[chain]

		if sum == nil {
			sum = &statement.Owned{}
		}

		sum.Available, sum.Collected = sum.Available+o.Available, sum.Collected+o.Collected

		more := map[string]any{"balance": "owner", "ownershipPeriodId": chain.OwnershipPeriodID}
		switch requested := f.ofOwned[chain]; {
		case requested > o.Available:
			add(InsufficientFunds, severity, requested, &o, more)
		case requested > o.Collected:
			add(UncollectedFunds, finding.Warning, requested, &o, more)
		}
	}

	if requested := f.ofHeld[from]; requested > f.held[from] {
		add(InsufficientFunds, severity, requested, sum, map[string]any{"balance": "fundingAccount"})
	}

	return out
}
