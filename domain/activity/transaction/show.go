package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// surroundingsOf are transactions with the listings of their lines: the operations of a listing derive their journals too.
func surroundingsOf(ctx context.Context, tx *db.Tx, ids []id.ID) ([]ledger.Subject, error) {
	found, err := db.Select[ledger.Subject](ctx, tx, `
		select t.id, array(select distinct l.listing_id from transaction_line l
				where l.team_id = t.team_id and l.transaction_id = t.id and l.listing_id is not null) as also
		from transaction t where t.team_id = @team and t.id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what stands around transactions: %w", err)
	}
	return found, nil
}

// AwaitingApproval is the issue of a payment that waits for a second person: as it should, so it is no error.
const AwaitingApproval = "paymentAwaitingApproval"

// Issues are the payments of transactions that have not brought their money.
func Issues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]Issue, error) {
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
		severity := "error"
		if r.Code == AwaitingApproval {
			severity = "warning"
		}
		out[r.TransactionID] = append(out[r.TransactionID], Issue{Code: r.Code, Severity: severity, Context: r.IssueContext})
	}
	return out, nil
}

// farAhead is the issue of a transaction that is dated more than a year ahead.
func (t *Transaction) farAhead(today day.Day) []Issue {
	last := t.Date
	if t.Payment != nil {
		last = day.Max(last, t.Payment.Date)
	}
	if !last.After(today.AddYears(1)) {
		return nil
	}
	return []Issue{{Code: "dateFarAhead", Severity: "warning", Context: IssueContext{TransactionID: t.ID, Date: last}}}
}

// Show fills in what transactions tell beside their own rows: what holds their journals, and whether these are current.
func Show(ctx context.Context, tx *db.Tx, all []Transaction) error {
	if len(all) == 0 {
		return nil
	}
	ids := make([]id.ID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	locks, err := ledger.LocksOf(ctx, tx, ids)
	if err != nil {
		return fmt.Errorf("read the locks of transactions: %w", err)
	}
	around, err := surroundingsOf(ctx, tx, ids)
	if err != nil {
		return err
	}
	statuses, err := ledger.StatusOf(ctx, tx, around)
	if err != nil {
		return fmt.Errorf("read the journal statuses of transactions: %w", err)
	}
	issues, err := Issues(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i := range all {
		t := &all[i]
		t.Lock, t.JournalStatus = locks[t.ID], statuses[t.ID]
		t.Issues = append(append([]Issue{}, issues[t.ID]...), t.farAhead(day.Of(tx.Now))...)
	}
	return nil
}

// Shown is Show for one transaction, or the error of whoever made it.
func Shown(ctx context.Context, tx *db.Tx, t *Transaction, err error) (*Transaction, error) {
	if err != nil {
		return nil, err
	}
	one := []Transaction{*t}
	return &one[0], Show(ctx, tx, one)
}
