package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"stayledger/domain/books/bank"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// movement is the amount that a transaction moved on a bank account. First is the account's first day, if it has one.
type movement struct {
	TransactionID id.ID
	AccountID     id.ID
	Date          day.Day
	Cents         money.Cents
	What          string
	Payee         string
	First         *day.Day
}

// loadMovements loads the movements on bank accounts of the transactions t that a condition selects, in an order
// that does not depend on ids. It leaves out opening balances: they are in the first balance that the bank states.
func loadMovements(ctx context.Context, tx *db.Tx, condition string, args db.Args) ([]movement, error) {
	args["team"] = tx.Team

	found, err := db.Select[movement](ctx, tx, `
		select t.id as transaction_id, a.id as account_id, min(e.txn_at) as date, sum(e.cent_total)::bigint as cents,
			coalesce(t.description, '') as what, coalesce(c.name, '') as payee, a.banking_opening_at as first
		from transaction t
		join ledger_entry e on e.team_id = t.team_id and e.source_id = t.id and e.status = 'active' and e.ledger <> 'historical'
		join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
		left join contact c on c.team_id = t.team_id and c.id = t.contact_id
		where t.team_id = @team and not t.is_opening_balance and `+condition+`
		group by t.id, a.id, a.code, c.name, t.description, a.banking_opening_at having sum(e.cent_total) <> 0
		order by 3, what, payee, cents, a.code, t.id`, args)
	if err != nil {
		return nil, fmt.Errorf("read what moved on bank accounts: %w", err)
	}

	return found, nil
}

// report is a movement that the bank reports, with the transactions that add up to it; none if it is unmatched.
type report struct {
	account     id.ID
	at          day.Day
	amount      money.Cents
	description string
	parts       []id.ID
}

// reportKey finds the report that a movement is a part of.
type reportKey struct {
	account     id.ID
	at          day.Day
	description string
}

// report returns the bank's records of movements, in their order. The function given returns the day on which the
// bank reports a movement, the text it prints, and whether it joins movements with the same day and text. Records
// after today or before the account's first day are left out.
func (d Data) report(moved []movement, given func(*movement) (at day.Day, prints string, together bool)) []report {
	var reports []report

	batches := map[reportKey]int{}

	for i := range moved {
		m := &moved[i]

		at, prints, together := given(m)
		if at.After(d.Today) || m.First != nil && at.Before(*m.First) {
			continue
		}

		// Movements that are reported together share one record.
		key := reportKey{m.AccountID, at, prints}

		n, known := batches[key]
		if !known || !together {
			n = len(reports)
			reports = append(reports, report{account: m.AccountID, at: at, description: prints})
		}

		if together {
			batches[key] = n
		}

		reports[n].amount += m.Cents
		reports[n].parts = append(reports[n].parts, m.TransactionID)
	}

	return reports
}

// saveReports adds the reports as bank records that came in a file, reconciles them with their transactions, and
// returns the ids of the records. The bank's references begin with the prefix.
func saveReports(ctx context.Context, tx *db.Tx, prefix string, reports []report) ([]id.ID, error) {
	if len(reports) == 0 {
		return nil, nil
	}

	data := make([]bank.Create, len(reports))
	for i := range reports {
		r := &reports[i]
		data[i] = bank.Create{
			UniqueRef:   api.Set(fmt.Sprintf("%s-%04d", prefix, i+1)),
			AccountID:   r.account,
			Date:        r.at,
			Description: r.description,
			Amount:      &r.amount,
			Source:      bank.CSV,
		}
	}

	// First the records, as an import would add them.
	ids, err := bank.Add(ctx, tx, data)
	if err != nil {
		return nil, fmt.Errorf("add bank records: %w", err)
	}

	// Then match those that stand for transactions.
	var matches []bank.Match

	for i := range reports {
		if len(reports[i].parts) == 0 {
			continue
		}

		m := bank.Match{RecordID: ids[i]}
		for _, transaction := range reports[i].parts {
			m.Parts = append(m.Parts, bank.Portion{TransactionID: transaction})
		}

		matches = append(matches, m)
	}

	refusals, err := bank.Reconcile(ctx, tx, matches)
	if err != nil {
		return nil, err
	}

	// Sample books must not contain refused matches.
	if len(refusals) > 0 {
		return nil, fmt.Errorf("reconcile bank records: %w", refusals[0].Err)
	}

	return ids, nil
}

// weekly is a channel that pays a week's stays of all listings at once.
const weekly = "Payout of bookingcom"

// bankSide adds the bank records of the listing, and all others if this listing is the last.
func (s *seller) bankSide(ctx context.Context, tx *db.Tx) error {
	moved, err := loadMovements(ctx, tx, `t.id = any(@ids) and t.description is distinct from @weekly`,
		db.Args{"ids": s.booked, "weekly": weekly})
	if err != nil {
		return err
	}

	// The bank has dice of its own, so that the books do not depend on it. Each listing has its own account at the
	// card processor.
	days := bankDice(s.Seed, s.number)
	moved = slices.DeleteFunc(moved, s.isOutstanding)

	reports := s.report(moved, func(m *movement) (day.Day, string, bool) {
		if m.What == cardPayment {
			return next(time.Monday, m.Date), "CARD PROCESSOR PAYOUT", true
		}

		return s.reportDay(m, days), strings.TrimSpace(strings.ToUpper(m.Payee + " " + m.What)), false
	})
	if _, err := saveReports(ctx, tx, fmt.Sprintf("demo-%03d", s.number+1), reports); err != nil {
		return err
	}

	return finishBank(ctx, tx, s.Data)
}

// reportDay returns the working day on which the bank reports a movement, up to three days after its booking. Only
// the office bill of the current month is debited a day before it was booked, on the last day of the month before.
func (d Data) reportDay(m *movement, days *rand.Rand) day.Day {
	at := workday(m.Date.AddDays(days.IntN(4)))
	if m.What == officeBill && m.Date.Month() == d.Today.Month() && d.Start().Before(m.Date) {
		return m.Date.AddDays(-1)
	}

	return at
}

// isOutstanding reports whether the bank has not seen a payment yet, however long ago it was booked: the cheque for
// the office's bill of the month before the current one, or of the only month that there is.
func (d Data) isOutstanding(m movement) bool {
	return m.What == officeBill && m.Date.Month() == day.Max(d.Start(), d.Today.Month().Prev().First()).Month()
}

// next returns the first such day of the week after a day.
func next(wanted time.Weekday, d day.Day) day.Day {
	for d = d.AddDays(1); d.In(time.UTC).Weekday() != wanted; {
		d = d.AddDays(1)
	}

	return d
}

// workday returns the day, or the Monday after it on a weekend.
func workday(d day.Day) day.Day {
	switch d.In(time.UTC).Weekday() {
	case time.Saturday:
		return d.AddDays(2)
	case time.Sunday:
		return d.AddDays(1)
	case time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday:
	}

	return d
}

// theTeam numbers the dice for records that concern no listing.
const theTeam = -1

// bankDice returns the random choices of the bank about a listing.
func bankDice(seed int64, listing int) *rand.Rand { return dice(seed, 1_000_000+listing) }
