package transaction

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
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
		severity := finding.Error
		if r.Code == AwaitingApproval {
			severity = finding.Warning
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
	return []Issue{{Code: "dateFarAhead", Severity: finding.Warning, Context: IssueContext{TransactionID: t.ID, Date: last}}}
}

// subject is the transaction with the listings of its lines: the operations of a listing derive its journal too.
func (t *Transaction) subject() ledger.Subject {
	listings := idSet{}
	for i := range t.Lines {
		listings.add(deref(t.Lines[i].ListingID))
	}
	return ledger.Subject{ID: t.ID, Also: listings.list()}
}

// state is what transactions tell beside their own rows: what holds their journals, whether these are current, and what their payments came to.
type state struct {
	locks    map[id.ID]ledger.Lock
	statuses map[id.ID]ledger.JournalStatus
	issues   map[id.ID][]Issue
}

func stateOf(ctx context.Context, tx *db.Tx, subjects []ledger.Subject) (s state, err error) {
	ids := make([]id.ID, len(subjects))
	for i := range subjects {
		ids[i] = subjects[i].ID
	}
	err = tx.Together(ctx, db.LoadOf(&s.locks, ledger.LocksOf, ids), db.LoadOf(&s.statuses, ledger.StatusOf, subjects), db.LoadOf(&s.issues, Issues, ids))
	if err != nil {
		return s, fmt.Errorf("read the state of transactions: %w", err)
	}
	return s, nil
}

func (s *state) fill(t *Transaction, today day.Day) {
	t.Lock, t.JournalStatus = s.locks[t.ID], s.statuses[t.ID]
	t.Issues = append(append([]Issue{}, s.issues[t.ID]...), t.farAhead(today)...)
}

// Show fills in what transactions tell beside their own rows.
func Show(ctx context.Context, tx *db.Tx, all []Transaction) error {
	if len(all) == 0 {
		return nil
	}
	subjects := make([]ledger.Subject, len(all))
	var unread []id.ID // lists leave the lines out
	for i := range all {
		if subjects[i] = all[i].subject(); len(all[i].Lines) == 0 {
			unread = append(unread, all[i].ID)
		}
	}
	if unread != nil {
		around, err := surroundingsOf(ctx, tx, unread)
		if err != nil {
			return err
		}
		subjects = append(slices.DeleteFunc(subjects, func(s ledger.Subject) bool { return slices.Contains(unread, s.ID) }), around...)
	}
	s, err := stateOf(ctx, tx, subjects)
	if err != nil {
		return err
	}
	for i := range all {
		s.fill(&all[i], day.Of(tx.Now))
	}
	return nil
}

// Shown fills in what a transaction tells beside its own row, unless it could not be had.
func Shown(ctx context.Context, tx *db.Tx, t *Transaction, err error) (*Transaction, error) {
	if err != nil {
		return nil, err
	}
	one := []Transaction{*t}
	return &one[0], Show(ctx, tx, one)
}

// shown reads a draft that was stored, unless that failed, as it is shown.
func (d *draft) shown(ctx context.Context, tx *db.Tx, err error) (*Transaction, error) {
	if err != nil {
		return nil, err
	}
	var stored *Transaction
	var s state
	if err := tx.Together(ctx, db.LoadOf(&stored, byID, d.ID), db.LoadOf(&s, stateOf, []ledger.Subject{d.subject()})); err != nil {
		return nil, err
	}
	s.fill(stored, day.Of(tx.Now))
	return stored, nil
}
