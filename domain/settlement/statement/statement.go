// Package statement owns owner statements: what the owners of a listing earned, spent and were paid in a month.
//
// There is one statement per ownership period, month and currency. A draft has no row: it is computed from the journal
// and changes with it. Saving it (inReview, published) stores its figures and attaches the owners' entries of the
// month, which locks them; returning it to draft removes the row and sets the entries free. Statements chain: the
// balance that one ends with is the one that the next starts with, so a statement is saved, reopened or published only
// while every later one of its ownership period is a draft.
//
// Amounts are owner-facing: revenue is positive, expenses and payouts are negative; a journal entry has the opposite
// sign.
//
// Every change of statements, of one or of ten thousand, passes the same rules as one set, with an answer for each
// statement, before it is applied.
//
// Package chain divides balances among owners, and says what was paid and is still to be paid on statements.
//
// The page docs/decisions/statement.md says what the contract leaves open and how it is answered here.
package statement

import (
	"time"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status is the state of a statement. Rule STM-01.
type Status string

// The states.
const (
	Draft     Status = "draft"
	InReview  Status = "inReview"
	Published Status = "published"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Draft), string(InReview), string(Published)}
}

// Title returns the status as a document shows it.
func (s Status) Title() string {
	switch s {
	case Draft:
		return "Draft"
	case InReview:
		return "In review"
	case Published:
		return "Published"
	}

	return string(s)
}

// Statement is an owner statement as its readers see it.
type Statement struct {
	ID            id.ID                `json:"id" doc:"The same for a draft and for what it is saved as."`
	ShortRef      string               `json:"shortRef"`
	UniqueRef     *string              `json:"uniqueRef"`
	Currency      string               `json:"currency"`
	StartAt       day.Day              `json:"startAt" doc:"First day of the month; of an imported statement, of its range."`
	EndAt         day.Day              `json:"endAt" doc:"Last day, inclusive."`
	Status        Status               `json:"status"`
	Source        Source               `json:"source"`
	Version       int64                `json:"version" doc:"How often it was published; 0 for one that never was."`
	PublishedAt   *day.Instant         `json:"publishedAt" doc:"Null unless it is published."`
	Listing       Listing              `json:"listing"`
	Ownership     Ownership            `json:"ownership"`
	Total         money.Cents          `json:"total" doc:"Cents; the net income."`
	Financials    Funds                `json:"financials"`
	Shares        []Share              `json:"shares" doc:"How the available balance divides among the members, in their order: what each has earned so far by split, less what each was paid."`
	Summary       []SummaryLine        `json:"summary"`
	Payment       Payment              `json:"payment"`
	Payouts       []Payout             `json:"payouts" doc:"The payouts that pay this statement, oldest first."`
	JournalStatus ledger.JournalStatus `json:"journalStatus" doc:"Of the journals on the listing; owners do not see the operations."`
	Issues        []finding.Finding    `json:"issues"`
	Drilldown     *Drilldown           `json:"drilldown" doc:"The journal entries behind the statement; null in the owner's view."`
	Drilldowns    *Drilldowns          `json:"drilldowns" doc:"The journal entries behind single figures; null in the owner's view."`

	// Words are those of a published statement, without accounts and stays; nil for any other.
	Words *Words `json:"-"`

	Operations *operation.Summary `json:"operations,omitempty" doc:"Only in lists with include=operations."`

	// Parts are the members' parts of the financials, in the order of the shares, for reports. Earned is the common
	// amount of the members when the statement starts: the balance without opening balances and payouts by name.
	Parts  []Financials `json:"-"`
	Earned money.Cents  `json:"-"`
}

// Source says where a statement comes from.
type Source struct {
	Type SourceType `json:"type"`
}

// SourceType distinguishes statements that were computed from the books from those that were imported whole.
type SourceType string

// The sources.
const (
	Computed SourceType = "computed"
	Import   SourceType = "import"
)

// Enum lists the sources.
func (SourceType) Enum() []string { return []string{string(Computed), string(Import)} }

// Listing is the property of a statement.
type Listing struct {
	ID        id.ID   `json:"id"`
	Name      string  `json:"name"`
	UniqueRef *string `json:"uniqueRef"`
}

// Ownership is the ownership period of a statement.
type Ownership struct {
	ID      id.ID       `json:"id"`
	StartAt *day.Day    `json:"startAt"`
	EndAt   *day.Day    `json:"endAt" doc:"Exclusive."`
	Reserve money.Cents `json:"reserve" doc:"Cents that the statement holds back; those of the period when it was saved."`
	Members []Member    `json:"members"`
}

// Member is an owner's part in the ownership.
type Member struct {
	ID        id.ID `json:"id" doc:"The same as ownerId: a contact is a member once."`
	OwnerID   id.ID `json:"ownerId"`
	ContactID id.ID `json:"contactId" doc:"The same as ownerId."`
	Split     int64 `json:"split" doc:"Parts per 100000."`
}

// Share is one member's part of the available balance. The shares add up to it, and each of their figures to that
// of the payment.
type Share struct {
	ContactID      id.ID       `json:"contactId"`
	Name           string      `json:"name"`
	Split          int64       `json:"split" doc:"Parts per 100000."`
	Amount         money.Cents `json:"amount" doc:"Cents of the available balance: what the member has earned so far by split, less what the member was paid."`
	Received       money.Cents `json:"received" doc:"What payouts after the end of the statement have brought the member of the amount, without what did not arrive or is not known to."`
	Offset         money.Cents `json:"offset" doc:"What later statements have set off against the amount."`
	BroughtForward money.Cents `json:"broughtForward" doc:"What of the amount is still open on earlier statements, and is shown there."`
	Open           money.Cents `json:"open" doc:"Amount less received, offset and brought forward; negative when too much was paid. With payouts in the amount that did not arrive."`
}

// SummaryLine is one line of the summary; its values add up from line to line.
type SummaryLine struct {
	Name      string      `json:"name"`
	Text      string      `json:"text"`
	Value     money.Cents `json:"value"`
	Separated bool        `json:"separated" doc:"A result: set apart from the lines before it."`
}

// PaymentStatus compares what was paid with what is due.
type PaymentStatus string

// The payment states.
const (
	Unpaid    PaymentStatus = "unpaid"
	Underpaid PaymentStatus = "underpaid"
	Overpaid  PaymentStatus = "overpaid"
	Paid      PaymentStatus = "paid"
)

// Enum lists the payment states.
func (PaymentStatus) Enum() []string {
	return []string{string(Unpaid), string(Underpaid), string(Overpaid), string(Paid)}
}

// Payment compares the amounts that the owners are due with the payouts to them. Payouts settle the oldest open
// balance first, whatever statement they name. The open amounts of all statements of an ownership period and
// currency add up to the amount that is open in all.
type Payment struct {
	Expected       money.Cents   `json:"expected" doc:"The available balance; negative when the owners owe it. With payouts in it that did not arrive."`
	Received       money.Cents   `json:"received" doc:"What payouts after the end of the statement have brought of it, the oldest balance first. Without those that a provider refused, gave back or does not answer for: they are issues."`
	Offset         money.Cents   `json:"offset" doc:"What later published statements have set off against it: a loss, or income against what was owed."`
	BroughtForward money.Cents   `json:"broughtForward" doc:"What of it is still open on earlier statements, and is shown there."`
	Open           money.Cents   `json:"open" doc:"The unpaid part of the amount that this statement added: expected less received, offset and brought forward. Over the statements of an ownership period and currency it adds up to all that is open."`
	Status         PaymentStatus `json:"status" doc:"Of the expected amount: paid when nothing of it is open any more, here or on earlier statements."`
}

// Payout is a payout transaction that pays the statement.
type Payout struct {
	ID             id.ID       `json:"id" doc:"The transaction."`
	ContactID      *id.ID      `json:"contactId" doc:"The member that it pays."`
	Date           day.Day     `json:"date"`
	Total          money.Cents `json:"total" doc:"Owner-facing: negative, since it lowers the balance."`
	TotalFormatted string      `json:"totalFormatted"`
	Received       money.Cents `json:"received" doc:"What of it is with the member or on its way there, positive: nothing while its payment waits for a second person, and when the provider refused it, gave it back or does not answer for it."`
}

// Drilldown is a report filter that selects exactly the entries behind a figure.
type Drilldown struct {
	Type   string          `json:"type" enum:"journalEntryReport"`
	Filter DrilldownFilter `json:"filter"`
}

// DrilldownFilter selects journal entries.
type DrilldownFilter struct {
	OwnershipPeriodIDs      []id.ID `json:"ownershipPeriodIds"`
	Party                   string  `json:"party" enum:"owners"`
	Currency                string  `json:"currency"`
	DateRange               string  `json:"dateRange"`
	IsDateRangeEndInclusive bool    `json:"isDateRangeEndInclusive"`
	// AccountIDs and NotAccountIDs restrict the accounts; the expenses are those of expense transactions, the net
	// revenue is the rest.
	AccountIDs []id.ID `json:"accountIds,omitempty"`
	// IDs, ReservationIDs and TransactionIDs select the entries of a row.
	IDs            []id.ID `json:"ids,omitempty"`
	ReservationIDs []id.ID `json:"reservationIds,omitempty"`
	TransactionIDs []id.ID `json:"transactionIds,omitempty"`
	// StatementIDs, Ledger, Status and TriggerTypes select those of an imported statement, which are in no live book.
	StatementIDs        []id.ID  `json:"statementIds,omitempty"`
	Ledger              string   `json:"ledger,omitempty"`
	Status              string   `json:"status,omitempty"`
	TriggerTypes        []string `json:"triggerTypes,omitempty"`
	NotAccountIDs       []id.ID  `json:"notAccountIds,omitempty"`
	TransactionTypes    []string `json:"transactionTypes,omitempty"`
	NotTransactionTypes []string `json:"notTransactionTypes,omitempty"`
}

// Drilldowns are the filters behind the figures of the month.
type Drilldowns struct {
	NetRevenue Drilldown  `json:"netRevenue"`
	Expenses   Drilldown  `json:"expenses"`
	Payouts    *Drilldown `json:"payouts" doc:"Null while no account is assigned to distributions."`
}

// key names a statement, saved or not. StartAt is the first day of the month.
type key struct {
	OwnershipPeriodID id.ID
	Currency          string
	StartAt           day.Day
}

// ID returns the identifier that the statement has as a draft and keeps when it is saved.
func (k key) ID() id.ID {
	return id.Derive(k.StartAt.In(time.UTC), "statement", k.OwnershipPeriodID.String(), k.Currency)
}

// monthFromID returns the first day of the month that the id of a statement was derived for. It returns the zero Day if
// the id cannot be one of a draft.
func monthFromID(statement id.ID) day.Day {
	first := day.Of(statement.Time())
	if !first.Valid() || first != first.FirstOfMonth() || !first.In(time.UTC).Equal(statement.Time()) {
		return day.Day{}
	}

	return first
}

// The errors with which changes of statements are refused.
var (
	ErrExists = apierr.New(
		apierr.CodeConflict,
		apierr.ReasonStatementExists,
		"An owner statement already exists for the period",
	)
	ErrFuture = apierr.New(apierr.CodeConflict, apierr.ReasonStatementFutureExists, "A later owner statement exists")
	errOpen   = apierr.New(
		apierr.CodeConflict,
		apierr.ReasonPreviousStatementsOpen,
		"Earlier statements must be published first",
	)
	ErrPaid      = apierr.New(apierr.CodeConflict, apierr.ReasonStatementHasPayouts, "The statement has linked payouts")
	ErrImporting = apierr.New(
		apierr.CodeConflict,
		apierr.ReasonHistoricalImportPending,
		"The import of historic statements has not finished",
	)
	errIssues = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonStatementHasBlockingIssues,
		"The statement has blocking issues",
	)
	errLocked = apierr.New(apierr.CodeForbidden, apierr.ReasonStatementPublished, "The statement is published")
	errBefore = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonBeforeStatementStartDate,
		"The month is before the statement start date",
	)
)
