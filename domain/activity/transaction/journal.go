package transaction

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// Facts are the facts that a journal depends on in addition to its transaction.
type Facts struct {
	// Assigned are the team's account assignments.
	Assigned map[account.Assignment]id.ID
	// Banks are the bank accounts among the accounts of the transaction, with the ledger that their money belongs to.
	Banks map[id.ID]ledger.Ledger
	// Periods are the ownership periods of the listings.
	Periods map[id.ID][]listing.Period
	// Stays are the nights of the reservations that lines name.
	Stays map[id.ID]reservation.Nights
	// Paid are the ownership periods of the owner statements that payouts pay.
	Paid map[id.ID]id.ID
}

// triggerIntercompany marks the entries through which two ledgers owe each other.
const triggerIntercompany = "intercompany"

// Journal derives the postings of a transaction; an archived one has none. It is a pure function: the same
// transaction and facts give the same postings with the same references.
//
// Money that leaves or reaches an operating bank account for the sake of the trust goes through dueToFromTrust, so
// that each ledger balances on its own. A cost or an income of the manager in an operating account never touches
// the trust. A bill is booked in the trust whoever pays it later, because its accounting date and its payment date
// lock apart.
//
// It fails with the issue ownershipPeriodMissing for an owners' line without a listing that is owned on the posting
// date, and with reason requiredAccountMissing for an assignment that the derivation needs.
func Journal(t *Transaction, f *Facts) ([]ledger.Posting, error) {
	if t.Status != Active {
		return nil, nil
	}

	d := &derivation{t: t, f: f}
	switch t.Type {
	case Deposit:
		trigger := ledger.TriggerDeposit
		if t.IsOpeningBalance {
			trigger = ledger.TriggerOpeningBalance
		}

		d.receive(trigger)
	case Expense:
		// An expense on a bank account without a payment was paid at once; every other expense is a bill.
		if _, bank := f.Banks[t.AccountID]; bank && t.Payment == nil {
			d.spend(ledger.TriggerExpense)
		} else {
			d.bill()
		}
	case Transfer:
		d.spend(ledger.TriggerTransfer)
	case Payout:
		d.pay()
	}

	return d.postings, d.err
}

// derivation collects the postings of one transaction.
type derivation struct {
	t        *Transaction
	f        *Facts
	postings []ledger.Posting
	err      error
}

// event is everything that a transaction books on one date, its entries by ledger.
type event struct {
	d       *derivation
	name    string
	trigger string
	at      day.Day
	trust   []ledger.Line
	operate []ledger.Line
}

// event returns an event of the transaction without entries.
func (d *derivation) event(trigger string, at day.Day) *event {
	return &event{d: d, name: trigger, trigger: trigger, at: at}
}

// receive books money in: the lines are credited, the sum that arrives is debited.
func (d *derivation) receive(trigger string) {
	// A line with a negative amount is a deduction or a refund, and is debited.
	e := d.event(trigger, d.t.Date)
	for i := range d.t.Lines {
		e.line(i, "", -d.t.Lines[i].Amount)
	}

	e.bank(d.t.AccountID, d.t.Total)
	e.post()
}

// spend books money out at once.
func (d *derivation) spend(trigger string) {
	e := d.event(trigger, d.t.Date)
	e.charges()
	e.bank(d.t.AccountID, -d.t.Total)
	e.post()
}

// pay books the payout of a balance. The manager's draw into a bank account of the other ledger takes the money
// from the manager's balance in this ledger and adds it to his balance in the other one. It is no loan: afterwards
// neither ledger owes the other anything, and over both the manager has what he had.
func (d *derivation) pay() {
	e := d.event(ledger.TriggerPayout, d.t.Date)
	for i := range d.t.Lines {
		l := &d.t.Lines[i]

		// Only the manager's draw into a bank account of the other ledger needs more than one entry for its line.
		in, bank := d.f.Banks[l.AccountID]
		if !bank || ptr.Value(l.Party) != ledger.Manager || in == d.findLedger(d.t.AccountID) {
			e.line(i, "", l.Base())
			continue
		}

		// In this ledger the draw is debited. In the other one the bank account is debited and the manager's
		// balance credited.
		drawn, arrived, held := e.entry(i, ":drawn", l.Base()), e.entry(i, "", l.Base()), e.entry(i, ":held", -l.Base())
		drawn.AccountID, drawn.Party = d.requireAccount(account.PayoutDistribution), ledger.Manager
		arrived.AccountID = l.AccountID
		held.AccountID, held.Party = drawn.AccountID, ledger.Manager
		e.add(d.findLedger(d.t.AccountID), drawn)
		e.add(in, arrived)
		e.add(in, held)
	}

	e.bank(d.t.AccountID, -d.t.Total)
	e.post()
}

// bill books the debt on the accounting date and, once the bill is paid, the payment on its own date.
func (d *derivation) bill() {
	payable := d.t.AccountID
	if _, bank := d.f.Banks[payable]; bank {
		payable = d.requireAccount(account.AccountsPayable)
	}

	// On the accounting date: the cost against the payable.
	e := d.event(ledger.TriggerExpense, d.t.Date)
	e.charges()

	for i := range d.t.Lines {
		e.trustEntry(i, "payable", payable, -d.t.Lines[i].Payable())
	}

	e.post()

	if d.t.Payment == nil {
		return
	}

	// On the payment date: the payable against the bank account.
	e = d.event(ledger.TriggerExpensePayment, d.t.Payment.Date)
	for i := range d.t.Lines {
		e.trustEntry(i, "payable", payable, d.t.Lines[i].Payable())
	}

	e.bank(d.t.Payment.AccountID, -d.t.Total)
	e.post()
}

// charges debits the cost of the lines to their party and credits the manager's markup and the taxes that the
// manager owes. The amounts that vendors get stay open.
func (e *event) charges() {
	for i := range e.d.t.Lines {
		l := &e.d.t.Lines[i]
		markup, owed := l.markupRevenue(), l.managerTaxes()
		e.line(i, "", l.Base())
		e.line(i, ":markup", markup)
		e.line(i, ":tax", l.taxes())

		// The markup is a cost of the line's party and the revenue of the manager.
		if markup != 0 {
			revenue := e.entry(i, ":markupRevenue", -markup)
			revenue.AccountID, revenue.Party = e.d.requireAccount(account.ExpenseMarkup), ledger.Manager
			e.add(e.home(l), revenue)
		}

		// Taxes that the manager remits are owed to the authority, not to the vendor.
		if owed != 0 {
			payable := e.entry(i, ":salesTax", -owed)
			payable.AccountID = e.d.requireAccount(account.ExpenseSalesTax)
			e.add(e.home(l), payable)
		}
	}
}

// line adds an entry on a line's own account and party. Owners' entries get an ownership period, one entry for each
// that has a part of the line.
func (e *event) line(i int, suffix string, cents money.Cents) {
	l := &e.d.t.Lines[i]
	entry := e.entry(i, suffix, cents)
	entry.AccountID, entry.Party = l.AccountID, ptr.Value(l.Party)

	if entry.Party != ledger.Owners || cents == 0 {
		e.add(e.home(l), entry)
		return
	}

	owners := e.owners(i)
	if len(owners) == 0 {
		return
	}

	ref, nights := entry.Ref, e.d.f.Stays[ptr.Value(l.ReservationID)].Nights

	for n, o := range owners {
		entry.Ref, entry.OwnershipPeriodID = ledger.PartRef(ref, n), id.Zero
		if o.Period != nil {
			entry.OwnershipPeriodID = o.Period.ID
		}

		entry.CentTotal = cents
		if len(owners) > 1 {
			entry.CentTotal = o.Share(cents, nights.Count())
		}

		e.add(e.home(l), entry)
	}
}

// trustEntry adds an entry of a line on an account that belongs to no party, in the trust.
func (e *event) trustEntry(i int, suffix string, accountID id.ID, cents money.Cents) {
	entry := e.entry(i, ":"+suffix, cents)
	entry.AccountID = accountID
	e.add(ledger.Trust, entry)
}

// entry returns a line's entry without account and party. It leaves out the owner statement of the line: that is
// the statement which the line pays, not the one that the entry will be attached to.
func (e *event) entry(i int, suffix string, cents money.Cents) ledger.Line {
	t, l := e.d.t, &e.d.t.Lines[i]

	entry := ledger.Line{
		Ref:           l.ID.String() + suffix,
		CentTotal:     cents,
		ListingID:     ptr.Value(l.ListingID),
		ReservationID: ptr.Value(l.ReservationID),
		ContactID:     ptr.Value(l.ContactID),
		TransactionID: t.ID,
		Trigger:       e.trigger,
		Description:   ptr.Value(l.Description),
	}

	// A line without contact or description has those of its transaction.
	if entry.ContactID.IsZero() {
		entry.ContactID = ptr.Value(t.ContactID)
	}

	if entry.Description == "" {
		entry.Description = ptr.Value(t.Description)
	}

	return entry
}

// bank adds the sum that moves through the transaction's account.
func (e *event) bank(accountID id.ID, cents money.Cents) {
	e.add(e.d.findLedger(accountID), ledger.Line{
		Ref:           "account",
		AccountID:     accountID,
		CentTotal:     cents,
		ContactID:     ptr.Value(e.d.t.ContactID),
		TransactionID: e.d.t.ID,
		Trigger:       e.trigger,
		Description:   ptr.Value(e.d.t.Description),
	})
}

// add adds an entry to its ledger, unless its amount is zero.
func (e *event) add(in ledger.Ledger, entry ledger.Line) {
	switch {
	case entry.CentTotal == 0:
	case in == ledger.Operating:
		e.operate = append(e.operate, entry)
	default:
		e.trust = append(e.trust, entry)
	}
}

// post makes the postings of an event: one for each ledger, each balanced through dueToFromTrust.
func (e *event) post() {
	e.postTo(ledger.Trust, e.name, e.trust)
	e.postTo(ledger.Operating, e.name+":operating", e.operate)
}

// postTo makes the posting of an event in one ledger, if it has entries there.
func (e *event) postTo(in ledger.Ledger, name string, lines []ledger.Line) {
	if len(lines) == 0 {
		return
	}

	var open money.Cents
	for i := range lines {
		open += lines[i].CentTotal
	}

	// The two ledgers owe each other the difference.
	if open != 0 {
		lines = append(lines, ledger.Line{
			Ref:           "dueToFromTrust",
			AccountID:     e.d.requireAccount(account.DueToFromTrust),
			CentTotal:     -open,
			ContactID:     ptr.Value(e.d.t.ContactID),
			TransactionID: e.d.t.ID,
			Trigger:       triggerIntercompany,
			Description:   ptr.Value(e.d.t.Description),
		})
	}

	e.d.postings = append(e.d.postings, ledger.Posting{
		SourceID: e.d.t.ID,
		TxnCode:  "transaction:" + e.d.t.ID.String() + ":" + name,
		Ledger:   in,
		Status:   ledger.Active,
		TxnAt:    e.at,
		Currency: e.d.t.Currency,
		Lines:    lines,
	})
}

// home returns the ledger of a line: that of its account if it is a bank account, else the trust. But a cost or
// income of the manager stays with an operating account that the money moves through at once.
func (e *event) home(l *Line) ledger.Ledger {
	if in, bank := e.d.f.Banks[l.AccountID]; bank {
		return in
	}

	// A bill with a payment of its own is booked in the trust, whatever account pays it.
	if ptr.Value(l.Party) == ledger.Manager && e.d.findLedger(e.d.t.AccountID) == ledger.Operating &&
		e.d.t.Payment == nil {
		return ledger.Operating
	}

	return ledger.Trust
}

// findLedger returns the ledger of an account: that of a bank account, else the trust.
func (d *derivation) findLedger(accountID id.ID) ledger.Ledger {
	if in, bank := d.f.Banks[accountID]; bank {
		return in
	}

	return ledger.Trust
}

// requireAccount returns the account of an assignment. If the team has not made it, the derivation fails.
func (d *derivation) requireAccount(a account.Assignment) id.ID {
	if err := account.Require(d.f.Assigned, a); err != nil && d.err == nil {
		d.err = err
	}

	return d.f.Assigned[a]
}

// owners returns the ownership periods that have a line on the date of the event. Without any the derivation fails.
func (e *event) owners(i int) []listing.Owned {
	owners := e.d.f.ownersAt(e.d.t, &e.d.t.Lines[i], e.at)
	if len(owners) == 0 && e.d.err == nil {
		e.d.err = apierr.BadRequest.At(apierr.IssueOwnershipPeriodMissing.InBody("lines", i, "listingId"))
	}

	return owners
}

// HasOwnerAtOpening reports whether a listing has an owner for an opening balance that is booked for a day.
func HasOwnerAtOpening(ctx context.Context, tx *db.Tx, listingID id.ID, at day.Day) (bool, error) {
	periods, err := listing.Periods(ctx, tx, []id.ID{listingID})
	if err != nil {
		return false, fmt.Errorf("read ownership periods: %w", err)
	}

	f := Facts{Periods: periods}

	return len(f.ownersAt(&Transaction{IsOpeningBalance: true}, &Line{ListingID: &listingID}, at)) > 0, nil
}

// ownersAt returns the ownership periods that have a line on a day, none if it has no owner. A line that pays an
// owner statement belongs to the statement's own period, whoever owns the listing by then, and one that names a
// period to that. A line of a stay belongs to who has the stay, in parts by night; nights without an owner have a
// part without a period as long as others have one. An opening balance is dated the day before the first day on
// record; if no one owned the listing on that day, it belongs to the owner of the next day.
func (f *Facts) ownersAt(t *Transaction, l *Line, at day.Day) []listing.Owned {
	periods := f.Periods[ptr.Value(l.ListingID)]
	whole := func(p *listing.Period) []listing.Owned {
		if p == nil {
			return nil
		}

		return []listing.Owned{{Period: p, To: 1}}
	}

	if paid, known := f.Paid[ptr.Value(l.OwnerStatementID)]; known {
		if p := listing.FindPeriod(periods, paid); p != nil {
			return whole(p)
		}
	}

	if l.OwnershipPeriodID != nil {
		return whole(listing.FindPeriod(periods, *l.OwnershipPeriodID))
	}

	if stay, known := f.Stays[ptr.Value(l.ReservationID)]; known && stay.ListingID == ptr.Value(l.ListingID) {
		owners := stay.Owners(periods)
		if !slices.ContainsFunc(owners, func(o listing.Owned) bool { return o.Period != nil }) {
			return nil
		}

		return owners
	}

	p := listing.Covering(periods, at)
	if p == nil && t.IsOpeningBalance {
		p = listing.Covering(periods, at.AddDays(1))
	}

	return whole(p)
}
