package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// InsufficientOwnerFunds is the code of the issue of a bill that was paid with more than its owners have.
const InsufficientOwnerFunds = "insufficientOwnerFunds"

// ErrOverdraft refuses a bill that is paid by hand with more than its owners have, in a team that wants that.
var ErrOverdraft = apierr.New(apierr.CodeConflict, "", "The payment takes more than the owners of the listing have")

// Borne is the part of a bill that the owners of an ownership period bear.
type Borne struct {
	BillID            id.ID
	OwnershipPeriodID id.ID
	Currency          string
	// Cents is the part of the cost that they bear, without the manager's markup.
	Cents money.Cents
	// Funds is the amount that they have by the end of this month, the reserve included. Bills of this time that are
	// not paid yet take nothing, since that money is still there; those of later months that are paid do, since it is
	// gone.
	Funds money.Cents
}

// openBill is the SQL condition that a transaction t is a bill that was not paid, in the terms of the index that finds
// these.
const openBill = `t.team_id = @team and t.type = 'expense' and t.status = 'active' and t.payment_date is null
	and t.account_id = any(array(select a.id from account a where a.team_id = @team and a.type <> 'bank'))`

// fewOpen is how many open bills of a team are looked through before those of the ownership periods are.
const fewOpen = 200

// LoadBorne loads what owners bear of bills that are booked, paid or not. A bill of the manager has none.
func LoadBorne(ctx context.Context, tx *db.Tx, bills []id.ID) ([]Borne, error) {
	return loadBorne(ctx, tx, bills, fewOpen)
}

// loadBorne is LoadBorne with the number of open bills that are few.
func loadBorne(ctx context.Context, tx *db.Tx, bills []id.ID, few int64) ([]Borne, error) {
	// Entries of a bill on its accounting date; the markup is the manager's from then on.
	const entry = `e.team_id = @team and e.party = 'owners' and e.status = 'active' and e.trigger_type = 'expense'
			and e.ledger in ('trust', 'operating') and e.ref not like '%:markup%'`

	// Of all the owners' expenses only those after the month, and those of bills that are open, are looked at: the
	// month sums have the rest. Open bills are found by themselves while the team has few, else among the expenses of
	// the ownership periods.
	const (
		isFew  = `(select count(*) <= @few from (select from transaction t where ` + openBill + ` limit @few + 1) t)`
		isOpen = entry + ` and e.txn_at <= @last`
	)

	rows, err := db.Select[Borne](ctx, tx, `
		with bill as materialized (
			select e.source_id as bill_id, e.ownership_period_id, e.currency, sum(e.cent_total)::bigint as cents from ledger_entry e
			where `+entry+` and e.source_id = any(@bills) and e.ownership_period_id is not null group by 1, 2, 3),
		later as materialized (
			select e.ownership_period_id, e.currency, -e.cent_total as cents
			from (select distinct ownership_period_id as id from bill) k
			cross join lateral (select * from ledger_entry e where e.team_id = @team and e.party = 'owners' and e.ownership_period_id = k.id
				and e.txn_at > @last`+db.Fence+`) e
			join transaction t on t.team_id = @team and t.id = e.source_id
			left join account a on a.team_id = @team and a.id = t.account_id
			where `+entry+` and t.type = 'expense' and t.status = 'active' and not (`+unpaidSQL+`)),
		few as materialized (select `+isFew+` as open),
		open as materialized (
			select e.ownership_period_id, e.currency, e.cent_total as cents
			from transaction t cross join lateral (select * from ledger_entry e where e.team_id = @team and e.source_id = t.id`+db.Fence+`) e
			where (select open from few) and `+openBill+` and `+isOpen+` and e.ownership_period_id in (select ownership_period_id from bill)
			union all
			select e.ownership_period_id, e.currency, e.cent_total
			from (select distinct ownership_period_id as id from bill) k
			join ledger_entry e on e.ownership_period_id = k.id join transaction t on t.id = e.source_id
			where not (select open from few) and `+openBill+` and `+isOpen+`),
		chain as materialized (
			select k.ownership_period_id, k.currency, (
				coalesce((select sum(f.cents) from (select * from later union all select * from open) f
					where f.ownership_period_id = k.ownership_period_id and f.currency = k.currency), 0)
				- coalesce((select sum(o.cents) from ledger_owner o where o.team_id = @team and o.ownership_period_id = k.ownership_period_id
					and o.currency = k.currency and o.month <= @last), 0))::bigint as funds
			from (select distinct ownership_period_id, currency from bill) k)
		select b.bill_id, b.ownership_period_id, b.currency, b.cents, c.funds from bill b join chain c using (ownership_period_id, currency)
		order by 1, 2, 3`, db.Args{"team": tx.Team, "bills": bills, "last": tx.Today().LastOfMonth(), "few": few})
	if err != nil {
		return nil, fmt.Errorf("read what owners bear of bills: %w", err)
	}

	return rows, nil
}

// CheckOverdraft returns the issues of a bill that has just been paid by hand, one for each ownership period with
// owners who had less than they bear. It fails with ErrOverdraft in a team with ownerOverdraft refuse.
func CheckOverdraft(ctx context.Context, tx *db.Tx, t *Transaction) ([]Issue, error) {
	if t.Type != Expense || t.Status != Active || t.PaidStatus != Paid {
		return nil, nil
	}

	borne, err := LoadBorne(ctx, tx, []id.ID{t.ID})
	if err != nil {
		return nil, err
	}

	return overdraftIssues(ctx, tx, t, borne)
}

// overdraftIssues is CheckOverdraft with what the owners bear of the bill.
func overdraftIssues(ctx context.Context, tx *db.Tx, t *Transaction, borne []Borne) ([]Issue, error) {
	var issues []Issue

	for i := range borne {
		b := &borne[i]
		if b.Funds >= 0 || b.Cents <= 0 {
			continue
		}

		available := b.Funds + b.Cents
		issues = append(issues, Issue{Code: InsufficientOwnerFunds, Severity: finding.Warning, Context: IssueContext{
			TransactionID: t.ID, OwnershipPeriodID: b.OwnershipPeriodID, Amount: b.Cents, Available: &available,
			Currency: b.Currency,
		}})
	}

	if len(issues) == 0 {
		return nil, nil
	}

	refuse, err := db.Get[bool](ctx, tx, `select owner_overdraft = 'refuse' from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	if refuse {
		c := issues[0].Context

		return nil, ErrOverdraft.With(map[string]any{
			"reason": InsufficientOwnerFunds, "ownershipPeriodId": c.OwnershipPeriodID, "requested": c.Amount,
			"available": c.Available, "currency": c.Currency,
		})
	}

	return issues, nil
}

// loadChecked loads a draft that was stored as the API shows it, with the issues of a bill that has just been paid by
// hand. What its owners bear is read in the same round trip.
func (d *draft) loadChecked(ctx context.Context, tx *db.Tx) (t *Transaction, err error) {
	books, err := account.LoadBooks(ctx, tx)
	if err != nil {
		return nil, err
	}

	works := []db.Work{db.LoadBy(&t, loadOne, d.ID)}

	// A bill is paid if it has a payment, and was paid at once by a bank account.
	var borne []Borne

	_, isBank := books.Banks[d.AccountID]
	if d.Type == Expense && d.Status == Active && (isBank || d.Payment != nil) {
		works = append(works, db.LoadBy(&borne, LoadBorne, []id.ID{d.ID}))
	}

	if err := tx.Together(ctx, works...); err != nil || t.PaidStatus != Paid {
		return t, err
	}

	issues, err := overdraftIssues(ctx, tx, t, borne)
	if err != nil {
		return nil, err
	}

	t.Issues = append(t.Issues, issues...)

	return t, nil
}
