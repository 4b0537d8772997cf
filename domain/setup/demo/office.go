package demo

import (
	"context"

	"stayledger/domain/activity/recurring"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// bookRepairs books a repair in most months, with a markup, paid five days after the bill. Every other one carries
// sales tax, and every third is paid from the operating account, which the trust account pays back.
func (s *seller) bookRepairs(ctx context.Context, tx *db.Tx) error {
	n := s.number
	for m := s.Start().Month(); !s.Today.Before(m.Last()); m = m.Next() {
		if s.dice.IntN(4) == 0 {
			continue
		}

		n++
		at := m.First().AddDays(8 + s.dice.IntN(12))
		amount := money.Cents(2_000 + s.dice.IntN(60)*250)
		line := transaction.LineInput{Amount: amount}
		line.AccountID = api.Set(s.codes["5200"])
		line.ListingID = api.Set(s.listing)
		line.Party = api.Set(ledger.Owners)

		// The manager adds a tenth; with an odd number there is sales tax on both.
		markup := transaction.MarkupInput{Amount: amount / 10}
		if n%2 == 1 {
			markup.TaxRateID = api.Set(s.tax)
			line.AppliedAmount = api.Set(transaction.AppliedInput{TaxRateID: s.tax})
		}

		line.Markup = api.Set(markup)

		// Paid from the trust account after five days, unless the operating account pays at once.
		bill := &transaction.Create{
			Type: transaction.Expense, Date: at, ContactID: api.Set(s.vendor),
			Description: api.Set(pick(
				s.dice,
				"Water heater",
				"Light bulbs",
				"Lock repair",
				"Garden work",
				"Linen",
				"Pest control",
			)),
			Payment: api.Set(transaction.PaymentInput{Date: at.AddDays(5)}), Lines: []transaction.LineInput{line},
		}
		if n%3 == 2 {
			bill.Payment, bill.AccountID = api.Opt[transaction.PaymentInput]{}, api.Set(s.codes["1010"])
		}

		if err := s.bookBill(ctx, tx, bill, n%3 == 2); err != nil {
			return err
		}
	}

	return nil
}

// bookBill books a bill. If the operating account paid it, the trust account reimburses that five days later.
func (s *seller) bookBill(ctx context.Context, tx *db.Tx, bill *transaction.Create, reimburse bool) error {
	paid, err := s.bookTransaction(ctx, tx, bill)
	if err != nil || !reimburse {
		return err
	}

	back := transaction.LineInput{Amount: paid.Total}
	back.AccountID = api.Set(s.codes["1010"])
	_, err = s.bookTransaction(ctx, tx, &transaction.Create{
		Type:        transaction.Transfer,
		Date:        bill.Date.AddDays(5),
		AccountID:   api.Set(s.codes["1000"]),
		Description: api.Set("Reimbursement"),
		Lines:       []transaction.LineInput{back},
	})

	return err
}

// officeBill is the description of the manager's monthly bill for the office.
const officeBill = "Office power and water"

// bookOffice books what belongs to no listing: the manager's own money and costs.
func (s *seller) bookOffice(ctx context.Context, tx *db.Tx) error {
	capital := transaction.LineInput{Amount: 500_000}

	capital.Assignment, capital.Party = api.Set(account.OpeningBalance), api.Set(ledger.Manager)
	if _, err := s.bookTransaction(ctx, tx, &transaction.Create{
		Type:             transaction.Deposit,
		Date:             s.Start().AddDays(-1),
		AccountID:        api.Set(s.codes["1010"]),
		IsOpeningBalance: true,
		Description:      api.Set("Opening balance of the operating account"),
		Lines:            []transaction.LineInput{capital},
	}); err != nil {
		return err
	}

	// The bill of each month comes from a recurring template.
	line := transaction.LineInput{Amount: 12_000}
	line.AccountID, line.Party = api.Set(s.codes["5200"]), api.Set(ledger.Manager)

	template, err := recurring.Add(ctx, tx, &recurring.Put{
		Date: s.Start(), AccountID: api.Set(s.codes["1010"]), Description: api.Set(officeBill),
		Pattern: recurring.PatternInput{Frequency: recurring.Monthly}, Lines: []transaction.LineInput{line},
	})
	if err != nil {
		return err
	}

	for m := s.Start().Month(); !s.Today.Before(m.First()); m = m.Next() {
		if err := s.bookMonth(ctx, tx, m, &transaction.Create{
			Type:                transaction.Expense,
			Date:                m.First(),
			AccountID:           api.Set(s.codes["1010"]),
			Description:         api.Set(officeBill),
			RecurringTemplateID: api.Set(template.ID),
			Lines:               []transaction.LineInput{line},
		}); err != nil {
			return err
		}
	}

	return nil
}

// bookMonth books the bill for the office on the first of a month, paid from the operating account, and what the
// manager draws from the trust on the tenth.
func (s *seller) bookMonth(ctx context.Context, tx *db.Tx, m day.Month, bill *transaction.Create) error {
	if _, err := s.bookTransaction(ctx, tx, bill); err != nil {
		return err
	}

	at := m.First().AddDays(9)
	if s.Start().Month() == m || s.Today.Before(at) {
		return nil
	}

	draw := transaction.LineInput{Amount: 15_000}
	draw.Assignment, draw.Party = api.Set(account.PayoutDistribution), api.Set(ledger.Manager)
	_, err := s.bookTransaction(ctx, tx, &transaction.Create{
		Type: transaction.Payout, Date: at, Description: api.Set("Manager draw"), Lines: []transaction.LineInput{draw},
	})

	return err
}
