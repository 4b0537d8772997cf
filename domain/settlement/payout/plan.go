package payout

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// plan is the decision on one statement. Without a cause it is to be paid.
type plan struct {
	// at is the statement's place in the request.
	at    int
	id    id.ID
	of    *chain.Payable
	cause cause
	// path leads to the field of the request that the cause is about.
	path    []any
	status  Status
	payouts []Payout
	// accounts are the bank accounts of the payouts.
	accounts []id.ID
	issues   []finding.Finding
	// against is the finding for which a payment through the provider is refused.
	against *finding.Finding
	// refusal is the error with which the books refused the payouts.
	refusal error
}

// entry returns the plan as the API shows it.
func (p *plan) entry() Entry {
	return Entry{
		StatementID: p.id,
		Status:      p.status,
		Payouts:     p.payouts,
		Message:     message(p.status, p.cause, p.issues),
		Issues:      p.issues,
	}
}

// book is a request with the decisions on it, in the order of the request.
type book struct {
	*facts
	request *Request
	date    day.Day
	plans   []*plan
	payers  map[id.ID]*payment.Payer
	limits  *payment.CurrentLimits
}

// preparePlans decides on every statement of a request. If toPay is set, the statements are locked first. It fails if
// the bank account or the connection of the request cannot pay; problems of single statements are causes in their
// plans.
func preparePlans(ctx context.Context, tx *db.Tx, r *Request, toPay bool) (*book, error) {
	// The lock on outgoing money comes before all others.
	if toPay && r.ConnectionID != nil {
		if err := payment.LockDecisions(ctx, tx); err != nil {
			return nil, err
		}
	}

	// Then load the statements and everything else the decisions need.
	f, err := loadFacts(ctx, tx, r, toPay)
	if err != nil {
		return nil, err
	}

	b := &book{facts: f, request: r, date: r.day(tx), payers: map[id.ID]*payment.Payer{}}

	// Decide the amounts before the accounts: only members who get something need one.
	b.decide()

	if err := b.loadPayers(ctx, tx); err != nil {
		return nil, err
	}

	b.chooseAccounts()

	// A provider moves money, so lacking funds refuse the payment. Recorded payouts only get a warning.
	if r.ConnectionID != nil {
		return b, b.checkPayments(ctx, tx)
	}

	return b, b.warnOfOverdrafts(ctx, tx)
}

// decide plans the amounts. Earlier statements of a chain come first, because their payouts are not available on
// the later ones any more.
func (b *book) decide() {
	given := map[id.ID][]int{}

	for i := range b.request.Amounts {
		s := b.request.Amounts[i].StatementID
		given[s] = append(given[s], i)
	}

	// The plans keep the order of the request.
	b.plans = make([]*plan, len(b.request.StatementIDs))
	for i, v := range b.request.StatementIDs {
		b.plans[i] = &plan{
			at:      i,
			id:      v,
			of:      b.found[v],
			path:    []any{"statementIds", i},
			payouts: []Payout{},
			issues:  []finding.Finding{},
		}
	}

	// Decide by month; unknown statements come last.
	ordered := slices.Clone(b.plans)
	slices.SortStableFunc(ordered, func(x, y *plan) int {
		if x.of == nil || y.of == nil {
			return cmp.Compare(b2i(x.of == nil), b2i(y.of == nil))
		}

		return x.of.StartAt.Compare(y.of.StartAt)
	})

	for _, p := range ordered {
		p.cause = b.blockedBy(p, given[p.id])
		if p.cause != "" {
			continue
		}

		b.setAmounts(p, given[p.id])

		if p.cause != "" {
			continue
		}

		// Later statements see this payout as made.
		for i := range p.payouts {
			p.of.Pay(b.date, p.payouts[i].ContactID, p.payouts[i].Amount)
		}
	}
}

// b2i returns 1 for true, so that booleans can be compared.
func b2i(v bool) int {
	if v {
		return 1
	}

	return 0
}

// blockedBy returns why the statement cannot be paid at all, whatever is due, or "".
func (b *book) blockedBy(p *plan, given []int) cause {
	if p.of == nil {
		return causeNotFound
	}

	// The issue names the amount and not the statement.
	for _, i := range given {
		isMember := func(o chain.Owner) bool { return o.ContactID == b.request.Amounts[i].ContactID }
		if !slices.ContainsFunc(p.of.Owners(), isMember) {
			p.path = []any{"amounts", i, "contactId"}
			return causeNotMember
		}
	}

	// The first of these in the order of the documentation is reported.
	switch {
	case !p.of.Published:
		return causeNotPublished
	case p.of.JournalStatus.Blocks():
		return causeRecalculating
	case len(b.failed[p.id]) > 0:
		return causeArchive
	case isSettled(p.of.Available, p.of.Received) && b.unknown[p.id]:
		return causeUnknown
	case isSettled(p.of.Available, p.of.Received):
		return causePaid
	}

	return ""
}

// setAmounts sets the payouts of a plan: those of the request, or else the amount that is due.
func (b *book) setAmounts(p *plan, given []int) {
	// Amounts of the request replace the suggestion as a whole.
	if len(given) > 0 {
		if b.request.ConnectionID == nil { // of a payment through a provider CheckFunds says it
			p.issues = append(p.issues, findUnreleased(p.of)...)
		}

		for _, i := range given {
			if a := &b.request.Amounts[i]; a.CentTotal != 0 {
				p.payouts = append(p.payouts, Payout{ContactID: a.ContactID, Amount: a.CentTotal})
			}
		}

		if len(p.payouts) == 0 {
			p.cause = causeNothingDue
		}

		return
	}

	// Otherwise suggest the amount that is left by the books.
	available, left := p.of.Available, p.of.Remaining()
	booked := computeDue(available, left)

	// A run pays out. Money that owners have paid in is recorded by amounts, when it is there.
	if booked < 0 {
		p.cause = causeOwed
		p.issues = append(p.issues, findOwed(-booked, p.of.Currency))

		return
	}

	amount := booked
	// What is kept until stays is held back, and if the team pays collected money only, what guests still owe.
	held := p.of.Held.Unreleased
	if b.basis == team.ByCollected {
		held = p.of.Held.Total()
	}

	if available > 0 && held > 0 {
		amount = min(booked, max(0, p.of.Unpaid()-held))
	}

	p.issues = append(p.issues, findUnreleased(p.of)...)

	// Say why nothing is suggested.
	switch {
	case amount != 0 && len(p.of.Owners()) > 0:
		p.payouts = splitDue(amount, p.of.Owners(), left)
	case amount != booked && p.of.Held.Owed < held:
		p.cause = causeNotReleased
	case amount != booked:
		p.cause = causeNotCollected
	case available == p.of.Received:
		p.cause = causeNothingDue
	default:
		p.cause = causeSettled
	}
}

// total returns the sum of the payouts.
func (p *plan) total() money.Cents {
	var total money.Cents
	for i := range p.payouts {
		total += p.payouts[i].Amount
	}

	return total
}

// funding returns the account that is to pay a contact, or the zero id for the assigned account or the connection's
// own.
func (b *book) funding(contact id.ID) id.ID {
	if b.request.BankAccountID != nil {
		return *b.request.BankAccountID
	}

	return b.own[contact]
}

// isThroughProvider reports whether a provider makes the payout: it pays and does not collect.
func (b *book) isThroughProvider(p *Payout) bool {
	return b.request.ConnectionID != nil && p.Amount > 0
}

// loadPayers loads the payer of every account that pays.
func (b *book) loadPayers(ctx context.Context, tx *db.Tx) error {
	if b.request.ConnectionID == nil {
		return nil
	}

	contacts := map[id.ID][]id.ID{}

	// Collect the contacts by the account that pays them.
	for _, p := range b.plans {
		for i := range p.payouts {
			if o := &p.payouts[i]; b.isThroughProvider(o) {
				from := b.funding(o.ContactID)
				contacts[from] = append(contacts[from], o.ContactID)
			}
		}
	}

	if len(contacts) == 0 {
		contacts[b.funding(id.Zero)] = []id.ID{} // an unknown connection is refused all the same
	}

	var accounts []id.ID

	// A payer also checks the account and the connection.
	for from, payees := range contacts {
		payer, err := payment.LoadPayer(ctx, tx, *b.request.ConnectionID, from, id.Distinct(payees))
		if err != nil {
			return err
		}

		b.payers[from] = payer
		accounts = append(accounts, payer.FundingAccountID)
	}

	return b.addBanks(ctx, tx, accounts)
}

// chooseAccounts sets the bank account of every payout, and adds an issue for each recipient who cannot be paid.
func (b *book) chooseAccounts() {
	for _, p := range b.plans {
		if p.cause != "" {
			continue
		}

		p.accounts = make([]id.ID, len(p.payouts))
		for i := range p.payouts {
			o := &p.payouts[i]

			// The account of the request or of the owner comes first, then the one of the payer or the assigned one.
			from := b.funding(o.ContactID)
			if b.isThroughProvider(o) {
				payer := b.payers[from]
				from = payer.FundingAccountID
				app := string(payer.Connection.AppID)

				o.Provider = &app
				if m, known := payer.Methods[o.ContactID]; known {
					o.Destination = &Destination{m.ID, m.Last4, m.Destination}
				}

				if f := payer.Fault(&payment.Order{
					ContactID: o.ContactID,
					Amount:    o.Amount,
					Currency:  p.of.Currency,
					Date:      b.date,
				}); f != nil {
					p.issues = append(p.issues, finding.Finding{
						Code:     string(f.Reason),
						Severity: finding.Error,
						Context:  f.Context(),
					})
				}
			} else if from.IsZero() {
				from = b.assigned
			}

			// One account that cannot pay stops the statement.
			p.accounts[i] = from
			if p.cause = b.accountCause(from, p.of.Currency); p.cause != "" {
				break
			}
		}
	}
}

// accountCause returns why an account cannot pay in a currency, or "".
func (b *book) accountCause(account id.ID, currency string) cause {
	of, ok := b.banks[account]
	switch {
	case !ok:
		return causeNoAccount
	case !of.Bank:
		return causeNotBank
	case !of.Active:
		return causeAccountInactive
	case of.Currency != nil && *of.Currency != currency:
		return causeCurrency
	}

	return ""
}

// checkPlans fails with the first of the causes that any statement has, and names all statements that have it. A preview is refused for
// fewer causes.
func (b *book) checkPlans(isPreview bool) error {
	for i := range causes {
		of := &causes[i]
		if of.condition == nil || isPreview && !of.refusesPreview {
			continue
		}

		var (
			against []id.ID
			issues  []apierr.Issue
		)

		for _, p := range b.plans {
			if p.cause != of.cause {
				continue
			}

			against = append(against, p.id)
			if len(issues) < maxIssues && of.issue != "" {
				issues = append(issues, of.issue.InBody(p.path...))
			}
		}

		// Other causes are reported when this one is solved.
		switch {
		case len(against) == 0:
		case of.cause == causeNoAccount:
			return account.Require(nil, account.PayoutBankAccount)
		default:
			return b.refusal(of.cause, of.condition, against).At(issues...)
		}
	}

	// A cause that neither refuses a request nor skips its statement would have the others paid without it.
	for _, p := range b.plans {
		if p.cause != "" && !isPreview && !p.cause.isSkipped() {
			return fmt.Errorf("statement %s is not paid for %q, which refuses nothing", p.id, p.cause)
		}
	}

	return nil
}

// refusal returns the condition of a cause with its context.
func (b *book) refusal(c cause, condition *apierr.Error, against []id.ID) *apierr.Error {
	switch c { //nolint:exhaustive // the others have nothing to add
	case causeRecalculating:
		// The caller needs the operations to wait for.
		statuses := map[id.ID]ledger.JournalStatus{}
		for _, v := range against {
			statuses[b.found[v].ListingID] = b.found[v].JournalStatus
		}

		blocking := ledger.Blocking(statuses)

		return condition.With(map[string]any{
			"journalStatus": blocking.Status,
			"journalReason": blocking.Reason,
			"journalAction": blocking.Action,
			"operationIds":  blocking.OperationIDs,
		})
	case causeArchive:
		// The caller needs the payouts to archive.
		var transactions []id.ID
		for _, v := range against {
			transactions = append(transactions, b.failed[v]...)
		}

		return condition.With(map[string]any{"statementIds": against, "transactionIds": transactions})
	case causeNotPublished, causeUnknown, causePaid:
		return condition.With(map[string]any{"statementIds": against})
	default:
		return condition
	}
}
