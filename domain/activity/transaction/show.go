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
	found, err := db.Select[row](ctx, tx, `select `+rowColumns(true)+` from `+rowTables+` where t.team_id = @team and t.id = @id`,
		db.Args{"team": tx.Team, "reader": tx.Actor.User, "id": one})
	if err != nil {
		return nil, fmt.Errorf("read a transaction: %w", err)
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	all, err := showRows(ctx, tx, found)
	if err != nil {
		return nil, err
	}

	return &all[0], nil
}

// row is a transaction in the form in which one statement reads it with the state of its journal.
type row struct {
	Transaction
	ledger.StateRow
}

var rowTables = from + ledger.StateTables("t.id")

// rowColumns returns the columns of rows, with their lines or only with those that Show needs.
func rowColumns(withLines bool) string {
	return shownSQL(withLines) + ", " + ledger.Transactions.StateColumns("t.id")
}

// showRows returns the transactions of rows with the fields that are in no column. It sends nothing for those that have
// nothing rare.
func showRows(ctx context.Context, tx *db.Tx, rows []row) ([]Transaction, error) {
	all, states := make([]Transaction, len(rows)), make(map[id.ID]*ledger.StateRow, len(rows))
	for i := range rows {
		all[i], states[rows[i].ID] = rows[i].Transaction, &rows[i].StateRow
	}

	var (
		journals map[id.ID]ledger.State
		o        openMoney
	)

	err := tx.Together(ctx, db.LoadBy(&o, loadOpenMoney, all), func(ctx context.Context, tx *db.Tx) (err error) {
		journals, err = ledger.Transactions.States(ctx, tx, states)
		return err
	})
	if err != nil {
		return nil, err
	}

	show(all, journals, o, tx.Today())

	return all, nil
}
