package historic

import (
	"net/http"

	"stayledger/domain/books/account"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Import is an owner statement of an earlier system. It comes in whole: its balances are taken as given, and its
// lines become entries of the historical ledger, which belongs to no books and to no live statement.
type Import struct {
	UniqueRef        string       `json:"uniqueRef" minLength:"1" maxLength:"180" doc:"Names the statement; sent again, it replaces the import."`
	ListingID        id.ID        `json:"listingId"`
	StartAt          day.Day      `json:"startAt" doc:"First day; need not be that of a month."`
	EndAt            day.Day      `json:"endAt" doc:"Last day, inclusive. One ownership period covers all days."`
	Currency         string       `json:"currency" pattern:"^[a-z]{3}$" doc:"ISO 4217 in lower case."`
	Status           Status       `json:"status"`
	CentBalanceStart money.Cents  `json:"centBalanceStart" minimum:"-9007199254740991" maximum:"9007199254740991"`
	CentBalanceEnd   *money.Cents `json:"centBalanceEnd,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Kept even when the lines add up to another balance; derived when absent."`
	Lines            []Line       `json:"lines" maxItems:"20000"`
}

// Status is the state in which a statement is imported.
type Status string

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(statement.InReview), string(statement.Published)}
}

// Line is an amount of an imported statement.
type Line struct {
	UniqueRef     string      `json:"uniqueRef" minLength:"1" maxLength:"180" doc:"Unique in the statement."`
	Type          LineType    `json:"type"`
	AccountID     *id.ID      `json:"accountId,omitempty" doc:"Required on a line, refused on a payout."`
	CentTotal     money.Cents `json:"centTotal" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Owner-facing: revenue positive, expenses negative; money paid out to the owners is positive."`
	Description   string      `json:"description,omitempty" maxLength:"1000"`
	Date          *day.Day    `json:"date,omitempty" doc:"The statement's last day when absent."`
	ReservationID *id.ID      `json:"reservationId,omitempty"`
	ContactID     *id.ID      `json:"contactId,omitempty" doc:"Who was paid; only on a payout. Without it the payout is split among the members of the ownership period."`
}

// LineType distinguishes lines from payouts.
type LineType string

// The types of lines.
const (
	plain  LineType = "line"
	payout LineType = "payout"
)

// Enum lists the types.
func (LineType) Enum() []string {
	return []string{string(plain), string(payout)}
}

// Statement is the result of importing a statement.
type Statement struct {
	ID                id.ID      `json:"id"`
	UniqueRef         string     `json:"uniqueRef"`
	Status            Status     `json:"status"`
	Replaced          bool       `json:"replaced" doc:"An earlier import of the same reference was replaced."`
	JournalEntryCount int        `json:"journalEntryCount" doc:"Entries that the statement has now."`
	ListingID         id.ID      `json:"listingId"`
	OwnershipPeriodID id.ID      `json:"listingOwnershipPeriodId"`
	StartAt           day.Day    `json:"startAt"`
	EndAt             day.Day    `json:"endAt"`
	Currency          string     `json:"currency"`
	Financials        Financials `json:"financials"`
}

// HTTPStatus returns 201 for a new statement and 200 for one that was replaced.
func (s *Statement) HTTPStatus() int {
	if s.Replaced {
		return http.StatusOK
	}

	return http.StatusCreated
}

// Financials are the figures of an imported statement in owner-facing cents. Rules HST-21 to HST-26.
type Financials struct {
	CentBalanceStart money.Cents `json:"centBalanceStart"`
	CentBalanceEnd   money.Cents `json:"centBalanceEnd"`
	CentTotal        money.Cents `json:"centTotal" doc:"Net revenue and expenses."`
	CentExpenses     money.Cents `json:"centExpenses"`
	CentNetRevenue   money.Cents `json:"centNetRevenue"`
	CentTransfer     money.Cents `json:"centTransfer" doc:"Minus the payouts."`
}

// complete returns the figures with those filled in that follow from the others. An explicit closing balance is
// kept.
func (f Financials) complete(end *money.Cents) Financials {
	f.CentTotal = f.CentNetRevenue + f.CentExpenses

	f.CentBalanceEnd = f.CentBalanceStart + f.CentTotal + f.CentTransfer
	if end != nil {
		f.CentBalanceEnd = *end
	}

	return f
}

// triggerFor returns the trigger that puts a line under the revenue or the expenses. The class of its account
// decides, so that a refund is a smaller cost and not revenue. On an account that is neither, the sign decides.
func triggerFor(class account.Classification, cents money.Cents) string {
	switch class {
	case account.Revenue:
		return statement.TriggerHistoricRevenue
	case account.Expense:
		return statement.TriggerHistoricExpense
	case account.Asset, account.Liability:
	}

	if cents < 0 {
		return statement.TriggerHistoricExpense
	}

	return statement.TriggerHistoricRevenue
}

// maxFindings is the greatest number of findings in an answer.
const maxFindings = 100

// findings are the issues of a request, up to a limit.
type findings []apierr.Issue

// add adds an issue unless the limit is reached.
func (f *findings) add(code apierr.IssueCode, path ...any) {
	if len(*f) < maxFindings {
		*f = append(*f, code.InBody(path...))
	}
}

// err returns the issues as an error, nil if there are none.
func (f findings) err() error {
	if len(f) == 0 {
		return nil
	}

	return apierr.BadRequest.At(f...)
}

// Resolve returns the issues of a statement that can be found without the database.
func (h *Import) Resolve() []apierr.Issue {
	var f findings
	h.check(&f, nil)

	return f
}

// check adds the issues of the statement to f, with paths under path.
func (h *Import) check(f *findings, path []any) {
	if h.EndAt.Before(h.StartAt) {
		f.add(apierr.IssueDateOrder, path, "endAt")
	}

	if _, err := money.ParseCurrency(h.Currency); err != nil {
		f.add(apierr.IssueCurrency, path, "currency")
	}

	// References identify the lines in the journal, so they must be unique within the statement.
	refs := make(map[string]bool, len(h.Lines))

	var reach money.Reach
	reach.Add(h.CentBalanceStart)

	for i := range h.Lines {
		l := &h.Lines[i]
		if refs[l.UniqueRef] {
			f.add(apierr.IssueDuplicateLineRef, path, "lines", i, "uniqueRef")
		}

		refs[l.UniqueRef] = true
		l.check(f, path, i)

		// The sum must stay within the range of amounts, whatever the order of the lines. One issue is enough.
		if !reach.Add(l.CentTotal) {
			f.add(apierr.IssueRange, path, "lines")
			return
		}
	}
}

// check adds the issues of line i to f.
func (l *Line) check(f *findings, path []any, i int) {
	payout := l.Type == payout

	// The account of payouts is that of the team's distributions.
	switch {
	case !payout && l.AccountID == nil:
		f.add(apierr.IssueRequired, path, "lines", i, "accountId")
	case payout && l.AccountID != nil:
		f.add(apierr.IssueAccountNotSupported, path, "lines", i, "accountId")
	}

	if !payout && l.ContactID != nil {
		f.add(apierr.IssueContactNotSupported, path, "lines", i, "contactId")
	}

	if l.CentTotal == 0 {
		f.add(apierr.IssueZeroAmount, path, "lines", i, "centTotal")
	}
}

// hasPayouts reports whether one of the lines is a payout.
func (h *Import) hasPayouts() bool {
	for i := range h.Lines {
		if h.Lines[i].Type == payout {
			return true
		}
	}

	return false
}

// Batch is a bulk import.
type Batch struct {
	Statements []Import `json:"statements" minItems:"1" maxItems:"5000" doc:"Imported together or not at all."`
}

// Resolve returns the issues of the statements that can be found without the database.
func (b *Batch) Resolve() []apierr.Issue {
	var f findings

	named := make(map[string]bool, len(b.Statements))
	for i := range b.Statements {
		// A reference that occurs twice would replace a statement of the same import.
		path := []any{"statements", i}
		if named[b.Statements[i].UniqueRef] {
			f.add(apierr.IssueDuplicateUniqueRef, path, "uniqueRef")
		}

		named[b.Statements[i].UniqueRef] = true
		b.Statements[i].check(&f, path)
	}

	return f
}
