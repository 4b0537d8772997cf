package statement

import (
	"context"
	"fmt"

	"stayledger/domain/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Payable is a statement as payouts see it.
type Payable struct {
	ID                id.ID
	OwnershipPeriodID id.ID
	ListingID         id.ID
	Currency          string
	StartAt, EndAt    day.Day
	Status            Status
	Financials        Financials
	// Shares divide the available balance among the members.
	Shares []Share
	// PaidTo is what payouts have brought each member; Received is what all of them brought.
	PaidTo        map[id.ID]money.Cents
	Received      money.Cents
	JournalStatus ledger.JournalStatus
}

// Payables reads statements that money may be paid on, drafts included, in the order of the ids; ids that name none are left out. To pay them,
// their rows are locked first: no one reopens a statement, or pays it, meanwhile.
func Payables(ctx context.Context, tx *db.Tx, ids []id.ID, toPay bool) ([]Payable, error) {
	if toPay {
		if _, err := tx.Exec(ctx, `select 1 from statement where team_id = @team and id = any(@ids) order by id for update`,
			db.Args{"team": tx.Team, "ids": ids}); err != nil {
			return nil, fmt.Errorf("lock statements: %w", err)
		}
	}
	at, err := resolve(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	rows, err := rowsAt(ctx, tx, at)
	if err != nil {
		return nil, err
	}
	statements, err := tell(ctx, tx, rows, false)
	if err != nil {
		return nil, err
	}
	paid, err := paidTo(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[id.ID]Payable, len(statements))
	for i := range statements {
		s := &statements[i]
		byID[s.ID] = Payable{
			ID: s.ID, OwnershipPeriodID: s.Ownership.ID, ListingID: s.Listing.ID, Currency: s.Currency, StartAt: s.StartAt, EndAt: s.EndAt,
			Status: s.Status, Financials: s.Financials, Shares: s.Shares, PaidTo: paid[s.ID], Received: s.Payment.Received,
			JournalStatus: s.JournalStatus,
		}
	}
	out := make([]Payable, 0, len(ids))
	for _, v := range ids {
		if p, known := byID[v]; known {
			out = append(out, p)
		}
	}
	return out, nil
}

// paidTo is what the active payouts of statements brought each contact.
func paidTo(ctx context.Context, tx *db.Tx, statements []id.ID) (map[id.ID]map[id.ID]money.Cents, error) {
	type paid struct {
		StatementID id.ID
		ContactID   id.ID
		Total       money.Cents
	}
	sums, err := db.Select[paid](ctx, tx, `
		select n.statement_id, coalesce(n.contact_id, x.contact_id) as contact_id, sum(n.total)::bigint as total
		from transaction_line n join transaction x on x.team_id = n.team_id and x.id = n.transaction_id
		where n.team_id = @team and n.statement_id = any(@statements) and x.type = 'payout' and x.status = 'active'
		group by 1, 2`, db.Args{"team": tx.Team, "statements": statements})
	if err != nil {
		return nil, fmt.Errorf("add up payouts: %w", err)
	}
	out := map[id.ID]map[id.ID]money.Cents{}
	for _, p := range sums {
		if out[p.StatementID] == nil {
			out[p.StatementID] = map[id.ID]money.Cents{}
		}
		out[p.StatementID][p.ContactID] += p.Total
	}
	return out, nil
}
