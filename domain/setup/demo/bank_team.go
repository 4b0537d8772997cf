package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// What the bank prints on records that bank rules know.
const (
	serviceCharge = "MONTHLY SERVICE CHARGE"
	interest      = "INTEREST CREDIT"
	internet      = "COASTAL INTERNET"
)

// addRules adds the bank rules of the operating account: charges and interest of the bank are booked by themselves,
// the internet bill is left to a person. The bank charges nothing on the trust account, because that money is not
// the manager's.
func addRules(ctx context.Context, tx *db.Tx) error {
	codes, err := accountCodes(ctx, tx)
	if err != nil {
		return err
	}

	for _, r := range []struct {
		name, prints string
		kind         transaction.Type
		mode         rule.Mode
		code         string
	}{
		{"Bank charges", serviceCharge, transaction.Expense, rule.Auto, "5200"},
		{"Interest", interest, transaction.Deposit, rule.Auto, "4120"},
		{"Internet", internet, transaction.Expense, rule.Suggest, "5200"},
	} {
		// All of the amount goes to one account of the manager.
		line := rule.LineInput{
			SplitMode: rule.Remainder,
			AccountID: api.Set(codes[r.code]),
			Party:     api.Set(ledger.Manager),
		}
		if _, err := rule.Add(ctx, tx, &rule.Create{
			Name:                r.name,
			TransactionType:     r.kind,
			Mode:                r.mode,
			DescriptionOverride: api.Set(r.name),
			AccountIDs:          []id.ID{codes["1010"]},
			Conditions:          []rule.Condition{{Type: rule.Description, Operator: rule.StartsWith, Value: r.prints}},
			Lines:               []rule.LineInput{line},
		}); err != nil {
			return fmt.Errorf("bank rule: %w", err)
		}
	}

	return nil
}

// finishBank adds the bank records that concern no listing, and the balances, once the books of all listings are
// there. Before that it does nothing.
func finishBank(ctx context.Context, tx *db.Tx, d Data) error {
	last, err := isLast(ctx, tx, d)
	if err != nil || !last {
		return err
	}

	codes, err := accountCodes(ctx, tx)
	if err != nil {
		return err
	}

	// First the records that are booked, or that a person is to book.
	reports, err := d.weeklyPayouts(ctx, tx)
	if err != nil {
		return err
	}

	reports = append(reports, d.bankItself(codes["1010"])...)
	reports = append(reports, d.loneRecords(codes["1000"], codes["1010"])...)

	ids, err := saveReports(ctx, tx, "demo-team", reports)
	if err != nil {
		return err
	}

	if err := rule.Apply(ctx, tx, ids); err != nil {
		return fmt.Errorf("apply bank rules: %w", err)
	}

	// Then a duplicate: somebody had noted this movement by hand before the file came.
	twin := reports[len(reports)-1]
	if _, err := bank.Add(ctx, tx, []bank.Create{{
		AccountID:   twin.account,
		Date:        twin.at,
		Description: "Transfer from Alex Moore, for which stay?",
		Amount:      &twin.amount,
	}}); err != nil {
		return fmt.Errorf("add a bank record by hand: %w", err)
	}

	// Last the balances, because they need all movements.
	return d.stateBalances(ctx, tx, []id.ID{codes["1000"], codes["1010"]})
}

// isLast reports whether the books of all listings are there. Transactions that fill listings at the same time take
// turns from here on, so exactly one of them is the last, and it sees what the others have committed.
func isLast(ctx context.Context, tx *db.Tx, d Data) (bool, error) {
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('demo bank ' || @team::uuid::text, 0))`,
		db.Args{"team": tx.Team}); err != nil {
		return false, fmt.Errorf("take turns at the bank: %w", err)
	}

	refs := make([]string, d.Listings)
	for i := range refs {
		refs[i] = listingRef(i)
	}

	n, err := db.Get[int64](ctx, tx, `select count(*) from listing where team_id = @team and unique_ref = any(@refs)`,
		db.Args{"team": tx.Team, "refs": refs})
	if err != nil {
		return false, fmt.Errorf("count listings: %w", err)
	}

	return n == d.Listings, nil
}

// weeklyPayouts returns the payouts of the channel that pays on Thursdays for all stays since the last one: one
// record for several deposits.
func (d Data) weeklyPayouts(ctx context.Context, tx *db.Tx) ([]report, error) {
	moved, err := loadMovements(ctx, tx, `t.description = @weekly and not exists (`+bank.PartsSQL("t.id", "e.account_id")+`)`,
		db.Args{"weekly": weekly})
	if err != nil {
		return nil, err
	}

	return d.report(moved, func(m *movement) (day.Day, string, bool) {
		return next(time.Thursday, m.Date), "BOOKING.COM B.V. PAYOUT", true
	}), nil
}

// bankItself returns what the bank charges on an account at the end of each month, and the interest it pays at the
// end of each quarter.
func (d Data) bankItself(account id.ID) []report {
	amounts := bankDice(d.Seed, theTeam)

	var reports []report
	for m := d.Start().Month(); m.Last().Before(d.Today); m = m.Next() {
		reports = append(reports, report{
			account:     account,
			at:          m.Last(),
			amount:      -cents(amounts, 1_500, 450),
			description: serviceCharge,
		})
		if m.Next().Month%3 == 1 {
			reports = append(reports, report{
				account:     account,
				at:          m.Last(),
				amount:      cents(amounts, 200, 600),
				description: interest,
			})
		}
	}

	return reports
}

// cents returns a random amount of at least the least.
func cents(amounts *rand.Rand, least, more int) money.Cents {
	return money.Cents(least + amounts.IntN(more))
}

// loneRecords returns records without a transaction. The last one is of today, after all balances that the bank has
// stated.
func (d Data) loneRecords(trust, operating id.ID) []report {
	var reports []report

	for _, r := range []report{
		{account: trust, at: d.Today.AddDays(-40), amount: 43_271, description: "WIRE IN, NO REFERENCE"},
		{account: trust, at: d.Today.AddDays(-12), amount: -18_423, description: "CHEQUE 001187"},
		{account: operating, at: d.Today.AddDays(-8), amount: -5_917, description: internet},
		{account: operating, at: d.Today.AddDays(-3), amount: -26_749, description: "CONFERENCE HOTEL"},
		{account: trust, at: d.Today, amount: 13_579, description: "INSTANT TRANSFER A MOORE"},
	} {
		if !r.at.Before(d.Start()) {
			reports = append(reports, r)
		}
	}

	return reports
}

// opening is a part of the opening of a bank account, without a bank record. First is the account's first day.
type opening struct {
	AccountID id.ID
	First     *day.Day
	Date      day.Day
	Cents     money.Cents
}

// loadOpenings loads the openings of accounts: the balance counted on their first day, and opening balances that
// were booked after it. Each account has at least one.
func loadOpenings(ctx context.Context, tx *db.Tx, accounts []id.ID) ([]opening, error) {
	found, err := db.Select[opening](ctx, tx, `
		with opens as (
			select a.team_id, a.id, a.banking_opening_at as first, coalesce(a.banking_opening, 0) as counted,
				a.banking_opening_transaction_id as transaction_id
			from account a where a.team_id = @team and a.id = any(@accounts)
		)
		select id as account_id, first, coalesce(first, '0001-01-01') as date, counted::bigint as cents from opens
		union all
		select o.id, o.first, e.txn_at, sum(e.cent_total)::bigint from opens o
		join ledger_entry e on e.team_id = o.team_id and e.account_id = o.id and e.status = 'active' and e.ledger <> 'historical'
			and e.txn_at > coalesce(o.first, '-infinity') and e.source_id is distinct from o.transaction_id
			and (e.source_id = e.team_id or exists (select from transaction t
				where t.team_id = e.team_id and t.id = e.source_id and t.is_opening_balance))
		group by o.id, o.first, e.txn_at
		order by account_id, date`, db.Args{"team": tx.Team, "accounts": accounts})
	if err != nil {
		return nil, fmt.Errorf("read what bank accounts open with: %w", err)
	}

	return found, nil
}

// stateBalances adds the balances that the bank states at the end of the day before the sample books begin and of
// each month that is over. A balance is the opening plus all movements until then. An account with a later first
// day has no balance before it.
func (d Data) stateBalances(ctx context.Context, tx *db.Tx, accounts []id.ID) error {
	openings, err := loadOpenings(ctx, tx, accounts)
	if err != nil {
		return err
	}

	var balances []bank.Create

	for m := d.Start().Month().Prev(); m.Last().Before(d.Today); m = m.Next() {
		held, err := bank.ListBalances(ctx, tx, sumOpenings(openings, m.Last()), m.Next().First())
		if err != nil {
			return err
		}

		// The reference stays the same when the books are filled again.
		for i := range held {
			balances = append(balances, bank.Create{
				AccountID:   held[i].AccountID,
				Date:        m.Last(),
				Description: "CLOSING BALANCE",
				Balance:     &held[i].Cents,
				Source:      bank.CSV,
				UniqueRef:   api.Set(fmt.Sprintf("demo-balance-%s-%d", m, slices.Index(accounts, held[i].AccountID)+1)),
			})
		}
	}

	if _, err := bank.Add(ctx, tx, balances); err != nil {
		return fmt.Errorf("add stated balances: %w", err)
	}

	return nil
}

// sumOpenings adds up the openings of accounts up to a day, without accounts whose first day is later. The openings of
// an account must be next to each other.
func sumOpenings(openings []opening, by day.Day) []bank.Since {
	var out []bank.Since

	for _, o := range openings {
		if o.Date.After(by) {
			continue
		}

		if n := len(out); n == 0 || out[n-1].Account != o.AccountID {
			out = append(out, bank.Since{Account: o.AccountID, First: o.First})
		}

		out[len(out)-1].Opening += o.Cents
	}

	return out
}
