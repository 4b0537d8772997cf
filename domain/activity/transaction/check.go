package transaction

import (
	"context"
	"slices"

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

// fill gives a draft the defaults of the team and checks it against the rules of its type. Everything that needs no
// other record is refused here.
func (d *draft) fill(books *account.Books) error {
	if issues := d.typeIssues(); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	if d.Currency == "" {
		d.Currency = books.DefaultCurrency
	}

	currency, err := money.ParseCurrency(d.Currency)
	if err != nil {
		return apierr.BadRequest.At(apierr.IssueCurrency.InBody("currency"))
	}

	d.Currency = string(currency)
	if err := d.fillAccounts(books); err != nil {
		return err
	}

	return d.checkDates(books)
}

// typeIssues returns an issue for each field that the type of the transaction does not have.
func (d *draft) typeIssues() []apierr.Issue {
	var issues []apierr.Issue

	refuse := func(wrong bool, issue apierr.Issue) {
		if wrong {
			issues = append(issues, issue)
		}
	}
	refuse(len(d.Lines) == 0, apierr.IssueItems.InBody("lines"))
	refuse(len(d.Lines) > maxLines, apierr.IssueItems.InBody("lines"))

	// A transfer or payout has one purpose and so one line.
	refuse(len(d.Lines) > 1 && (d.Type == Transfer || d.Type == Payout),
		apierr.IssueExactlyOneLine.InBody("lines"))
	refuse(d.Payment != nil && d.Type != Expense, apierr.IssuePaymentNotSupported.InBody("payment"))
	refuse(d.IsOpeningBalance && d.Type != Deposit, apierr.IssueOpeningBalanceNotSupported.InBody("isOpeningBalance"))
	refuse(len(d.attach) > 0 && d.Type != Expense, apierr.IssueAttachmentsNotSupported.InBody("attachmentIds"))

	// Taxes and markups belong to bills, owner statements to payouts.
	for i := range d.Lines {
		l := &d.Lines[i]
		refuse(
			l.AppliedAmount != nil && d.Type != Expense,
			apierr.IssueTaxNotSupported.InBody(d.paths[i], "appliedAmount"),
		)
		refuse(l.Markup != nil && d.Type != Expense, apierr.IssueMarkupNotSupported.InBody(d.paths[i], "markup"))
		refuse(
			l.OwnerStatementID != nil && d.Type != Payout,
			apierr.IssueStatementNotSupported.InBody(d.paths[i], "ownerStatementId"),
		)
	}

	return issues
}

const maxLines = 1000

// fillAccounts resolves assignments to accounts. An assignment without an account fails with reason
// requiredAccountMissing (RSN-52).
func (d *draft) fillAccounts(books *account.Books) error {
	var missing error

	assigned := func(a account.Assignment) id.ID {
		if err := account.Require(books.Assigned, a); err != nil && missing == nil {
			missing = err
		}

		return books.Assigned[a]
	}

	// First the account of the transaction itself: bills are owed on the payable, money moves on the bank account.
	d.isAccountAssigned = d.AccountID.IsZero()
	switch {
	case !d.isAccountAssigned:
	case d.Type == Expense:
		d.AccountID = assigned(account.AccountsPayable)
	default:
		d.AccountID = assigned(account.PayoutBankAccount)
	}

	// Then the accounts of the lines. Issues of lines come before a missing assignment.
	var issues []apierr.Issue

	stored := d.linesByID()
	for i := range d.Lines {
		l := &d.Lines[i]
		if old, ok := stored[l.ID]; ok && !l.AccountID.IsZero() && old.AccountID == l.AccountID &&
			ptr.Value(old.Assignment) == ptr.Value(l.Assignment) {
			continue // resolved when it was booked, whatever is assigned today
		}

		// A payout without an account pays out a balance.
		if l.Assignment == nil && l.AccountID.IsZero() && d.Type == Payout {
			distribution := account.PayoutDistribution
			l.Assignment = &distribution
		}

		switch {
		case l.Assignment == nil && l.AccountID.IsZero():
			issues = append(issues, apierr.IssueRequired.InBody(d.paths[i], "accountId"))
		case l.Assignment != nil && !slices.Contains(l.Assignment.Enum(), string(*l.Assignment)):
			issues = append(issues, apierr.IssueEnum.InBody(d.paths[i], "assignment"))
		case l.Assignment != nil:
			accountID := assigned(*l.Assignment)
			if !l.AccountID.IsZero() && l.AccountID != accountID && missing == nil {
				issues = append(issues, apierr.IssueAssignmentMismatch.InBody(d.paths[i], "accountId"))
			}

			l.AccountID = accountID
		}
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	return missing
}

// linesByID returns the stored lines of the transaction by id, none for a new one.
func (d *draft) linesByID() map[id.ID]*Line {
	out := map[id.ID]*Line{}

	if d.old != nil {
		for i := range d.old.Lines {
			out[d.old.Lines[i].ID] = &d.old.Lines[i]
		}
	}

	return out
}

// checkDates refuses new dates before the statement start date. An opening balance lies before it by nature
// (RSN-15).
func (d *draft) checkDates(books *account.Books) error {
	if books.StatementStartAt == nil || d.IsOpeningBalance {
		return nil
	}

	// A date that is stored already may stay, even if the start date was moved past it.
	early := func(at day.Day, old *day.Day) bool {
		return at.Before(*books.StatementStartAt) && (old == nil || *old != at)
	}

	var oldDate, oldPaid *day.Day
	if d.old != nil {
		oldDate = &d.old.Date
		if d.old.Payment != nil {
			oldPaid = &d.old.Payment.Date
		}
	}

	context := map[string]any{"statementStartAt": books.StatementStartAt}
	if early(d.Date, oldDate) {
		return ErrBeforeStart.At(apierr.IssueBeforeStatementStartDate.InBody("date")).With(context)
	}

	if d.Payment != nil && early(d.Payment.Date, oldPaid) {
		return ErrBeforeStart.At(apierr.IssueBeforeStatementStartDate.InBody("payment", "date")).With(context)
	}

	return nil
}

// check checks a filled draft against the records that it names, then settles its parties and amounts.
func (d *draft) check(r *references) error {
	if issues := d.unknownReferences(r); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	// Records that exist may still be of the wrong kind, closed or inactive. The order of the checks is the
	// documented order of failures.
	if err := d.fillPayment(r); err != nil {
		return err
	}

	if issues := d.checkOpenAccounts(r); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	// Some of the later checks depend on the party of a line.
	for i := range d.Lines {
		d.fillParty(r, &d.Lines[i])
	}

	if err := d.checkStates(r); err != nil {
		return err
	}

	if issues := d.mismatches(r); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	if issues := d.settle(r.rates); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// derive returns the journal of a checked draft. It fails as Journal does, and with apierr.OperationsDisabled. Money
// of a payout that came back is booked in every team, since it did come back.
func (d *draft) derive(ctx context.Context, tx *db.Tx, r *references) ([]ledger.Posting, error) {
	postings, err := Journal(&d.Transaction, &r.facts)
	if err != nil || d.Type == Payout && d.Total < 0 {
		return postings, err
	}

	return postings, ledger.CheckOperations(ctx, tx, postings)
}

// unknownReferences returns an issue for each reference to a record that the team does not have.
func (d *draft) unknownReferences(r *references) []apierr.Issue {
	var issues []apierr.Issue

	missing := func(named, exists bool, path ...any) {
		if named && !exists {
			issues = append(issues, apierr.IssueNotFound.InBody(path...))
		}
	}

	// First the references of the transaction itself, then those of each line.
	knownAccount := func(a id.ID) bool { _, ok := r.books.Accounts[a]; return ok }
	missing(true, knownAccount(d.AccountID), "accountId")
	missing(d.ContactID != nil, r.contacts[ptr.Value(d.ContactID)], "contactId")
	missing(d.ConnectionID != nil, r.connections[ptr.Value(d.ConnectionID)], "connectionId")
	missing(d.RecurringTemplateID != nil, r.templates[ptr.Value(d.RecurringTemplateID)], "recurringTemplateId")

	if p := d.Payment; p != nil {
		missing(!p.AccountID.IsZero(), knownAccount(p.AccountID), "payment", "accountId")
	}

	for i := range d.Lines {
		l := &d.Lines[i]
		_, listingKnown := r.listings[ptr.Value(l.ListingID)]
		_, reservationKnown := r.reservations[ptr.Value(l.ReservationID)]
		_, statementKnown := r.statements[ptr.Value(l.OwnerStatementID)]
		missing(true, knownAccount(l.AccountID), d.paths[i], "accountId")
		missing(l.ListingID != nil, listingKnown, d.paths[i], "listingId")
		missing(l.ReservationID != nil, reservationKnown, d.paths[i], "reservationId")
		missing(l.OwnerStatementID != nil, statementKnown, d.paths[i], "ownerStatementId")
		missing(l.ContactID != nil, r.contacts[ptr.Value(l.ContactID)], d.paths[i], "contactId")

		if a := l.AppliedAmount; a != nil {
			_, known := r.rates[a.TaxRateID]
			missing(true, known, d.paths[i], "appliedAmount")
		}

		if m := l.Markup; m != nil {
			_, known := r.rates[ptr.Value(m.TaxRateID)]
			missing(m.TaxRateID != nil, known, d.paths[i], "markup")
		}
	}

	return issues
}

// closedIssue says why nothing new is posted to an account; "" when it is open.
func closedIssue(a account.Fact) apierr.IssueCode {
	switch {
	case a.Type == account.TypeNonPosting:
		return apierr.IssueNonPostingAccount
	case a.Status == account.Inactive:
		return apierr.IssueAccountInactive
	default:
		return ""
	}
}

// isBank reports whether an account is one at a bank.
func (r *references) isBank(accountID id.ID) bool {
	_, is := r.books.Banks[accountID]
	return is
}

// checkOpenAccounts returns an issue for each account that nothing is posted to. An account that was closed later may
// stay on the transactions that have it.
func (d *draft) checkOpenAccounts(r *references) []apierr.Issue {
	before := idSet{}
	if d.old != nil {
		before.addAccounts(d.old)
	}

	var issues []apierr.Issue

	check := func(account id.ID, path ...any) {
		code := closedIssue(r.books.Accounts[account])
		if _, stays := before[account]; !stays && code != "" {
			issues = append(issues, code.InBody(path...))
		}
	}
	check(d.AccountID, "accountId")

	if d.Payment != nil {
		check(d.Payment.AccountID, "payment", "accountId")
	}

	for i := range d.Lines {
		check(d.Lines[i].AccountID, d.paths[i], "accountId")
	}

	return issues
}

// addAccounts adds the accounts that a transaction names.
func (s idSet) addAccounts(t *Transaction) {
	s.add(t.AccountID)

	if t.Payment != nil {
		s.add(t.Payment.AccountID)
	}

	for i := range t.Lines {
		s.add(t.Lines[i].AccountID)
	}
}

// fillPayment finds the bank account of a bill's payment, and refuses accounts that are not bank accounts where
// money moves.
func (d *draft) fillPayment(r *references) error {
	if p := d.Payment; p != nil {
		// A bill that is booked on a bank account is paid from it; any other from the assigned one.
		if p.AccountID.IsZero() && r.isBank(d.AccountID) {
			p.AccountID = d.AccountID
		}

		if p.AccountID.IsZero() {
			if err := account.Require(r.books.Assigned, account.PayoutBankAccount); err != nil {
				return err
			}

			p.AccountID = r.books.Assigned[account.PayoutBankAccount]
		}

		if !r.isBank(p.AccountID) {
			return ErrNotBank.At(apierr.IssueNotBankAccount.InBody("payment", "accountId"))
		}
	}

	if (d.Type == Deposit || d.Type == Payout) && !r.isBank(d.AccountID) {
		return ErrNotBank.At(apierr.IssueNotBankAccount.InBody("accountId"))
	}

	return nil
}

// fillParty sets the party of a line if the caller does not. Guest money belongs to no party until a stay is
// recognised. Processor and channel fees are the manager's cost until they are charged on. Other income and cost is
// the owners' if it names a listing, else the manager's.
func (d *draft) fillParty(r *references, l *Line) {
	assigned := func(as ...account.Assignment) bool {
		for _, a := range as {
			if given, ok := r.books.Assigned[a]; ok && given == l.AccountID {
				return true
			}
		}

		return false
	}

	// A listing makes it the owners' unless the account says otherwise.
	party := ledger.Manager
	if l.ListingID != nil {
		party = ledger.Owners
	}

	classification := r.books.Accounts[l.AccountID].Classification
	switch {
	// Even a party that the caller named is dropped for guest money.
	case assigned(account.AccountsReceivable, account.DepositCoHostPayout):
		l.Party = nil
		return
	case l.Party != nil:
		return
	case assigned(account.DepositMerchantFee, account.DepositChannelFee):
		party = ledger.Manager
	case assigned(account.PayoutDistribution), classification == "revenue", classification == "expense":
	case assigned(account.OpeningBalance) && l.ListingID != nil:
	default:
		return
	}

	l.Party = &party
}

// mismatches returns an issue for references that exist but do not fit each other. A line with a listing that the
// caller named keeps it when the stay moves away, and may be sent again as it is.
func (d *draft) mismatches(r *references) []apierr.Issue {
	issues := append(d.checkCurrencies(r), d.checkBankCurrencies(r)...)

	stored := d.linesByID()
	for i := range d.Lines {
		l := &d.Lines[i]
		old := stored[l.ID]
		isUnchanged := old != nil && ptr.Value(old.ReservationID) == ptr.Value(l.ReservationID) &&
			ptr.Value(old.ListingID) == ptr.Value(l.ListingID) &&
			ptr.Value(old.OwnerStatementID) == ptr.Value(l.OwnerStatementID)

		// A reservation or statement that has no listing fits every line.
		elsewhere := func(listingID id.ID) bool {
			return !isUnchanged && !listingID.IsZero() && listingID != ptr.Value(l.ListingID)
		}
		if elsewhere(r.reservations[ptr.Value(l.ReservationID)]) ||
			elsewhere(r.statements[ptr.Value(l.OwnerStatementID)].listing) {
			issues = append(issues, apierr.IssueListingMismatch.InBody(d.paths[i], "listingId"))
		}

		// Only owners bear a markup, and their money always belongs to a listing that is owned on the date.
		owners := ptr.Value(l.Party) == ledger.Owners
		if l.Markup != nil && !owners {
			issues = append(issues, apierr.IssueMarkupNotSupported.InBody(d.paths[i], "markup"))
		}

		if d.Type == Transfer && l.AccountID == d.AccountID {
			issues = append(issues, apierr.IssueSameAccount.InBody(d.paths[i], "accountId"))
		}

		switch {
		case owners && l.ListingID == nil:
			issues = append(issues, apierr.IssueRequired.InBody(d.paths[i], "listingId"))
		case !owners && l.OwnershipPeriodID != nil:
			issues = append(issues, apierr.IssueContradiction.InBody(d.paths[i], "ownershipPeriodId"))
		case owners && l.OwnershipPeriodID != nil &&
			listing.FindPeriod(r.facts.Periods[*l.ListingID], *l.OwnershipPeriodID) == nil:
			issues = append(issues, apierr.IssueNotFound.InBody(d.paths[i], "ownershipPeriodId"))
		case owners && len(r.facts.ownersAt(&d.Transaction, l, d.Date)) == 0:
			issues = append(issues, apierr.IssueOwnershipPeriodMissing.InBody(d.paths[i], "listingId"))
		}
	}

	return issues
}

// checkCurrencies returns an issue for each reservation and owner statement of another currency: money of one currency
// cannot pay a debt in another. A line that was booked that way stays until its reference or the currency changes.
func (d *draft) checkCurrencies(r *references) []apierr.Issue {
	before := idSet{}

	if d.old != nil && d.old.Currency == d.Currency {
		for i := range d.old.Lines {
			before.add(ptr.Value(d.old.Lines[i].ReservationID))
			before.add(ptr.Value(d.old.Lines[i].OwnerStatementID))
		}
	}

	var issues []apierr.Issue

	// Reservations and owner statements have one currency each.
	check := func(named *id.ID, i int, field string) {
		if named == nil || r.currencies[*named] == d.Currency {
			return
		}

		if _, stays := before[*named]; !stays {
			issues = append(issues, apierr.IssueCurrencyMismatch.InBody(d.paths[i], field))
		}
	}
	for i := range d.Lines {
		check(d.Lines[i].ReservationID, i, "reservationId")
		check(d.Lines[i].OwnerStatementID, i, "ownerStatementId")
	}

	return issues
}

// checkBankCurrencies returns an issue for each bank account of another currency: an account at a bank has one. A
// transaction that was booked that way stays until its account or currency changes. If the caller named no account,
// the issue is about the currency.
func (d *draft) checkBankCurrencies(r *references) []apierr.Issue {
	before := idSet{}
	if d.old != nil && d.old.Currency == d.Currency {
		before.addAccounts(d.old)
	}

	var issues []apierr.Issue

	// Accounts that are not at a bank have no currency and take any.
	check := func(accountID id.ID, path ...any) {
		currency := ptr.Value(r.books.Accounts[accountID].Currency)
		if _, stays := before[accountID]; !stays && currency != "" && currency != d.Currency {
			issues = append(issues, apierr.IssueCurrencyMismatch.InBody(path...))
		}
	}
	if d.isAccountAssigned {
		check(d.AccountID, "currency")
	} else {
		check(d.AccountID, "accountId")
	}

	if d.Payment != nil {
		check(d.Payment.AccountID, "payment", "accountId")
	}

	for i := range d.Lines {
		check(d.Lines[i].AccountID, d.paths[i], "accountId")
	}

	return issues
}

// checkStates refuses listings that are inactive on the date, except on lines that had them before or that pay for
// the time before, and statements that cannot be paid (RSN-28).
func (d *draft) checkStates(r *references) error {
	before := idSet{}

	if d.old != nil && d.old.Date == d.Date {
		for i := range d.old.Lines {
			before.add(ptr.Value(d.old.Lines[i].ListingID))
		}
	}

	// A payout that names a statement already may keep it, published or not.
	paid := d.linesByID()
	for i := range d.Lines {
		l := &d.Lines[i]

		s := ptr.Value(l.OwnerStatementID)
		if !s.IsZero() && !r.statements[s].published &&
			(paid[l.ID] == nil || ptr.Value(paid[l.ID].OwnerStatementID) != s) {
			return ErrNotReady.At(apierr.IssueStatementNotReadyForPayment.InBody(d.paths[i], "ownerStatementId"))
		}

		// Opening balances and payouts of a statement concern the time before.
		listingID := ptr.Value(l.ListingID)
		if _, stays := before[listingID]; stays || listingID.IsZero() || d.IsOpeningBalance ||
			l.OwnerStatementID != nil {
			continue
		}

		if inactiveOn(r.listings[listingID], r.facts.Periods[listingID], d.Date) {
			return ErrListing.At(apierr.IssueListingInactive.InBody(d.paths[i], "listingId"))
		}
	}

	return nil
}

// inactiveOn reports whether a listing is inactive on a day. A listing that an ownership period deactivates is
// active while that period runs and inactive from its end. One that was switched off is inactive on every day.
func inactiveOn(status string, periods []listing.Period, at day.Day) bool {
	if p := listing.Covering(periods, at); p != nil {
		return status == "inactive" && (!p.SetListingInactive || p.EndAt == nil)
	}

	// No period covers the day: it is inactive after the end of a period that deactivates it.
	for i := range periods {
		if p := &periods[i]; p.SetListingInactive && p.EndAt != nil && !at.Before(*p.EndAt) {
			return true
		}
	}

	return status == "inactive"
}
