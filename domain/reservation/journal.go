package reservation

import (
	"strconv"

	"stayledger/domain/account"
	"stayledger/domain/fee"
	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Input is all that the journal of a reservation depends on.
type Input struct {
	// Reservation with its lines.
	Reservation Reservation
	// Mappings are where line types are posted.
	Mappings map[string]Mapping
	// Assigned are the accounts by the part they play: accountsReceivable and deposit_coHostPayout are used.
	Assigned map[account.Assignment]id.ID
	// Recognition is the team's setting.
	Recognition fee.Recognition
	// LongTermStayNights: longer stays are recognised pro rata whatever the setting; nil for none.
	LongTermStayNights *int64
	// Periods are the listing's ownership periods, Fees its subscriptions.
	Periods []listing.Period
	Fees    []fee.Subscription
	// MerchantFee and ChannelFee are what active deposits of the reservation paid to processor and channel, as positive amounts.
	MerchantFee money.Cents
	ChannelFee  money.Cents
}

// Journal derives the postings of a reservation: one for its revenue and one for each fee, by month and ownership period when recognised
// pro rata. The same input gives the same postings, byte for byte. A reservation that is not booked, or is kept out of the ledger, has none.
//
// Lines without an account and amounts of zero are left out. A guest deposits account that nobody assigned is the zero id.
func Journal(in *Input) []ledger.Posting {
	if !in.Reservation.posts() {
		return nil
	}
	recognition := in.recognition()
	var postings []ledger.Posting
	for _, s := range in.segments(recognition) {
		postings = in.appendPosting(postings, s, "revenue", in.revenue(s))
	}
	for i := range in.Fees {
		f := &in.Fees[i]
		if !f.Fee.Applies(deref(in.Reservation.BookingPlatform)) {
			continue
		}
		own := recognition
		if f.Fee.RevenueRecognition != nil {
			own = *f.Fee.RevenueRecognition
		}
		amount := f.Amount(in.named)
		for _, s := range in.segments(own) {
			if s, charged := s.during(f.Period); charged {
				postings = in.appendPosting(postings, s, "fee:"+f.Fee.ID.String(), in.charge(s, f, amount))
			}
		}
	}
	return postings
}

// recognition is the setting that holds for the reservation as a whole.
func (in *Input) recognition() fee.Recognition {
	if in.LongTermStayNights != nil && int64(in.Reservation.Nights()) > *in.LongTermStayNights {
		return fee.ProRata
	}
	return in.Recognition
}

// segment is a part of the stay that is recognised on one date: the nights from (inclusive) to (exclusive) of the stay.
type segment struct {
	at       day.Day
	period   *listing.Period
	from, to int
	nights   int
	proRata  bool
}

// segments cuts a stay into what is recognised together: all of it on one date, or runs of nights that share a month and an owner.
func (in *Input) segments(recognition fee.Recognition) []segment {
	r := &in.Reservation
	nights := r.Nights()
	at := r.CheckIn
	switch recognition {
	case fee.CheckIn:
	case fee.CheckOut:
		at = r.CheckOut
	case fee.BookedAt:
		if r.BookedAt != nil {
			at = *r.BookedAt
		}
	case fee.ProRata:
		if r.GeneralLedgerPostingAt == nil {
			return in.nightly(nights)
		}
	}
	if r.GeneralLedgerPostingAt != nil {
		at = *r.GeneralLedgerPostingAt
	}
	return []segment{{at: at, period: listing.Covering(in.Periods, at), to: nights, nights: nights}}
}

func (in *Input) nightly(nights int) []segment {
	var out []segment
	for night := range nights {
		at := in.Reservation.CheckIn.AddDays(night)
		period := listing.Covering(in.Periods, at)
		if n := len(out); n > 0 && out[n-1].at.Month() == at.Month() && out[n-1].period == period {
			out[n-1].to = night + 1
			continue
		}
		out = append(out, segment{at: at, period: period, from: night, to: night + 1, nights: nights, proRata: true})
	}
	return out
}

// during narrows the segment to the nights in which a fee is charged. One date is charged as a whole or not at all.
func (s segment) during(p fee.Period) (segment, bool) {
	if !s.proRata {
		return s, p.Covers(s.at)
	}
	for s.from < s.to && !p.Covers(s.at) {
		s.from++
		s.at = s.at.AddDays(1)
	}
	for s.from < s.to && !p.Covers(s.at.AddDays(s.to-s.from-1)) {
		s.to--
	}
	return s, s.from < s.to
}

// share is the segment's part of an amount. The parts of all nights add up to it.
func (s segment) share(total money.Cents) (sum money.Cents) {
	if !s.proRata {
		return total
	}
	for _, night := range money.Nightly(total, s.nights)[s.from:s.to] {
		sum += night
	}
	return sum
}

// named is the amount behind a name of a fee's formula: the reservation's lines of a type, or what deposits paid.
func (in *Input) named(name string) (sum money.Cents) {
	switch name {
	case fee.MerchantFee:
		return in.MerchantFee
	case fee.ChannelFee:
		return in.ChannelFee
	}
	for i := range in.Reservation.Lines {
		if in.Reservation.Lines[i].Type == name {
			sum += in.Reservation.Lines[i].Amount
		}
	}
	if name == discount {
		return -sum
	}
	return sum
}

// revenue credits every line of the stay and debits what the guest owes for them.
func (in *Input) revenue(s segment) []ledger.Line {
	r := &in.Reservation
	lines := make([]ledger.Line, 1, len(r.Lines)+1)
	var owed money.Cents
	for i := range r.Lines {
		l := &r.Lines[i]
		accountID, party := in.accountOf(l)
		amount := s.share(l.Amount)
		if accountID.IsZero() || amount == 0 {
			continue
		}
		entry := in.line(s, ledger.TriggerReservation, l.Type)
		if l.Description != nil {
			entry.Description = *l.Description
		}
		entry.Ref, entry.AccountID, entry.Party, entry.CentTotal = "line:"+strconv.Itoa(i), accountID, party, -amount
		lines = append(lines, entry)
		owed += amount
	}
	lines[0] = in.line(s, ledger.TriggerReservation, "Guest deposits")
	lines[0].Ref, lines[0].AccountID, lines[0].CentTotal = "guest", in.receivable(s.period), owed
	if owed == 0 {
		return lines[1:]
	}
	return lines
}

// charge moves a fee from the party that bears it to the one that earns it.
func (in *Input) charge(s segment, f *fee.Subscription, amount money.Cents) []ledger.Line {
	part := s.share(amount)
	if part == 0 {
		return nil
	}
	debit := in.line(s, ledger.TriggerRecurringFee, f.Fee.Name)
	debit.RecurringFeeID = f.Fee.ID
	credit := debit
	debit.Ref, debit.AccountID, debit.Party, debit.CentTotal = "debit", f.Fee.DebitAccountID, f.Fee.DebitParty, part
	credit.Ref, credit.AccountID, credit.Party, credit.CentTotal = "credit", f.Fee.CreditAccountID, f.Fee.CreditParty, -part
	return []ledger.Line{debit, credit}
}

// line is an entry of the reservation, stamped with the ownership period of its date.
func (in *Input) line(s segment, trigger, description string) ledger.Line {
	l := ledger.Line{ListingID: in.Reservation.ListingID, ReservationID: in.Reservation.ID, Trigger: trigger, Description: description}
	if s.period != nil {
		l.OwnershipPeriodID = s.period.ID
	}
	return l
}

// accountOf is where a line is posted and whose revenue it is. A line that names its account and has no mapping belongs to the owners when
// the account is income or cost, and to nobody when it is money owed, such as tax.
func (in *Input) accountOf(l *Line) (id.ID, ledger.Party) {
	mapping, mapped := in.Mappings[l.Type]
	switch {
	case l.AccountID == nil:
		return mapping.AccountID, mapping.Party
	case mapped:
		return *l.AccountID, mapping.Party
	case l.Classification == account.Revenue || l.Classification == account.Expense:
		return *l.AccountID, ledger.Owners
	default:
		return *l.AccountID, ledger.NoParty
	}
}

// receivable is the account of what guests owe. Where the channel pays owner and co-host separately, the co-host waits for the channel.
func (in *Input) receivable(p *listing.Period) id.ID {
	return in.Assigned[receivableOf(p)]
}

func receivableOf(p *listing.Period) account.Assignment {
	if p == nil {
		return account.AccountsReceivable
	}
	switch p.BusinessModel {
	case listing.CoHost, listing.CoHostAirbnb:
		return account.DepositCoHostPayout
	case listing.Managed:
		return account.AccountsReceivable
	}
	return account.AccountsReceivable
}

func (in *Input) appendPosting(postings []ledger.Posting, s segment, name string, lines []ledger.Line) []ledger.Posting {
	if len(lines) == 0 {
		return postings
	}
	r := &in.Reservation
	code := "reservation:" + r.ID.String() + ":" + name
	if s.proRata {
		code += ":" + s.at.String()
	}
	return append(postings, ledger.Posting{
		SourceID: r.ID, TxnCode: code, Ledger: ledger.Trust, Status: ledger.Active, TxnAt: s.at, Currency: r.Currency, Lines: lines,
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
