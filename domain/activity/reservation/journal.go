package reservation

import (
	"slices"
	"strconv"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// The trigger of adjustments; the other triggers are those of the ledger.
const triggerAdjustment = "adjustment"

// Input is all that the journal of a reservation depends on.
type Input struct {
	// Reservation with its lines and adjustments.
	Reservation Reservation
	// Mappings are where line types are posted.
	Mappings mapping.Set
	// Assigned are the accounts by the part they play: accountsReceivable, deposit_coHostPayout, deferredRevenue,
	// expense_salesTax and cancellationRevenue are used.
	Assigned map[account.Assignment]id.ID
	// Recognition is the team's setting.
	Recognition fee.Recognition
	// LongTermStayNights: longer stays are recognised pro rata whatever the setting; nil for none.
	LongTermStayNights *int64
	// Window is the accounting window of the connection that the reservation came over.
	Window Window
	// NoLedger says that the team keeps no general ledger.
	NoLedger bool
	// FirstDay is the first day of the books: what was before is in the opening balances. Nil for none.
	FirstDay *day.Day
	// Periods are the listing's ownership periods, Fees its subscriptions.
	Periods []listing.Period
	Fees    []fee.Subscription
	// MerchantFee and ChannelFee are the sums that active deposits paid to processor and channel, as positive
	// amounts.
	MerchantFee money.Cents
	ChannelFee  money.Cents
}

// Derived is the journal of a reservation.
type Derived struct {
	Postings []ledger.Posting
	// Missing are the assignments that entries need and the team has not made; such entries have the zero account.
	Missing []account.Assignment
	// Charges has the charge of every subscription.
	Charges []fee.Charge
	// Unposted is what was left out of the postings because of its dates; its Reason is empty for nothing.
	Unposted unposted
}

// Journal derives the postings of a reservation: its revenue, with what is recognised on other dates going through
// deferred revenue; each fee; each adjustment. What is recognised pro rata is cut by month and ownership period. The
// same input gives the same postings, byte for byte. Only the adjustments of a canceled reservation and the fees on it
// are posted; an inactive one, or one that is kept out of the ledger, has no journal.
//
// Lines without an account and amounts of zero are left out, and so is every posting before the first day of the books.
func Journal(in *Input) Derived {
	j := journal{in: in, recognition: in.recognition(), lines: in.postableLines()}

	// Charges are computed even if nothing is posted: previews show them.
	j.out.Charges = fee.Charges(in.Fees, in.stay(j.lines))
	if !in.posts() {
		// A stay that would post if it had another date says so.
		if in.Reservation.posts() {
			j.out.Unposted = unposted{Reason: in.findKeptOutReason(), Whole: true}
		}

		return j.out
	}

	j.revenue()

	for i := range j.out.Charges {
		j.charge(&j.out.Charges[i])
	}

	for i := range in.Reservation.Adjustments {
		j.adjustment(&in.Reservation.Adjustments[i])
	}

	j.out.Unposted.Whole = j.out.Unposted.Reason != "" && len(j.out.Postings) == 0

	return j.out
}

// journal is a derivation under way.
type journal struct {
	in          *Input
	recognition fee.Recognition
	lines       []postable
	out         Derived
	// needed is how many of the missing assignments the postings so far need.
	needed int
}

// postable is a line that counts and has an account.
type postable struct {
	*Line
	index     int
	accountID id.ID
	party     ledger.Party
	// own is the recognition that the line's type has for itself, empty when it follows the reservation.
	own fee.Recognition
}

// ref returns the reference of the line's entries within their posting.
func (l *postable) ref() string { return "line:" + strconv.Itoa(l.index) }

// label returns the description of the line, else its type.
func (l *postable) label() string {
	if l.Description != nil {
		return *l.Description
	}

	return l.Type
}

// postableLines returns the lines that are posted. A line that names its account and has no mapping belongs to the
// owners if the account is income or cost, and to no party if it is money owed, such as tax.
func (in *Input) postableLines() []postable {
	r := &in.Reservation

	out := make([]postable, 0, len(r.Lines))
	for i := range r.Lines {
		l := &r.Lines[i]

		m := in.Mappings.Find(r.AppID, r.BookingPlatform, l.Type)
		if r.inactive(l.Type, m) != "" {
			continue
		}

		// The mapping gives party, account and recognition; the account of the line itself comes before that of the
		// mapping.
		p := postable{Line: l, index: i}
		if m != nil {
			p.party = m.Posts()
			if m.AccountID != nil {
				p.accountID = *m.AccountID
			}

			if m.RevenueRecognition != nil {
				p.own = *m.RevenueRecognition
			}
		}

		if l.AccountID != nil {
			p.accountID = *l.AccountID
			if m == nil {
				p.party = defaultParty(l.Classification)
			}
		}

		if l.Type == Retained && p.accountID.IsZero() {
			p.accountID, p.party = in.Assigned[account.CancellationRevenue], ledger.Owners
		}

		// A line without any account is not posted; issues reports its type.
		if !p.accountID.IsZero() {
			out = append(out, p)
		}
	}

	return out
}

// revenue credits every line of the stay and debits the sum that the guest owes for them, on the dates of the
// reservation. A line with different dates goes to deferred revenue there, and is recognised on its own dates,
// whichever come first.
func (j *journal) revenue() {
	defaults := j.in.segments(j.recognition)

	// First find the recognitions that lines have for themselves and that lead to other dates than the
	// reservation's.
	deferred := map[fee.Recognition][]segment{}
	for i := range j.lines {
		if own := j.lines[i].own; own != "" && deferred[own] == nil {
			if segments := j.in.segments(own); !sameSegments(segments, defaults) {
				deferred[own] = segments
			}
		}
	}

	// Then post what the guest owes, on the dates of the reservation.
	for _, s := range defaults {
		j.post(s, "revenue", j.guestLines(s, deferred))
	}

	// Last, recognise what was deferred. The order is fixed, so that the same input gives the same postings.
	for _, own := range []fee.Recognition{fee.CheckIn, fee.CheckOut, fee.ProRata, fee.BookedAt} {
		for _, s := range deferred[own] {
			j.post(s, "recognition:"+string(own), j.recognitionLines(s, own))
		}
	}
}

// guestLines returns the entries of a segment for the sum that the guest owes, against the lines or against deferred
// revenue.
func (j *journal) guestLines(s segment, deferred map[fee.Recognition][]segment) []ledger.Line {
	lines := make([]ledger.Line, 1, len(j.lines)+1)

	var owed money.Cents

	for i := range j.lines {
		l := &j.lines[i]

		amount := s.share(l.Amount)
		if amount == 0 {
			continue
		}

		// The line is credited on its account, or on deferred revenue if it has dates of its own.
		entry := j.entry(s, ledger.TriggerReservation, l.label())

		entry.Ref, entry.AccountID, entry.Party, entry.CentTotal = l.ref(), l.accountID, l.party, -amount
		if deferred[l.own] != nil {
			entry.Trigger, entry.Party = ledger.TriggerDeferredRevenue, ledger.NoParty
			entry.AccountID = j.requireAccount(account.DeferredRevenue)
		}

		lines = append(lines, entry)
		owed += amount
	}

	// Lines that cancel each other out leave no debt of the guest.
	if owed == 0 {
		return lines[1:]
	}

	lines[0] = j.entry(s, ledger.TriggerReservation, "Guest deposits")
	lines[0].Ref = "guest"
	lines[0].AccountID = j.requireAccount(receivableAssignment(s.period))
	lines[0].CentTotal = owed

	return lines
}

// recognitionLines returns the entries by which lines with a recognition of their own are earned in a segment, out of
// deferred revenue.
func (j *journal) recognitionLines(s segment, own fee.Recognition) (lines []ledger.Line) {
	for i := range j.lines {
		l := &j.lines[i]

		amount := s.share(l.Amount)
		if l.own != own || amount == 0 {
			continue
		}

		// Each line moves by itself: deferred revenue is debited, the account of the line credited.
		debit := j.entry(s, ledger.TriggerRevenueRecognition, l.label())
		credit := debit
		debit.Ref, debit.CentTotal = "deferred:"+strconv.Itoa(l.index), amount
		debit.AccountID = j.requireAccount(account.DeferredRevenue)
		credit.Ref, credit.AccountID, credit.Party, credit.CentTotal = l.ref(), l.accountID, l.party, -amount
		lines = append(lines, debit, credit)
	}

	return lines
}

// entry returns an entry of the reservation, stamped with the ownership period of the segment.
func (j *journal) entry(s segment, trigger, description string) ledger.Line {
	r := &j.in.Reservation

	l := ledger.Line{ListingID: r.ListingID, ReservationID: r.ID, Trigger: trigger, Description: description}
	if s.period != nil {
		l.OwnershipPeriodID = s.period.ID
	}

	return l
}

// requireAccount returns the account of an assignment. If the team has not made it, it returns the zero id and notes
// the assignment as missing.
func (j *journal) requireAccount(a account.Assignment) id.ID {
	accountID := j.in.Assigned[a]
	if accountID.IsZero() && !slices.Contains(j.out.Missing, a) {
		j.out.Missing = append(j.out.Missing, a)
	}

	return accountID
}

// receivableAssignment returns the assignment of the account that guests owe on. Where the channel pays owner and
// co-host separately, the co-host waits for the channel's payout.
func receivableAssignment(p *listing.Period) account.Assignment {
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

// post adds a posting unless it has no lines. One before the first day of the books is left out and noted.
func (j *journal) post(s segment, name string, lines []ledger.Line) {
	if len(lines) == 0 {
		return
	}

	// A posting that is left out needs no accounts either.
	if first := j.in.FirstDay; first != nil && s.at.Before(*first) {
		j.out.Unposted.leaveOut(*first, lines)
		j.out.Missing = j.out.Missing[:j.needed]

		return
	}

	j.needed = len(j.out.Missing)

	r := &j.in.Reservation

	// The code names the posting for good. Pro rata postings of one kind differ by their date.
	code := codePrefix(r.ID) + name
	if s.proRata {
		code += ":" + s.at.String()
	}

	code = ledger.PartRef(code, s.part)

	j.out.Postings = append(j.out.Postings, ledger.Posting{
		SourceID: r.ID,
		TxnCode:  code,
		Ledger:   ledger.Trust,
		Status:   ledger.Active,
		TxnAt:    s.at,
		Currency: r.Currency,
		Lines:    lines,
	})
}

// codePrefix returns the start of the codes of all postings of a reservation.
func codePrefix(reservationID id.ID) string { return "reservation:" + reservationID.String() + ":" }
