package report

import (
	"context"
	"fmt"

	"stayledger/domain/account"
	"stayledger/domain/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// TrialBalance lists the accounts with what they stood at and what moved.
type TrialBalance struct {
	Currency  money.Currency `json:"currency"`
	StartDate day.Day        `json:"startDate"`
	EndDate   day.Day        `json:"endDate" doc:"Last day, included."`
	Data      []TrialRow     `json:"data"`
	Totals    TrialTotals    `json:"totals"`
}

// TrialRow is one account; cents, debit positive, in debit and credit alike.
type TrialRow struct {
	Account        AccountRef             `json:"account"`
	Classification account.Classification `json:"classification" enum:"asset,liability,revenue,expense"`
	Beginning      money.Cents            `json:"beginning" doc:"Balance before the start date, debit positive."`
	Debit          money.Cents            `json:"debit"`
	Credit         money.Cents            `json:"credit"`
	Ending         money.Cents            `json:"ending" doc:"beginning + debit - credit."`
	Drilldown      Drilldown              `json:"drilldown" db:"-" doc:"The entries whose debits and credits these are."`
}

// TrialTotals are the sums over all accounts: debit equals credit, beginning and ending are zero.
type TrialTotals struct {
	Beginning money.Cents `json:"beginning"`
	Debit     money.Cents `json:"debit"`
	Credit    money.Cents `json:"credit"`
	Ending    money.Cents `json:"ending"`
}

// TrialFilter selects a trial balance: query parameters, and the body of its export.
type TrialFilter struct {
	StartDate Start      `query:"startDate" json:"startDate" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period stands for its first day."`
	EndDate   End        `query:"endDate" json:"endDate" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period stands for its last day, which is included."`
	Ledger    liveLedger `query:"ledger" json:"ledger,omitempty" enum:"trust,operating"`
	Currency  string     `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

// Resolve refuses a period that ends before it starts.
func (f TrialFilter) Resolve() []apierr.Issue {
	if f.EndDate.Before(f.StartDate.Day) {
		return []apierr.Issue{queryIssue("The period ends before it starts", "dateOrder", "endDate")}
	}
	return nil
}

// span is a period split into whole months, which the month balances answer, and the broken months at its edges, which entries answer.
// Ranges are half open; an empty one selects nothing.
type span struct {
	// before are the days of the first month before the period; the months before that one are whole.
	before day.Range
	head   day.Range
	months day.Range
	tail   day.Range
}

func spanOf(start, end day.Day) span {
	next := end.AddDays(1)
	first, last := start.FirstOfMonth(), next.FirstOfMonth()
	s := span{before: day.Range{From: first, To: start}, head: day.Range{From: start, To: start}}
	whole := first
	if start != first {
		whole = start.Month().Next().First()
		s.head.To = day.Min(whole, next)
	}
	s.months = day.Range{From: whole, To: day.Max(whole, last)}
	s.tail = day.Range{From: s.months.To, To: day.Max(s.months.To, next)}
	return s
}

const trialSQL = `
	with moved as (
		select account_id, debit - credit as beginning, 0 as debit, 0 as credit from ledger_balance
			where team_id = @team and currency = @currency and ledger = any(@ledgers) and month < @first
		union all
		select account_id, 0, debit, credit from ledger_balance
			where team_id = @team and currency = @currency and ledger = any(@ledgers) and month >= @months_from and month < @months_to
		union all
		select account_id, cent_total, 0, 0 from ledger_entry
			where team_id = @team and currency = @currency and ledger = any(@ledgers) and status = 'active' and txn_at >= @first and txn_at < @start
		union all
		select account_id, 0, greatest(cent_total, 0), greatest(-cent_total, 0) from ledger_entry
			where team_id = @team and currency = @currency and ledger = any(@ledgers) and status = 'active' and txn_at >= @start and txn_at < @head_to
		union all
		select account_id, 0, greatest(cent_total, 0), greatest(-cent_total, 0) from ledger_entry
			where team_id = @team and currency = @currency and ledger = any(@ledgers) and status = 'active' and txn_at >= @tail_from and txn_at < @tail_to
	), summed as (
		select account_id, sum(beginning)::bigint as beginning, sum(debit)::bigint as debit, sum(credit)::bigint as credit from moved group by account_id
	)
	select jsonb_build_object('id', a.id, 'code', a.code, 'name', a.name) as account, c.classification, s.beginning, s.debit, s.credit,
		s.beginning + s.debit - s.credit as ending
	from summed s join account a on a.team_id = @team and a.id = s.account_id
		join account_category c on c.team_id = a.team_id and c.id = a.category_id
	where s.beginning <> 0 or s.debit <> 0 or s.credit <> 0
	order by a.code nulls last, a.name, a.id`

type trialInput struct{ TrialFilter }

func trialBalance(ctx context.Context, tx *db.Tx, in *trialInput) (*TrialBalance, error) {
	return Trial(ctx, tx, in.TrialFilter)
}

// Trial reads the trial balance that a valid filter selects.
func Trial(ctx context.Context, tx *db.Tx, f TrialFilter) (*TrialBalance, error) {
	currency, err := currencyOr(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}
	ledgers := []string{string(ledger.Trust), string(ledger.Operating)}
	selection := Selection{StartDate: &f.StartDate, EndDate: &f.EndDate, Currency: string(currency)}
	if f.Ledger != "" {
		ledgers = []string{string(f.Ledger)}
		selection.Ledger = ledger.Ledger(f.Ledger)
	}
	s := spanOf(f.StartDate.Day, f.EndDate.Day)
	out := &TrialBalance{Currency: currency, StartDate: f.StartDate.Day, EndDate: f.EndDate.Day}
	if out.Data, err = db.Select[TrialRow](ctx, tx, trialSQL, db.Args{
		"team": tx.Team, "currency": currency, "ledgers": ledgers, "first": s.before.From, "start": s.before.To, "head_to": s.head.To,
		"months_from": s.months.From, "months_to": s.months.To, "tail_from": s.tail.From, "tail_to": s.tail.To,
	}); err != nil {
		return nil, fmt.Errorf("read the trial balance: %w", err)
	}
	for i := range out.Data {
		r := &out.Data[i]
		behind := selection
		behind.AccountIDs = []id.ID{r.Account.ID}
		r.Drilldown = drilldown(behind)
		out.Totals.Beginning += r.Beginning
		out.Totals.Debit += r.Debit
		out.Totals.Credit += r.Credit
		out.Totals.Ending += r.Ending
	}
	return out, nil
}
