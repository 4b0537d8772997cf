package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// AwaitingApproval is the issue of a payment that waits for a second person. That is intended, so it is no error.
const AwaitingApproval = "paymentAwaitingApproval"

// issuesSQL loads the issues of payments that have not brought their money, by transaction.
func issuesSQL(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]Issue, error) {
	type found struct {
		IssueContext

		Code string
	}

	rows, err := db.Select[found](ctx, tx, `
		select transaction_id, payment_id, contact_id, amount, currency, code from payment_not_received
		where team_id = @team and transaction_id = any(@ids) order by payment_id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read the payments that were not received: %w", err)
	}

	out := make(map[id.ID][]Issue, len(rows))
	for i := range rows {
		r := &rows[i]

		severity := finding.Error
		if r.Code == AwaitingApproval {
			severity = finding.Warning
		}

		out[r.TransactionID] = append(
			out[r.TransactionID], Issue{Code: r.Code, Severity: severity, Context: r.IssueContext},
		)
	}

	return out, nil
}

// farAhead returns the issue of a transaction that is dated or paid more than a year ahead, nil for none.
func (t *Transaction) farAhead(today day.Day) []Issue {
	last := t.Date
	if t.Payment != nil {
		last = day.Max(last, t.Payment.Date)
	}

	if !last.After(today.AddYears(1)) {
		return nil
	}

	return []Issue{
		{Code: "dateFarAhead", Severity: finding.Warning, Context: IssueContext{TransactionID: t.ID, Date: last}},
	}
}

// openMoney has paid statuses and issues by transaction, for transactions whose money may not have arrived.
type openMoney struct {
	statuses map[id.ID]PaidStatus
	issues   map[id.ID][]Issue
}

// loadOpenMoney loads paid statuses and issues for transactions with MayBeOpen. Without any it sends nothing.
func loadOpenMoney(ctx context.Context, tx *db.Tx, all []Transaction) (o openMoney, err error) {
	var ids []id.ID

	for i := range all {
		if all[i].MayBeOpen {
			ids = append(ids, all[i].ID)
		}
	}

	if len(ids) == 0 {
		return o, nil
	}

	return o, tx.Together(ctx, db.LoadBy(&o.statuses, loadPaidStatuses, ids), db.LoadBy(&o.issues, issuesSQL, ids))
}

// loadPaidStatuses loads paid statuses by transaction.
func loadPaidStatuses(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]PaidStatus, error) {
	type row struct {
		ID         id.ID
		PaidStatus PaidStatus
	}

	rows, err := db.Select[row](ctx, tx, `select t.id, `+paidStatus+` as paid_status from `+from+` where t.team_id = @team and t.id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read paid statuses: %w", err)
	}

	out := make(map[id.ID]PaidStatus, len(rows))
	for _, r := range rows {
		out[r.ID] = r.PaidStatus
	}

	return out, nil
}

// show fills in the states of journals, and what payments say where it was loaded.
func show(all []Transaction, journals map[id.ID]ledger.State, o openMoney, today day.Day) {
	for i := range all {
		t := &all[i]
		t.Lock, t.JournalStatus = journals[t.ID].Lock, journals[t.ID].Status
		t.Issues = append(append([]Issue{}, o.issues[t.ID]...), t.farAhead(today)...)

		if status, known := o.statuses[t.ID]; known {
			t.PaidStatus = status
		}
	}
}

// Show fills in the fields of transactions that are not in their own rows, for all of them at once.
func Show(ctx context.Context, tx *db.Tx, all []Transaction) error {
	if len(all) == 0 {
		return nil
	}

	ids := make([]id.ID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}

	var (
		journals map[id.ID]ledger.State
		o        openMoney
	)

	if err := tx.Together(ctx, db.LoadBy(&journals, ledger.Transactions.LoadStates, ids), db.LoadBy(&o, loadOpenMoney, all)); err != nil {
		return err
	}

	show(all, journals, o, tx.Today())

	return nil
}

// ShowOne fills in the fields of a transaction that are not in its own row, or returns the error with which reading
// it failed.
func ShowOne(ctx context.Context, tx *db.Tx, t *Transaction, err error) (*Transaction, error) {
	if err != nil {
		return nil, err
	}

	all := []Transaction{*t}

	return &all[0], Show(ctx, tx, all)
}

// loadOne loads a transaction as the API shows it, or fails with apierr.NotFound: in one round trip, and a second one if
// a payment of it may not have arrived.
func loadOne(ctx context.Context, tx *db.Tx, one id.ID) (*Transaction, error) {
	var (
		found    []Transaction
		journals map[id.ID]ledger.State
	)

	err := tx.Together(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[Transaction](ctx, tx, `select `+shownSQL(true)+` from `+from+` where t.team_id = @team and t.id = @id`,
			db.Args{"team": tx.Team, "id": one})

		return err
	}, db.LoadBy(&journals, ledger.Transactions.LoadStates, []id.ID{one}))
	if err != nil {
		return nil, fmt.Errorf("read a transaction: %w", err)
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	o, err := loadOpenMoney(ctx, tx, found)
	if err != nil {
		return nil, err
	}

	show(found, journals, o, tx.Today())

	return &found[0], nil
}
