package rule

import (
	"slices"
	"unicode/utf8"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/bank"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Record is a bank record with everything that rules look at.
type Record struct {
	ID id.ID
	// AccountID is the bank account of the chart; zero for a record that is linked to none.
	AccountID id.ID
	Currency  string
	Date      day.Day
	// Amount is positive into the account.
	Amount                 money.Cents
	Description, Reference string
	Status                 bank.Status
	Type                   bank.Type
	// Reconciled says that the record is reconciled with something, in whole or in part.
	Reconciled bool
	// TeamCurrency is the currency of the amounts that rules name.
	TeamCurrency string
	// OpenDuplicate says that the record can be there twice, and Explained that transactions match it. Both are loaded
	// only for records that a rule takes (loadTaken).
	OpenDuplicate, Explained bool
}

// Reason says why a record is not booked.
type Reason string

// The reasons, in the order in which they are found.
const (
	// RecordNotMovement: a stated balance, or a movement of nothing.
	RecordNotMovement Reason = "bankRecordNotMovement"
	// RecordInactive: the record is excluded (RSN-08).
	RecordInactive = Reason(apierr.ReasonBankRecordInactive)
	// RecordUnassigned: the record is linked to no bank account (RSN-13).
	RecordUnassigned = Reason(apierr.ReasonBankRecordUnassigned)
	// RecordReconciled: the record is explained already, at least in part (RSN-11).
	RecordReconciled = Reason(apierr.ReasonBankRecordReconciled)
	// NoRule: the record meets no rule.
	NoRule Reason = "noRule"
	// OpenDuplicate: the record can be there twice, and a person has not said whether it is.
	OpenDuplicate Reason = "openDuplicate"
	// TransactionMatches: transactions that are booked already can make up the record, one or one of several.
	TransactionMatches Reason = "transactionMatches"
	// CurrencyMismatch: the rule names amounts, which are in the team's currency, and the record is in another.
	CurrencyMismatch Reason = "currencyMismatch"
	// SplitMismatch: the fixed lines are more than the record, or all there is and not as much, or amounts leave the
	// safe range.
	SplitMismatch Reason = "splitMismatch"
	// DateOutOfRange: the calendar has no month before that of the record.
	DateOutOfRange Reason = "dateOutOfRange"
)

// Enum lists the reasons.
func (Reason) Enum() []string {
	return []string{
		string(RecordNotMovement),
		string(RecordInactive),
		string(RecordUnassigned),
		string(RecordReconciled),
		string(NoRule),
		string(OpenDuplicate),
		string(TransactionMatches),
		string(CurrencyMismatch),
		string(SplitMismatch),
		string(DateOutOfRange),
	}
}

// Decision says which rule takes a record, and the transaction or the reason why none is booked.
type Decision struct {
	// Rule takes the record; nil when none does.
	Rule *Rule
	// Transaction is to be made and reconciled with the record as a whole; nil when there is a reason why not. It is
	// not held to the rules of transactions yet.
	Transaction *transaction.Create
	Reason      Reason
}

// Auto reports whether the transaction is made without a person.
func (d *Decision) Auto() bool { return d.Transaction != nil && d.Rule.Mode == Auto }

// leavesToPerson reports whether a record is not booked because it can be booked already.
func (r Reason) leavesToPerson() bool { return r == OpenDuplicate || r == TransactionMatches }

// Decide returns the transaction that is booked for a record, or the reason why none is.
func (p *Pass) Decide(r *Record) Decision {
	switch {
	case r.Type != bank.Movement || r.Amount == 0:
		return Decision{Reason: RecordNotMovement}
	case r.Status != bank.Active:
		return Decision{Reason: RecordInactive}
	case r.AccountID.IsZero():
		return Decision{Reason: RecordUnassigned}
	case r.Reconciled:
		return Decision{Reason: RecordReconciled}
	}

	// Rules of any mode decide, so that an auto rule does not take what a rule before it leaves to a person.
	c := p.first(r)
	if c == nil {
		return Decision{Reason: NoRule}
	}

	// A rule takes it; now find out whether something must be left to a person.
	d := Decision{Rule: c.Rule}
	switch {
	case r.OpenDuplicate:
		d.Reason = OpenDuplicate
	case r.Explained:
		d.Reason = TransactionMatches
	case r.Currency != r.TeamCurrency && c.namesAmounts():
		d.Reason = CurrencyMismatch
	default:
		d.Transaction, d.Reason = c.book(r)
	}

	return d
}

// namesAmounts reports whether a line of the rule has an amount of its own.
func (c *compiled) namesAmounts() bool {
	return slices.ContainsFunc(c.lines, func(l Line) bool { return l.SplitMode == Fixed || l.Markup != nil })
}

// descriptionLength is how many characters the description of a transaction has at the most.
const descriptionLength = 1000

// book returns the transaction of a record, or a reason. With usePriorMonthEnd the cost belongs to the month
// before: it is a bill that is paid on the day of the record.
func (c *compiled) book(r *Record) (*transaction.Create, Reason) {
	shares, ok := split(c.lines, max(r.Amount, -r.Amount))
	if !ok {
		return nil, SplitMismatch
	}

	t := &transaction.Create{
		Type: c.TransactionType, Date: r.Date, Currency: api.Set(r.Currency), AccountID: api.Set(r.AccountID),
		ContactID: api.SetIf(c.VendorContactID), Description: api.SetIf(c.DescriptionOverride),
	}
	if c.DescriptionOverride == nil && r.Description != "" {
		t.Description = api.Set(shorten(r.Description))
	}

	if c.UsePriorMonthEnd {
		if t.Date = r.Date.Month().Prev().Last(); !t.Date.Valid() {
			return nil, DateOutOfRange
		}

		t.Payment = api.Set(transaction.PaymentInput{Date: r.Date, AccountID: api.Set(r.AccountID)})
	}

	for _, s := range shares {
		t.Lines = append(t.Lines, s.line.book(s.amount))
	}

	return t, ""
}

// shorten returns the description cut to the length that transactions allow.
func shorten(description string) string {
	if utf8.RuneCountInString(description) <= descriptionLength {
		return description
	}

	return string([]rune(description)[:descriptionLength])
}

// book returns the line of a transaction with this amount.
func (l *Line) book(amount money.Cents) transaction.LineInput {
	out := transaction.LineInput{Amount: amount, LineFields: transaction.LineFields{
		Description: api.SetIf(l.DescriptionOverride),
		Assignment:  api.SetIf(l.Assignment),
		AccountID:   api.SetIf(l.AccountID),
		ListingID:   api.SetIf(l.ListingID),
		Party:       api.SetIf(l.Party),
	}}
	if l.TaxRateID != nil {
		applied := transaction.AppliedInput{TaxRateID: *l.TaxRateID, TaxBehavior: transaction.TaxExcluded}
		if l.TaxBehavior != nil {
			applied.TaxBehavior = *l.TaxBehavior
		}

		out.AppliedAmount = api.Set(applied)
	}

	// A markup has a tax of its own.
	if m := l.Markup; m != nil {
		out.Markup = api.Set(transaction.MarkupInput{
			Amount:      m.Amount,
			TaxRateID:   api.SetIf(m.TaxRateID),
			TaxBehavior: api.SetIf(m.TaxBehavior),
		})
	}

	return out
}

// share is a line with its part of an amount.
type share struct {
	line   *Line
	amount money.Cents
}

// split divides a positive amount among lines that passed Check. Fixed lines take their amounts first. The
// percentages and the remainder divide the rest in proportion, so that all adds up to the cent. Lines with nothing
// are left out. It returns false if the fixed lines take more than there is, if they are the only lines and leave
// something, or if the amounts together leave the safe range.
func split(lines []Line, total money.Cents) ([]share, bool) {
	rest, parted := total, false
	weights := make([]int64, len(lines))
	remainder := int64(money.WholeRate)

	for i := range lines {
		switch l := &lines[i]; l.SplitMode {
		case Fixed:
			rest -= *l.FixedCentAmount
		case Percentage:
			weights[i], parted = int64(*l.PercentageBps), true
			remainder -= weights[i]
		case Remainder:
			parted = true
		}
	}

	// A rest needs a line that takes it.
	if rest < 0 || rest > 0 && !parted {
		return nil, false
	}

	// The remainder weighs what the percentages leave of the whole.
	amounts := make([]money.Cents, len(lines))
	if parted {
		for i := range lines {
			if lines[i].SplitMode == Remainder {
				weights[i] = remainder
			}
		}

		amounts = money.Split(rest, weights)
	}

	// Put fixed and divided amounts together, in the order of the lines.
	var (
		shares []share
		reach  money.Reach
	)

	for i := range lines {
		if lines[i].SplitMode == Fixed {
			amounts[i] = *lines[i].FixedCentAmount
		}

		if reach.Add(amounts[i]); amounts[i] != 0 {
			shares = append(shares, share{&lines[i], amounts[i]})
		}
	}

	return shares, reach.Valid()
}
