package paper

import "time"

// ReportDoc is a document of tables: a manager statement, a trust reconciliation, a summary over owners. Dates are
// YYYY-MM-DD and shown as the locale writes them; amounts are cents of Currency. Empty parts are left out.
type ReportDoc struct {
	Title    string // such as "Trust reconciliation"; also the document's title for readers
	Subtitle string // such as a period or a day, ready to show
	// Locale is a language tag. Amounts, dates and the paper size follow it, and so does the document's language if
	// Labels are given.
	Locale   string
	Currency string    // ISO 4217
	Created  time.Time // the document's creation date; given, so that equal input gives equal bytes

	Team    StatementTeam
	Facts   []Fact        // the subject of the document, next to the summary
	Summary []SummaryLine // key figures; an emphasised last line is the figure the document is about
	Tables  []ReportTable
	Notes   []string // warnings and remarks, a paragraph each
	Labels  StatementLabels
}

// Fact is one line about the subject of a document, such as "As of" and a date. A Value that is a date is shown as
// one.
type Fact struct{ Label, Value string }

// ReportTable is a table with a head that is repeated on every page. The first column of texts, or else the first
// column, takes the room that the others leave. A total without rows is shown; a table with neither is left out.
type ReportTable struct {
	Title   string
	Columns []ReportColumn
	Rows    []ReportRow
	Total   *ReportRow
}

// ReportColumn is a column; amounts, integers and percentages are set flush right.
type ReportColumn struct {
	Head string
	Kind ReportKind
}

// TextColumn returns a column of texts.
func TextColumn(head string) ReportColumn { return ReportColumn{Head: head, Kind: ReportText} }

// DateColumn returns a column of dates.
func DateColumn(head string) ReportColumn { return ReportColumn{Head: head, Kind: ReportDate} }

// AmountColumns returns a column of amounts for each head.
func AmountColumns(heads ...string) []ReportColumn {
	columns := make([]ReportColumn, len(heads))
	for i, head := range heads {
		columns[i] = ReportColumn{Head: head, Kind: ReportAmount}
	}

	return columns
}

// ReportKind says what the cells of a column hold.
type ReportKind string

// The kinds of columns of a report.
const (
	ReportText    ReportKind = "text"    // string
	ReportDate    ReportKind = "date"    // string YYYY-MM-DD
	ReportAmount  ReportKind = "amount"  // money.Cents
	ReportInteger ReportKind = "integer" // int
	ReportPercent ReportKind = "percent" // string such as 12.5%, shown with the decimal sign of the locale
)

// ReportRow is one row. Cells are in the order of the columns: string, int, money.Cents, or nil for an empty one; a nil
// pointer counts as nil. Missing cells at the end are empty.
type ReportRow struct {
	Style RowStyle
	Level int // of indentation, from 0 to 3
	Cells []any
	Below string // a muted second line under the first cell
}

// RowStyle says how a row stands out.
type RowStyle string

// The styles of rows.
const (
	PlainRow    RowStyle = ""
	GroupRow    RowStyle = "group"    // a heading within the table; it stays with the row after it
	SubtotalRow RowStyle = "subtotal" // sums up the rows above it
	WarningRow  RowStyle = "warning"  // wants to be looked at
)
