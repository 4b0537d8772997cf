package export

import (
	"context"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// lineRows is the selector of the CSV: the filters of GET /statements, and the columns of a line.
type lineRows struct {
	statement.Filter
	Columns []lineColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// lineColumn is a column of the CSV of lines.
type lineColumn string

// Enum returns the names of the columns in their own order.
func (lineColumn) Enum() []string { return columnNames(lineColumns) }

// statementLine is a line and its statement.
type statementLine struct {
	*statement.WithLines
	*statement.Line
}

// stay returns the reservation of a line, or an empty one if it has none.
func (l *statementLine) stay() statement.Stay {
	if l.Reservation == nil {
		return statement.Stay{}
	}

	return *l.Reservation
}

// ifStay returns a value of the reservation that is nil for a line without one, so that its cells are empty.
func ifStay(value func(l *statementLine) any) func(l *statementLine) any {
	return func(l *statementLine) any {
		if l.Reservation == nil {
			return nil
		}

		return value(l)
	}
}

// lineColumns are the columns; amounts have the sign that owners see.
var lineColumns = []goColumn[statementLine]{
	{csv.Column{Name: "statementId", Kind: csv.ID}, func(l *statementLine) any { return l.ID }},
	{csv.Column{Name: "shortRef", Kind: csv.ID}, func(l *statementLine) any { return l.ShortRef }},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, func(l *statementLine) any { return l.UniqueRef }},
	{csv.Column{Name: "startAt", Kind: csv.Date}, func(l *statementLine) any { return l.StartAt }},
	{csv.Column{Name: "endAt", Kind: csv.Date}, func(l *statementLine) any { return l.EndAt }},
	{csv.Column{Name: "status", Kind: csv.Text}, func(l *statementLine) any { return l.Status }},
	{csv.Column{Name: "source", Kind: csv.Text}, func(l *statementLine) any { return l.Source.Type }},
	{csv.Column{Name: "listingId", Kind: csv.ID}, func(l *statementLine) any { return l.Listing.ID }},
	{csv.Column{Name: "listing", Kind: csv.Text}, func(l *statementLine) any { return l.Listing.Name }},
	{csv.Column{Name: "ownershipPeriodId", Kind: csv.ID}, func(l *statementLine) any { return l.Ownership.ID }},
	{csv.Column{Name: "owners", Kind: csv.Text}, func(l *statementLine) any { return ownerNames(shareOwners(l.Shares)) }},
	{csv.Column{Name: "section", Kind: csv.Text}, func(l *statementLine) any { return l.Section }},
	{csv.Column{Name: "date", Kind: csv.Date}, func(l *statementLine) any { return l.Date }},
	{csv.Column{Name: "description", Kind: csv.Text}, func(l *statementLine) any { return l.Description }},
	{csv.Column{Name: "accountId", Kind: csv.ID}, func(l *statementLine) any { return l.Account.ID }},
	{csv.Column{Name: "accountCode", Kind: csv.ID}, func(l *statementLine) any { return l.AccountCode }},
	{csv.Column{Name: "account", Kind: csv.Text}, func(l *statementLine) any { return l.Account.Name }},
	{csv.Column{Name: "reservationId", Kind: csv.ID}, ifStay(func(l *statementLine) any { return l.stay().ID })},
	{csv.Column{Name: "confirmationCode", Kind: csv.ID}, ifStay(func(l *statementLine) any {
		return l.stay().ConfirmationCode
	})},
	{csv.Column{Name: "guestName", Kind: csv.Text}, ifStay(func(l *statementLine) any { return l.stay().GuestName })},
	{csv.Column{Name: "bookingPlatform", Kind: csv.Text}, func(l *statementLine) any { return l.BookingPlatform }},
	{csv.Column{Name: "checkIn", Kind: csv.Date}, ifStay(func(l *statementLine) any { return l.stay().CheckIn })},
	{csv.Column{Name: "checkOut", Kind: csv.Date}, ifStay(func(l *statementLine) any { return l.stay().CheckOut })},
	{csv.Column{Name: "transactionId", Kind: csv.ID}, func(l *statementLine) any { return l.TransactionID }},
	{csv.Column{Name: "amount", Kind: csv.Amount}, func(l *statementLine) any { return l.Total }},
	{csv.Column{Name: "currency", Kind: csv.Currency}, func(l *statementLine) any { return l.Currency }},
}

// statementLinesCSV declares EXP-P09, the export of the lines of owner statements.
func statementLinesCSV() Declaration[lineRows] {
	return Declaration[lineRows]{
		Path:    "/statements/detail/csv",
		ID:      "StatementLinesCSV",
		Tag:     "Statements",
		Summary: "Export the lines of owner statements as CSV",
		Doc: "One row per line of the selected statements. The rows of a section add up to its figure: netRevenue, " +
			"expenses or payouts. What the layout hides from owners is there as well." + statementRefusals,
		Format: CSV,
		Scopes: []string{"statements:export"},
		Name:   "statement-lines",
		Errors: apierr.List{errWithoutOwners},
		Check:  func(ctx context.Context, tx *db.Tx, s *lineRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *lineRows) (Size, error) {
			n, err := statement.CountLines(ctx, tx, s.Filter)
			return Size{Rows: n}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *lineRows, out *Sink) error {
			return writeTable(out, selectColumns(lineColumns, s.Columns), yieldFrom(func(f func(*statementLine) error) error {
				// Each statement comes with its lines: write one row per line.
				return statement.EachWithLines(ctx, tx, s.Filter, func(d *statement.WithLines) error {
					for i := range d.Lines {
						if err := f(&statementLine{d, &d.Lines[i]}); err != nil {
							return err
						}
					}

					return nil
				})
			}))
		},
	}
}
