package chain

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Payout is a payout that names a statement.
type Payout struct {
	StatementID id.ID
	ID          id.ID
	ContactID   *id.ID
	Date        day.Day
	Total       money.Cents // owner-facing: negative
	// Missing is the positive amount that did not arrive because of PaymentID. Refused is the payment's amount, and
	// Code says what happened to it. All are zero for money that is on its way or has arrived.
	Missing   money.Cents
	PaymentID *id.ID
	Refused   money.Cents
	Code      string
}

// AmountReceived returns the positive amount that a payout has brought a member.
func (p *Payout) AmountReceived() money.Cents { return -p.Total - p.Missing }

// payoutLines is the SQL of the lines n of the active payouts x that name statements. A payout has one line, so its
// entries are those of the line.
const payoutLines = `transaction_line n join transaction x on x.team_id = n.team_id and x.id = n.transaction_id
		and n.team_id = @team and n.statement_id = any(@statements) and x.type = 'payout' and x.status = 'active'`

// bookedTotal is the SQL of the amount of a payout x by its active entries, which may lag behind the transaction.
const bookedTotal = `coalesce((
			select -sum(e.cent_total) from ledger_entry e cross join ` + payoutAccount + `
			where ` + ledger.OwnersEntry + ` and e.source_id = x.id and e.account_id is not distinct from a.payout), 0)::bigint`

// LoadPayouts loads the payouts that name statements, with the amount they brought the owners by the books, and the
// amount that did not arrive.
func LoadPayouts(ctx context.Context, tx *db.Tx, statements []id.ID) (map[id.ID][]Payout, error) {
	payouts, err := db.Select[Payout](ctx, tx, `
		select n.statement_id, x.id, coalesce(n.contact_id, x.contact_id) as contact_id, x.date, `+bookedTotal+` as total,
			coalesce(y.missing, 0) as missing, y.payment_id, coalesce(y.amount, 0) as refused, coalesce(y.code, '') as code
		from `+payoutLines+`
		left join payment_not_received y on y.team_id = n.team_id and y.transaction_id = x.id
		order by x.date, x.id`,
		db.Args{"team": tx.Team, "statements": statements})
	if err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}

	out := map[id.ID][]Payout{}
	for i := range payouts {
		out[payouts[i].StatementID] = append(out[payouts[i].StatementID], payouts[i])
	}

	return out, nil
}

// loadBooked loads the sums of the payouts that name statements by the books, positive, whether they arrived or not.
func loadBooked(ctx context.Context, tx *db.Tx, statements []id.ID) (map[id.ID]money.Cents, error) {
	type sum struct {
		StatementID id.ID
		Total       money.Cents
	}

	rows, err := db.Select[sum](ctx, tx, `
		select n.statement_id, -sum(`+bookedTotal+`)::bigint as total from `+payoutLines+` group by 1`,
		db.Args{"team": tx.Team, "statements": statements})
	if err != nil {
		return nil, fmt.Errorf("add up payouts: %w", err)
	}

	out := make(map[id.ID]money.Cents, len(rows))
	for _, r := range rows {
		out[r.StatementID] = r.Total
	}

	return out, nil
}
