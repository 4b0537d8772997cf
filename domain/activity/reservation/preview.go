package reservation

import (
	"cmp"
	"context"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Preview is the journal that a reservation would have if it were derived now. Nothing is written, so locks do not show
// in the entries.
type Preview struct {
	Entries []PreviewEntry    `json:"entries"`
	Lines   []PreviewLine     `json:"lines" doc:"What the entries come from, and what does not count and why."`
	Lock    ledger.Lock       `json:"lock"`
	Issues  []finding.Finding `json:"issues"`
}

// PreviewEntry is an entry of the journal as it would be derived now.
type PreviewEntry struct {
	TxnCode           string           `json:"txnCode" doc:"Names the posting; its entries balance."`
	UniqueRef         string           `json:"uniqueRef" doc:"Names the entry within its posting; stable from one derivation to the next."`
	Ledger            ledger.Ledger    `json:"ledger" enum:"trust,operating,historical"`
	Status            ledger.Status    `json:"status" enum:"active,inactive"`
	TxnAt             day.Day          `json:"txnAt"`
	Account           *account.NameRef `json:"account" doc:"Null while no account is assigned; see issues."`
	CentTotal         money.Cents      `json:"centTotal" doc:"Debit positive, credit negative."`
	Currency          string           `json:"currency"`
	Party             *ledger.Party    `json:"party"`
	ListingID         id.ID            `json:"listingId"`
	OwnershipPeriodID *id.ID           `json:"ownershipPeriodId"`
	RecurringFeeID    *id.ID           `json:"recurringFeeId"`
	TriggerType       string           `json:"triggerType"`
	Description       string           `json:"description"`
}

// PreviewLine is a line of a stay, an adjustment, the cost of a deposit, or a fee.
type PreviewLine struct {
	Name           string           `json:"name"`
	Type           PreviewLineType  `json:"type"`
	Party          *ledger.Party    `json:"party" doc:"The party that has the revenue; of a fee, who earns it."`
	Status         LineStatus       `json:"status"`
	Amount         money.Cents      `json:"amount" doc:"As it is stated: what the guest owes, what a fee comes to with its tax, what a deposit cost."`
	InactiveReason *string          `json:"inactiveReason" doc:"Why the line does not count, such as reservationCancelled."`
	Fee            bool             `json:"fee" doc:"Whether the line is of the fee that is previewed."`
	Account        *account.NameRef `json:"account"`
	RecurringFee   *FeeRef          `json:"recurringFee"`
	Transaction    *TransactionRef  `json:"transaction"`

	accountID id.ID
}

// PreviewLineType says which kind of record a previewed line is.
type PreviewLineType string

// The types of previewed lines.
const (
	PreviewReservation  PreviewLineType = "reservation"
	PreviewAdjustment   PreviewLineType = "adjustment"
	PreviewDeposit      PreviewLineType = "deposit"
	PreviewRecurringFee PreviewLineType = "recurringFee"
)

// Enum lists the types.
func (PreviewLineType) Enum() []string {
	return []string{
		string(PreviewReservation), string(PreviewAdjustment), string(PreviewDeposit), string(PreviewRecurringFee),
	}
}

// FeeRef names a recurring fee.
type FeeRef struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// TransactionRef names a transaction.
type TransactionRef struct {
	ID       id.ID   `json:"id"`
	ShortRef string  `json:"shortRef"`
	Date     day.Day `json:"date"`
}

// previewJournal derives the journal of a reservation without writing it.
func previewJournal(ctx context.Context, tx *db.Tx, in *byID) (*Preview, error) {
	r, err := show(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	loaded, _, err := Known{}.inputs(ctx, tx, []Reservation{r.stored()})
	if err != nil {
		return nil, err
	}

	// A missing assignment is an issue here, where a write would fail with it.
	derived := Journal(&loaded[0])
	out := &Preview{Entries: []PreviewEntry{}, Lines: derived.previewLines(&loaded[0]), Lock: r.Lock, Issues: r.Issues}
	for _, need := range derived.Missing {
		out.Issues = append(out.Issues, finding.Finding{
			Code:     "unassignedAccount",
			Severity: finding.Error,
			Context:  map[string]any{"assignment": need},
		})
	}

	// Entries first, then lines: ids has the accounts in this order.
	var ids []id.ID

	for i := range derived.Postings {
		p := &derived.Postings[i]
		for k := range p.Lines {
			out.Entries = append(out.Entries, renderEntry(p, &p.Lines[k]))
			ids = append(ids, p.Lines[k].AccountID)
		}
	}

	for i := range out.Lines {
		ids = append(ids, out.Lines[i].accountID)
	}

	// Name all accounts with one query.
	accounts, err := account.ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	for i := range out.Entries {
		out.Entries[i].Account = renderAccount(accounts, ids[i])
	}

	for i := range out.Lines {
		out.Lines[i].Account = renderAccount(accounts, out.Lines[i].accountID)
	}

	return out, nil
}

// renderAccount returns the id and name of an account, nil if it was not found.
func renderAccount(accounts map[id.ID]account.Account, accountID id.ID) *account.NameRef {
	if a, known := accounts[accountID]; known {
		return &account.NameRef{ID: a.ID, Name: a.Name}
	}

	return nil
}

// renderEntry returns the entry of a posting as the API shows it.
func renderEntry(p *ledger.Posting, l *ledger.Line) PreviewEntry {
	return PreviewEntry{
		TxnCode:           p.TxnCode,
		UniqueRef:         l.Ref,
		Ledger:            p.Ledger,
		Status:            p.Status,
		TxnAt:             p.TxnAt,
		CentTotal:         l.CentTotal,
		Currency:          p.Currency,
		Party:             partyOrNil(l.Party),
		ListingID:         l.ListingID,
		OwnershipPeriodID: l.OwnershipPeriodID.OrNil(),
		RecurringFeeID:    l.RecurringFeeID.OrNil(),
		TriggerType:       l.Trigger,
		Description:       l.Description,
	}
}

// partyOrNil returns a party as the API shows it, null for no party.
func partyOrNil(p ledger.Party) *ledger.Party {
	if p == ledger.NoParty {
		return nil
	}

	return &p
}

// previewLines returns the lines, adjustments and fees of a stay, each with the reason if it does not count.
func (d *Derived) previewLines(in *Input) []PreviewLine {
	r := &in.Reservation
	out := []PreviewLine{}

	// A reservation that is kept out of the ledger makes everything inactive that has no other reason.
	kept := ""

	switch {
	case r.GeneralLedgerStatus == LedgerInactive:
		kept = string(GeneralLedgerInactive)
	case d.Unposted.Whole:
		kept = string(d.Unposted.Reason)
	}

	add := func(p PreviewLine, reason string) {
		p.Status, reason = LineActive, cmp.Or(reason, kept)
		if reason != "" {
			p.Status, p.InactiveReason = LineInactive, &reason
		}

		out = append(out, p)
	}

	// Lines that are posted show their party and account.
	posted := map[int]*postable{}

	lines := in.postableLines()
	for i := range lines {
		posted[lines[i].index] = &lines[i]
	}

	for i := range r.Lines {
		l := &r.Lines[i]
		p := PreviewLine{Name: l.Type, Type: PreviewReservation, Amount: l.Amount}

		reason := r.inactive(l.Type, in.Mappings.Find(r.AppID, r.BookingPlatform, l.Type))
		if at := posted[i]; at != nil {
			p.Name, p.Party, p.accountID = at.label(), partyOrNil(at.party), at.accountID
		} else if reason == "" {
			reason = UnassignedAccount
		}

		add(p, string(reason))
	}

	for i := range r.Adjustments {
		add(r.Adjustments[i].previewLine(), string(inactiveAdjustment(r)))
	}

	// Fees count for the parts of the stay that their listing period covers.
	for i := range d.Charges {
		c := &d.Charges[i]
		if parts := in.feeSegments(c.Subscription); parts != nil {
			add(feeLine(c, parts), c.InactiveReason)
		}
	}

	return out
}

// inactiveAdjustment returns the reason why the adjustments of a reservation do not count, empty if they do.
func inactiveAdjustment(r *Reservation) InactiveReason {
	if r.Status == Inactive {
		return ReservationInactive
	}

	return ""
}

// previewLine returns the adjustment with the party and account that it credits.
func (a *Adjustment) previewLine() PreviewLine {
	p := PreviewLine{Name: a.label(), Type: PreviewAdjustment, Amount: a.Amount}
	switch {
	case a.RecurringFeeID != nil:
		p.Party, p.accountID = partyOrNil(a.CreditParty), a.CreditAccountID
		p.RecurringFee = &FeeRef{*a.RecurringFeeID, a.FeeName}
	case a.Type == Financial:
		p.Party, p.accountID = partyOrNil(a.partyOrDefault()), *a.AccountID
	default:
		p.Party, p.accountID = a.Party, *a.AccountID
	}

	return p
}

// feeLine returns the charge of a fee over the parts of the stay that it covers, with its tax.
func feeLine(c *fee.Charge, parts []segment) PreviewLine {
	f := &c.Subscription.Fee

	var amount money.Cents
	for _, s := range parts {
		amount += s.share(c.Amount) + s.share(c.Tax)
	}

	return PreviewLine{
		Name:         f.Name,
		Type:         PreviewRecurringFee,
		Party:        partyOrNil(f.CreditParty),
		Amount:       amount,
		accountID:    f.CreditAccountID,
		RecurringFee: &FeeRef{f.ID, f.Name},
	}
}
