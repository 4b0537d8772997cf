package reservation

import (
	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// discount is the line type with negative amounts, cancellation the name of the sum that adjustments keep of a
// cancellation.
const (
	discount     = "discount"
	cancellation = "cancellation"
)

// stay returns the reservation as fees see it.
func (in *Input) stay(lines []postable) *fee.Stay {
	r := &in.Reservation

	return &fee.Stay{
		Line:      in.amountByName,
		Account:   func(accountID id.ID) money.Cents { return in.sumCredits(lines, accountID) },
		Channel:   ptr.Value(r.BookingPlatform),
		Currency:  r.Currency,
		Status:    string(r.Status),
		OwnerStay: r.Type == OwnerStay,
		Nights:    r.nights(),
		At:        in.segments(in.recognition())[0].at,
	}
}

// amountByName returns the amount that a name in a fee's formula has for this stay: the active lines of a type, the
// costs of deposits, or the sum kept after a cancellation.
func (in *Input) amountByName(name string) (sum money.Cents) {
	r := &in.Reservation

	switch name {
	case fee.MerchantFee:
		return in.MerchantFee
	case fee.ChannelFee:
		return in.ChannelFee
	}

	// Every other name is a line type. Its lines count if its mapping does not exclude them.
	if r.inactive(name, in.Mappings.Find(r.AppID, r.BookingPlatform, name)) == "" {
		for i := range r.Lines {
			if r.Lines[i].Type == name {
				sum += r.Lines[i].Amount
			}
		}
	}

	// Discounts are negative lines and positive in formulas; of a cancellation adjustments and lines are kept.
	switch name {
	case cancellation:
		return sum + in.sumAdjustments(in.Assigned[account.CancellationRevenue]) + in.amountByName(Retained)
	case discount:
		return -sum
	default:
		return sum
	}
}

// sumCredits returns the sum that the stay's lines and financial adjustments credit to an account.
func (in *Input) sumCredits(lines []postable, accountID id.ID) money.Cents {
	sum := in.sumAdjustments(accountID)
	for i := range lines {
		if lines[i].accountID == accountID {
			sum += lines[i].Amount
		}
	}

	return sum
}

// sumAdjustments returns the sum that active financial adjustments credit to an account, nothing for the zero id.
func (in *Input) sumAdjustments(accountID id.ID) (sum money.Cents) {
	r := &in.Reservation
	if accountID.IsZero() || r.Status == Inactive {
		return 0
	}

	for i := range r.Adjustments {
		if a := &r.Adjustments[i]; a.Type == Financial && a.AccountID != nil && *a.AccountID == accountID {
			sum += a.Amount
		}
	}

	return sum
}

// charge moves a fee from the party bearing it to the party earning it, and the tax on it to the tax account.
func (j *journal) charge(c *fee.Charge) {
	if c.InactiveReason != "" {
		return
	}

	for _, s := range j.in.feeSegments(c.Subscription) {
		j.post(s, "fee:"+c.Subscription.Fee.ID.String(), j.feeLines(s, c))
	}
}

// feeSegments returns the parts of the stay that the listing period of a subscription covers, on the dates on which the
// fee is recognised.
func (in *Input) feeSegments(s *fee.Subscription) (parts []segment) {
	// A fee may have a recognition of its own.
	recognition := in.recognition()
	if s.Fee.RevenueRecognition != nil {
		recognition = *s.Fee.RevenueRecognition
	}

	for _, whole := range in.segments(recognition) {
		if part, covered := whole.narrowTo(s.Period); covered {
			parts = append(parts, part)
		}
	}

	return parts
}

// feeLines returns the entries of a fee in a segment: debit, credit and tax, without those of zero.
func (j *journal) feeLines(s segment, c *fee.Charge) (lines []ledger.Line) {
	f := &c.Subscription.Fee
	amount, tax := s.share(c.Amount), s.share(c.Tax)
	add := func(ref string, accountID id.ID, party ledger.Party, amount money.Cents) {
		if amount == 0 {
			return
		}

		entry := j.entry(s, ledger.TriggerRecurringFee, f.Name)
		entry.RecurringFeeID = f.ID
		entry.Ref, entry.AccountID, entry.Party, entry.CentTotal = ref, accountID, party, amount
		lines = append(lines, entry)
	}

	// The party that bears the fee also bears the tax on it.
	add("debit", f.DebitAccountID, f.DebitParty, amount+tax)
	add("credit", f.CreditAccountID, f.CreditParty, -amount)

	if tax != 0 {
		add("tax", j.requireAccount(account.ExpenseSalesTax), ledger.NoParty, -tax)
	}

	return lines
}

// adjustment posts one adjustment on its own date, else on the date of the reservation.
//
// A financial adjustment changes what the guest owes against its account. An adjustment for a recurring fee is posted
// as the fee is. Any other fee adjustment moves its amount on the account from the other party to the named party.
func (j *journal) adjustment(a *Adjustment) {
	if a.Amount == 0 {
		return
	}

	// It has one date: a stay that is cut by nights gives it the date of its first segment.
	at := j.in.segments(j.recognition)[0].at
	if a.GeneralLedgerPostingAt != nil {
		at = *a.GeneralLedgerPostingAt
	}

	var lines []ledger.Line
	for n, s := range j.in.splitOwners(a, at) {
		lines = append(lines, j.adjustmentLines(a, s, n)...)
	}

	// The names keep both kinds apart for the modes of a refresh.
	name := "feeAdjustment:"
	if a.Type == Financial {
		name = "adjustment:"
	}

	j.post(j.in.wholeStay(at), name+a.ID.String(), lines)
}

// splitOwners returns the parts of an adjustment dated on a single day: a named ownership period has the whole amount,
// else the owners of the nights share it.
func (in *Input) splitOwners(a *Adjustment, at day.Day) []segment {
	if p := listing.FindPeriod(in.Periods, ptr.Value(a.OwnershipPeriodID)); p != nil {
		nights := in.Reservation.nights()
		return []segment{{at: at, period: p, to: nights, nights: nights}}
	}

	return in.byOwner(at)
}

// adjustmentLines returns the entries of the nth owner's part of an adjustment.
func (j *journal) adjustmentLines(a *Adjustment, s segment, n int) []ledger.Line {
	amount := s.share(a.Amount)
	if amount == 0 {
		return nil
	}

	// Debit and credit share everything but account, party and sign.
	debit := j.entry(s, triggerAdjustment, a.label())
	if a.RecurringFeeID != nil {
		debit.RecurringFeeID = *a.RecurringFeeID
	}

	credit := debit
	debit.Ref, debit.CentTotal = ledger.PartRef("debit", n), amount
	credit.Ref, credit.CentTotal = ledger.PartRef("credit", n), -amount

	switch {
	case a.Type == Financial:
		debit.AccountID = j.requireAccount(receivableAssignment(s.period))
		credit.AccountID, credit.Party = *a.AccountID, a.partyOrDefault()
	case a.RecurringFeeID != nil:
		debit.AccountID, debit.Party = a.DebitAccountID, a.DebitParty
		credit.AccountID, credit.Party = a.CreditAccountID, a.CreditParty
	default:
		debit.AccountID, debit.Party = *a.AccountID, otherParty(*a.Party)
		credit.AccountID, credit.Party = *a.AccountID, *a.Party
	}

	return []ledger.Line{debit, credit}
}
