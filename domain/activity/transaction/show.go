package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
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

// state has everything that transactions show in addition to their own rows, by transaction: the state of their
// journals and the issues of their payments.
type state struct {
	journals map[id.ID]ledger.State
	issues   map[id.ID][]Issue
}

// loadState loads the state of transactions in one round trip.
func loadState(ctx context.Context, tx *db.Tx, ids []id.ID) (s state, err error) {
	err = tx.Together(
		ctx,
		db.LoadBy(&s.journals, ledger.Transactions.LoadStates, ids),
		db.LoadBy(&s.issues, issuesSQL, ids),
	)
	if err != nil {
		return s, fmt.Errorf("read the state of transactions: %w", err)
	}

	return s, nil
}

// fill gives a transaction its lock, its journal status and its issues.
func (s *state) fill(t *Transaction, today day.Day) {
	t.Lock, t.JournalStatus = s.journals[t.ID].Lock, s.journals[t.ID].Status
	t.Issues = append(append([]Issue{}, s.issues[t.ID]...), t.farAhead(today)...)
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

	s, err := loadState(ctx, tx, ids)
	if err != nil {
		return err
	}

	for i := range all {
		s.fill(&all[i], tx.Today())
	}

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

// loadOne loads a transaction as the API shows it, or fails with apierr.NotFound.
func loadOne(ctx context.Context, tx *db.Tx, one id.ID) (*Transaction, error) {
	var (
		stored *Transaction
		s      state
	)
	if err := tx.Together(ctx, db.LoadBy(&stored, load, one), db.LoadBy(&s, loadState, []id.ID{one})); err != nil {
		return nil, err
	}

	s.fill(stored, tx.Today())

	return stored, nil
}

// loadShown loads a draft that was stored as the API shows it, or returns the error with which storing it failed.
func (d *draft) loadShown(ctx context.Context, tx *db.Tx, err error) (*Transaction, error) {
	if err != nil {
		return nil, err
	}

	return loadOne(ctx, tx, d.ID)
}
