package transaction

import (
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// Create is a new transaction as the caller describes it.
type Create struct {
	Type             Type                  `json:"type"`
	Date             day.Day               `json:"date" doc:"Accounting date."`
	UniqueRef        api.Opt[string]       `json:"uniqueRef,omitzero" maxLength:"255"`
	Description      api.Opt[string]       `json:"description,omitzero" maxLength:"1000"`
	Currency         api.Opt[string]       `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$" doc:"ISO 4217; the team's default currency when absent."`
	IsOpeningBalance bool                  `json:"isOpeningBalance,omitempty" doc:"Deposits only: may be dated before the statement start date."`
	AccountID        api.Opt[id.ID]        `json:"accountId,omitzero" doc:"Absent: the account assigned to payout_bankAccount, for an expense to accountsPayable."`
	ContactID        api.Opt[id.ID]        `json:"contactId,omitzero" doc:"Vendor or owner."`
	Payment          api.Opt[PaymentInput] `json:"payment,omitzero" doc:"Expenses only: the bill was paid on a date of its own."`
	ConnectionID     api.Opt[id.ID]        `json:"connectionId,omitzero" doc:"The connection that it comes over."`
	SourceID         api.Opt[string]       `json:"sourceId,omitzero" minLength:"1" maxLength:"200" doc:"The transaction's own key in the app of the connection, unique in the connection."`

	MatchBankAccountLast4 api.Opt[string] `json:"matchBankAccountLast4,omitzero" pattern:"^[0-9]{4}$" doc:"Names the bank account by its last digits, when accountId is absent."`
	RecurringTemplateID   api.Opt[id.ID]  `json:"recurringTemplateId,omitzero" doc:"Makes the transaction the template's instance of its date."`

	AttachmentIDs []id.ID     `json:"attachmentIds,omitempty" maxItems:"50"`
	Lines         []LineInput `json:"lines" minItems:"1" maxItems:"1000" doc:"A transfer or payout has exactly one."`
}

// PaymentInput is the payment of a bill.
type PaymentInput struct {
	Date      day.Day        `json:"date"`
	AccountID api.Opt[id.ID] `json:"accountId,omitzero" doc:"Absent: the expense's own bank account, else the one assigned to payout_bankAccount."`
}

// LineInput is a line as the caller describes it.
type LineInput struct {
	Amount money.Cents `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents. A negative deposit line is a deduction or a refund."`
	LineFields
}

// LineFields are the fields of a line except its amount.
type LineFields struct {
	UniqueRef         api.Opt[string]             `json:"uniqueRef,omitzero" maxLength:"255"`
	Description       api.Opt[string]             `json:"description,omitzero" maxLength:"1000"`
	Assignment        api.Opt[account.Assignment] `json:"assignment,omitzero" doc:"Names the account by its assignment; instead of accountId."`
	AccountID         api.Opt[id.ID]              `json:"accountId,omitzero"`
	AppliedAmount     api.Opt[AppliedInput]       `json:"appliedAmount,omitzero" doc:"Tax on the amount; expenses only."`
	Markup            api.Opt[MarkupInput]        `json:"markup,omitzero" doc:"Expenses that an owner bears only."`
	ListingID         api.Opt[id.ID]              `json:"listingId,omitzero" doc:"Absent: the listing of the reservation or of the owner statement."`
	ReservationID     api.Opt[id.ID]              `json:"reservationId,omitzero"`
	OwnershipPeriodID api.Opt[id.ID]              `json:"ownershipPeriodId,omitzero" doc:"The ownership period whose owners have it; absent: by the nights of the reservation, else the date."`
	OwnerStatementID  api.Opt[id.ID]              `json:"ownerStatementId,omitzero" doc:"Payouts only: the published statement that is paid."`
	Party             api.Opt[ledger.Party]       `json:"party,omitzero" doc:"Absent: by account and listing."`
	ContactID         api.Opt[id.ID]              `json:"contactId,omitzero"`

	MatchReservationConfirmationCode api.Opt[string] `json:"matchReservationConfirmationCode,omitzero" minLength:"1" maxLength:"200" doc:"Links the line to the reservation with this code as soon as there is one."`
	MatchReservationStripeGuestRef   api.Opt[string] `json:"matchReservationStripeGuestRef,omitzero" minLength:"1" maxLength:"200" doc:"The same by stripeGuestRef in the reservation's metadata."`
	MatchLineTypeClassification      api.Opt[string] `json:"matchLineTypeClassification,omitzero" minLength:"1" maxLength:"100" doc:"What the importer takes the line for; kept as it is."`
}

// AppliedInput is the tax on an amount.
type AppliedInput struct {
	TaxRateID   id.ID       `json:"taxRateId"`
	TaxBehavior TaxBehavior `json:"taxBehavior,omitempty" enum:"included,excluded" doc:"Absent: excluded."`
	TaxPayee    TaxPayee    `json:"taxPayee,omitempty" doc:"Who gets the tax. vendor: it is on the vendor's bill and paid with it. authority: the manager owes it. Absent: vendor for a tax that is included, authority for one that is not."`
}

// MarkupInput is the markup on a cost that an owner bears.
type MarkupInput struct {
	Amount      money.Cents          `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991"`
	TaxRateID   api.Opt[id.ID]       `json:"taxRateId,omitzero"`
	TaxBehavior api.Opt[TaxBehavior] `json:"taxBehavior,omitzero" enum:"included,excluded" doc:"Absent: excluded."`
}

// Update holds the fields that change. Null clears a field, an absent field stays as it is.
type Update struct {
	Status        Status                `json:"status,omitempty" enum:"active,inactive" doc:"Archives the transaction, or brings it back."`
	Date          *day.Day              `json:"date,omitempty"`
	UniqueRef     api.Opt[string]       `json:"uniqueRef,omitzero" maxLength:"255"`
	Description   api.Opt[string]       `json:"description,omitzero" maxLength:"1000"`
	Currency      api.Opt[string]       `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$"`
	AccountID     api.Opt[id.ID]        `json:"accountId,omitzero"`
	ContactID     api.Opt[id.ID]        `json:"contactId,omitzero"`
	Payment       api.Opt[PaymentInput] `json:"payment,omitzero"`
	ConnectionID  api.Opt[id.ID]        `json:"connectionId,omitzero"`
	SourceID      api.Opt[string]       `json:"sourceId,omitzero" minLength:"1" maxLength:"200"`
	AttachmentIDs []id.ID               `json:"attachmentIds,omitempty" maxItems:"50" doc:"The complete desired set."`
	Lines         []LineInput           `json:"lines,omitempty" minItems:"1" maxItems:"1000" doc:"Replaces all lines; not together with the three below."`
	LinesCreate   []LineInput           `json:"lines_create,omitempty" maxItems:"1000"`
	LinesUpdate   []LineUpdate          `json:"lines_update,omitempty" maxItems:"1000"`
	LinesDelete   []id.ID               `json:"lines_delete,omitempty" maxItems:"1000"`
}

// LineUpdate holds the fields of one line that change.
type LineUpdate struct {
	ID     id.ID                `json:"id"`
	Amount api.Opt[money.Cents] `json:"amount,omitzero" minimum:"-9007199254740991" maximum:"9007199254740991"`
	LineFields
}

// Resolve refuses lines that are replaced and changed at once.
func (u *Update) Resolve() []apierr.Issue {
	if u.Lines != nil && (u.LinesCreate != nil || u.LinesUpdate != nil || u.LinesDelete != nil) {
		return []apierr.Issue{apierr.IssueContradiction.InBody("lines")}
	}

	return nil
}

// draft is a transaction on its way to be stored.
type draft struct {
	Transaction
	// bankLast4 names the account when the caller gave no id.
	bankLast4 string
	// isAccountAssigned is true if the caller named no account.
	isAccountAssigned bool
	// attach is the complete set of attachments to be, nil to leave it as it is.
	attach []id.ID
	// paths say where the caller wrote each line.
	paths [][]any
	// old is the stored transaction, nil for a new one.
	old *Transaction
}

// newDraft returns the draft of a new transaction. Accounts that the caller does not name are still zero.
func newDraft(c *Create, newID func() id.ID) *draft {
	d := &draft{Transaction: Transaction{
		ID:                  newID(),
		Type:                c.Type,
		Status:              Active,
		Date:                c.Date,
		UniqueRef:           c.UniqueRef.Value,
		Description:         c.Description.Value,
		Currency:            ptr.Value(c.Currency.Value),
		IsOpeningBalance:    c.IsOpeningBalance,
		AccountID:           ptr.Value(c.AccountID.Value),
		ContactID:           c.ContactID.Value,
		ConnectionID:        c.ConnectionID.Value,
		SourceID:            c.SourceID.Value,
		RecurringTemplateID: c.RecurringTemplateID.Value,
	}, attach: c.AttachmentIDs, bankLast4: ptr.Value(c.MatchBankAccountLast4.Value)}
	if d.RecurringTemplateID != nil {
		d.RecurringAt = &c.Date
	}

	d.ShortRef = d.ID.ShortRef()
	d.pay(c.Payment.Value)

	for i := range c.Lines {
		d.append(newID(), &c.Lines[i], "lines", i)
	}

	return d
}

// newUpdateDraft returns a draft of a stored transaction with changes, and the issues of lines that do not exist.
func newUpdateDraft(old *Transaction, u *Update, newID func() id.ID) (*draft, []apierr.Issue) {
	d := &draft{Transaction: *old, old: old, attach: u.AttachmentIDs}
	d.UniqueRef, d.Description = u.UniqueRef.Or(old.UniqueRef), u.Description.Or(old.Description)

	d.ConnectionID, d.SourceID = u.ConnectionID.Or(old.ConnectionID), u.SourceID.Or(old.SourceID)

	d.ContactID = u.ContactID.Or(old.ContactID)
	if u.Status != "" {
		d.Status = u.Status
	}

	if u.Date != nil {
		d.Date = *u.Date
	}

	if u.Currency.Present {
		d.Currency = ptr.Value(u.Currency.Value)
	}

	if u.AccountID.Present {
		d.AccountID = ptr.Value(u.AccountID.Value)
	}

	if u.Payment.Present {
		d.pay(u.Payment.Value)
	}

	return d, d.changeLines(old.Lines, u, newID)
}

// pay sets the payment of a bill, or removes it for nil.
func (d *draft) pay(p *PaymentInput) {
	d.Payment = nil
	if p != nil {
		d.Payment = &Payment{Date: p.Date, AccountID: ptr.Value(p.AccountID.Value)}
	}
}

// changeLines replaces the lines or changes some of them. A replacing line takes over the id of the line in its
// place, so that a transaction which is sent again as it is stored keeps its journal untouched.
func (d *draft) changeLines(old []Line, u *Update, newID func() id.ID) []apierr.Issue {
	d.Lines, d.paths = nil, nil
	if u.Lines != nil {
		for i := range u.Lines {
			lineID := newID()
			if i < len(old) {
				lineID = old[i].ID
			}

			d.append(lineID, &u.Lines[i], "lines", i)
		}

		return nil
	}

	// Otherwise lines are changed one by one. First check that the named lines exist. A line that is deleted and
	// updated at once is an issue, as is one that is updated twice.
	known := make(map[id.ID]bool, len(old))
	for i := range old {
		known[old[i].ID] = true
	}

	var issues []apierr.Issue

	deleted, updates := map[id.ID]bool{}, map[id.ID]int{}

	for i, line := range u.LinesDelete {
		if !known[line] {
			issues = append(issues, apierr.IssueNotFound.InBody("lines_delete", i))
		}

		deleted[line] = true
	}

	for i := range u.LinesUpdate {
		line := u.LinesUpdate[i].ID
		if _, twice := updates[line]; twice || !known[line] || deleted[line] {
			issues = append(issues, apierr.IssueNotFound.InBody("lines_update", i, "id"))
		}

		updates[line] = i
	}

	// Then apply the changes to copies of the stored lines, in their order. New lines follow.
	for i := range old {
		if deleted[old[i].ID] {
			continue
		}

		l, path := old[i].clone(), []any{"lines", i}

		// Issues of a changed line have the path where the caller wrote the change.
		if n, ok := updates[l.ID]; ok {
			path = []any{"lines_update", n}
			if u.LinesUpdate[n].Amount.Value != nil {
				l.Amount = *u.LinesUpdate[n].Amount.Value
			}

			l.apply(&u.LinesUpdate[n].LineFields)
		}

		d.Lines, d.paths = append(d.Lines, l), append(d.paths, path)
	}

	for i := range u.LinesCreate {
		d.append(newID(), &u.LinesCreate[i], "lines_create", i)
	}

	return issues
}

// append adds a line and the path where the caller wrote it.
func (d *draft) append(lineID id.ID, in *LineInput, list string, i int) {
	l := Line{ID: lineID, Amount: in.Amount}
	l.apply(&in.LineFields)
	d.Lines, d.paths = append(d.Lines, l), append(d.paths, []any{list, i})
}

// clone returns a copy with computed parts that can be set without touching the original.
func (l *Line) clone() Line {
	c := *l
	if l.AppliedAmount != nil {
		a := *l.AppliedAmount
		c.AppliedAmount = &a
	}

	if l.Markup != nil {
		m := *l.Markup
		c.Markup = &m
	}

	return c
}

// apply sets the fields that are present.
func (l *Line) apply(f *LineFields) {
	l.UniqueRef, l.Description = f.UniqueRef.Or(l.UniqueRef), f.Description.Or(l.Description)
	l.ContactID, l.Party = f.ContactID.Or(l.ContactID), f.Party.Or(l.Party)
	l.OwnerStatementID = f.OwnerStatementID.Or(l.OwnerStatementID)
	l.OwnershipPeriodID = f.OwnershipPeriodID.Or(l.OwnershipPeriodID)
	l.applyMatch(f)

	l.ReservationID = f.ReservationID.Or(l.ReservationID)
	if f.ReservationID.Value != nil || f.OwnerStatementID.Value != nil {
		l.ListingID = nil // the reservation or the statement gives it again
	}

	if f.ListingID.Present || f.ReservationID.Present {
		l.FollowsReservation = false // until the reservation gives the listing
	}

	// A listing that is named in the same change still counts. A new account makes the party depend on that account
	// again.
	l.ListingID = f.ListingID.Or(l.ListingID)
	if f.Assignment.Present || f.AccountID.Present {
		l.Assignment, l.AccountID, l.Party = f.Assignment.Value, ptr.Value(f.AccountID.Value), f.Party.Value
	}

	// Tax and markup are replaced as a whole; their amounts are computed later.
	if f.AppliedAmount.Present {
		l.AppliedAmount = nil
		if a := f.AppliedAmount.Value; a != nil {
			behavior := orExcluded(a.TaxBehavior)
			l.AppliedAmount = &Applied{
				TaxRateID:   a.TaxRateID,
				TaxBehavior: behavior,
				TaxPayee:    a.TaxPayee.orDefault(behavior),
			}
		}
	}

	if f.Markup.Present {
		l.Markup = nil
		if m := f.Markup.Value; m != nil {
			l.Markup = &Markup{Amount: m.Amount, TaxRateID: m.TaxRateID.Value}
			if l.Markup.TaxRateID != nil {
				behavior := orExcluded(ptr.Value(m.TaxBehavior.Value))
				l.Markup.TaxBehavior = &behavior
			}
		}
	}
}

// applyMatch sets the names of the reservation that the line waits for. If they change, the line is unlinked and
// the reservation looked up again.
func (l *Line) applyMatch(f *LineFields) {
	code := f.MatchReservationConfirmationCode.Or(l.MatchReservationConfirmationCode)

	guest := f.MatchReservationStripeGuestRef.Or(l.MatchReservationStripeGuestRef)
	if l.ReservationID != nil && (code != nil && ptr.Value(code) != ptr.Value(l.MatchReservationConfirmationCode) ||
		guest != nil && ptr.Value(guest) != ptr.Value(l.MatchReservationStripeGuestRef)) {
		l.ReservationID, l.ListingID, l.FollowsReservation = nil, nil, false
	}

	l.MatchReservationConfirmationCode, l.MatchReservationStripeGuestRef = code, guest
	l.MatchLineTypeClassification = f.MatchLineTypeClassification.Or(l.MatchLineTypeClassification)
}

// orExcluded returns the tax behaviour, excluded if it is absent.
func orExcluded(b TaxBehavior) TaxBehavior {
	if b == "" {
		return TaxExcluded
	}

	return b
}

// Input returns the line as a caller would describe it.
func (l *Line) Input() LineInput {
	in := LineInput{Amount: l.Amount, LineFields: LineFields{
		UniqueRef:                        api.SetIf(l.UniqueRef),
		Description:                      api.SetIf(l.Description),
		Assignment:                       api.SetIf(l.Assignment),
		AccountID:                        api.Set(l.AccountID),
		ListingID:                        api.SetIf(l.ListingID),
		ReservationID:                    api.SetIf(l.ReservationID),
		OwnerStatementID:                 api.SetIf(l.OwnerStatementID),
		OwnershipPeriodID:                api.SetIf(l.OwnershipPeriodID),
		Party:                            api.SetIf(l.Party),
		ContactID:                        api.SetIf(l.ContactID),
		MatchReservationConfirmationCode: api.SetIf(l.MatchReservationConfirmationCode),
		MatchReservationStripeGuestRef:   api.SetIf(l.MatchReservationStripeGuestRef),
		MatchLineTypeClassification:      api.SetIf(l.MatchLineTypeClassification),
	}}

	// The account of an assignment and the listing of a reservation are left out, so that they are looked up again.
	if l.Assignment != nil {
		in.AccountID = api.Opt[id.ID]{}
	}

	if l.FollowsReservation {
		in.ListingID = api.Opt[id.ID]{}
	}

	if a := l.AppliedAmount; a != nil {
		in.AppliedAmount = api.Set(
			AppliedInput{TaxRateID: a.TaxRateID, TaxBehavior: a.TaxBehavior, TaxPayee: a.TaxPayee},
		)
	}

	if m := l.Markup; m != nil {
		in.Markup = api.Set(
			MarkupInput{Amount: m.Amount, TaxRateID: api.SetIf(m.TaxRateID), TaxBehavior: api.SetIf(m.TaxBehavior)},
		)
	}

	return in
}
