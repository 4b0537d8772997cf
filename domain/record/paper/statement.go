package paper

import (
	"time"

	"stayledger/platform/money"
)

// StatementDoc is the content of an owner statement. Dates are YYYY-MM-DD and shown as the locale writes them;
// other text in their place is shown as it is. Amounts are cents of Currency. Empty parts are left out.
type StatementDoc struct {
	Title string // such as "Owner statement"; also the document's title for readers
	// Locale is a language tag. Amounts, dates and the paper size follow it, and so does the document's language if
	// Labels are given.
	Locale   string
	Currency string    // ISO 4217
	Created  time.Time // the document's creation date; given, so that equal input gives equal bytes

	Team      StatementTeam
	Statement StatementRef
	Listing   StatementListing
	Owners    []StatementOwner
	Summary   []SummaryLine
	// Tables are those of the statement's layout. They come first. Their content must not be repeated in the tables
	// after them.
	Tables       []ReportTable
	Reservations ReservationTable
	Other        []StatementLine // revenue that belongs to no reservation
	Expenses     []StatementLine
	Payouts      []StatementLine
	Notes        string
	Labels       StatementLabels
}

// StatementTeam is the sender: the property manager.
type StatementTeam struct {
	Name    string
	Address []string
	Email   string
	Phone   string
	Logo    []byte // PNG or JPEG, optional
	// LogoRight puts the logo at the right, and the details at the left.
	LogoRight bool
}

// StatementRef identifies the statement.
type StatementRef struct {
	ID          string // short reference
	Status      string
	PeriodStart string
	PeriodEnd   string // the last day, inclusive
	Draft       bool   // the document says on every page that it is not final
}

// StatementListing is the property the statement is about.
type StatementListing struct {
	Name    string
	Address string
}

// StatementOwner is a recipient. SplitPercent is such as "12.5%" and shown with the decimal sign of the locale; without
// it no share is shown.
type StatementOwner struct {
	Name         string
	Address      []string
	SplitPercent string
	ShareCents   money.Cents
}

// SummaryLine is one line of the summary. Emphasis marks totals; an emphasised last line is the main figure of the
// statement.
type SummaryLine struct {
	Label    string
	Cents    money.Cents
	Emphasis bool
}

// ReservationTable has one row per reservation and one amount column per heading, at most 16. Up to six look good
// on upright paper, about eleven on landscape.
type ReservationTable struct {
	Columns  []string
	Rows     []ReservationRow
	Subtotal []money.Cents // per column; empty for none
}

// ReservationRow is one reservation; Amounts are in the order of the table's columns.
type ReservationRow struct {
	GuestName        string
	ConfirmationCode string
	CheckIn          string
	CheckOut         string
	Nights           int
	Channel          string
	Amounts          []money.Cents
}

// StatementLine is one expense, one payout, or other revenue.
type StatementLine struct {
	Date        string
	Description string
	Cents       money.Cents
}

// StatementLabels are the fixed words of the page in the reader's language; an empty one is English.
type StatementLabels struct {
	PreparedFor, Period, Statement, Status, Currency string
	Summary, Reservations, Expenses, Payouts, Notes  string
	OtherRevenue                                     string
	Owners, Owner, Share                             string
	Guest, CheckIn, CheckOut, Nights                 string
	Date, Description, Amount, Subtotal, Total       string
	Continued, Draft                                 string
	PageOf                                           string // with {page} and {pages}
}

// labelWord is one label and its English text.
type labelWord struct {
	text    *string
	english string
}

// words returns all labels with their English texts.
func (l *StatementLabels) words() []labelWord {
	return []labelWord{
		{&l.PreparedFor, "Prepared for"},
		{&l.Period, "Period"},
		{&l.Statement, "Statement"},
		{&l.Status, "Status"},
		{&l.Currency, "Currency"},
		{&l.Summary, "Summary"},
		{&l.Reservations, "Reservations"},
		{&l.OtherRevenue, "Other revenue"},
		{&l.Expenses, "Expenses"},
		{&l.Payouts, "Payouts"},
		{&l.Notes, "Notes"},
		{&l.Owners, "Owners"},
		{&l.Owner, "Owner"},
		{&l.Share, "Share"},
		{&l.Guest, "Guest"},
		{&l.CheckIn, "Check-in"},
		{&l.CheckOut, "Check-out"},
		{&l.Nights, "Nights"},
		{&l.Date, "Date"},
		{&l.Description, "Description"},
		{&l.Amount, "Amount"},
		{&l.Subtotal, "Subtotal"},
		{&l.Total, "Total"},
		{&l.Continued, "continued"},
		{&l.Draft, "Draft"},
		{&l.PageOf, "Page {page} of {pages}"},
	}
}

// fillEnglish returns the labels with English for those that are empty.
func (l StatementLabels) fillEnglish() StatementLabels {
	for _, word := range l.words() {
		if *word.text == "" {
			*word.text = word.english
		}
	}

	return l
}
