package export

import (
	"context"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// lineRows are the filters of GET /statements, and the columns of a line.
type lineRows struct {
	statement.Filter
	Columns []lineColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// lineColumn is a column of the CSV of lines.
type lineColumn string

// Enum lists the columns in their own order.
func (lineColumn) Enum() []string { return namesOf(lineColumns) }

// lineOf is a line and its statement.
type lineOf struct {
	*statement.WithLines
	*statement.Line
}

// stay is the reservation of a line; an empty one when it has none.
func (l *lineOf) stay() statement.Stay {
	if l.Reservation == nil {
		return statement.Stay{}
	}
	return *l.Reservation
}

// ofStay keeps what a line without a reservation does not have empty.
func ofStay(value func(l *lineOf) any) func(l *lineOf) any {
	return func(l *lineOf) any {
		if l.Reservation == nil {
			return nil
		}
		return value(l)
	}
}

// lineColumns are the columns; amounts have the sign that owners see.
var lineColumns = []goColumn[lineOf]{
	{render.Column{Name: "statementId", Kind: render.ID}, func(l *lineOf) any { return l.ID }},
	{render.Column{Name: "shortRef", Kind: render.ID}, func(l *lineOf) any { return l.ShortRef }},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, func(l *lineOf) any { return l.UniqueRef }},
	{render.Column{Name: "startAt", Kind: render.Date}, func(l *lineOf) any { return l.StartAt }},
	{render.Column{Name: "endAt", Kind: render.Date}, func(l *lineOf) any { return l.EndAt }},
	{render.Column{Name: "status", Kind: render.Text}, func(l *lineOf) any { return l.Status }},
	{render.Column{Name: "source", Kind: render.Text}, func(l *lineOf) any { return l.Source.Type }},
	{render.Column{Name: "listingId", Kind: render.ID}, func(l *lineOf) any { return l.Listing.ID }},
	{render.Column{Name: "listing", Kind: render.Text}, func(l *lineOf) any { return l.Listing.Name }},
	{render.Column{Name: "ownershipPeriodId", Kind: render.ID}, func(l *lineOf) any { return l.Ownership.ID }},
	{render.Column{Name: "owners", Kind: render.Text}, func(l *lineOf) any { return ownerNames(ownersOfShares(l.Shares)) }},
	{render.Column{Name: "section", Kind: render.Text}, func(l *lineOf) any { return l.Section }},
	{render.Column{Name: "date", Kind: render.Date}, func(l *lineOf) any { return l.Date }},
	{render.Column{Name: "description", Kind: render.Text}, func(l *lineOf) any { return l.Description }},
	{render.Column{Name: "accountId", Kind: render.ID}, func(l *lineOf) any { return l.Account.ID }},
	{render.Column{Name: "accountCode", Kind: render.ID}, func(l *lineOf) any { return l.AccountCode }},
	{render.Column{Name: "account", Kind: render.Text}, func(l *lineOf) any { return l.Account.Name }},
	{render.Column{Name: "reservationId", Kind: render.ID}, ofStay(func(l *lineOf) any { return l.stay().ID })},
	{render.Column{Name: "confirmationCode", Kind: render.ID}, ofStay(func(l *lineOf) any { return l.stay().ConfirmationCode })},
	{render.Column{Name: "guestName", Kind: render.Text}, ofStay(func(l *lineOf) any { return l.stay().GuestName })},
	{render.Column{Name: "bookingPlatform", Kind: render.Text}, func(l *lineOf) any { return l.BookingPlatform }},
	{render.Column{Name: "checkIn", Kind: render.Date}, ofStay(func(l *lineOf) any { return l.stay().CheckIn })},
	{render.Column{Name: "checkOut", Kind: render.Date}, ofStay(func(l *lineOf) any { return l.stay().CheckOut })},
	{render.Column{Name: "transactionId", Kind: render.ID}, func(l *lineOf) any { return l.TransactionID }},
	{render.Column{Name: "amount", Kind: render.Amount}, func(l *lineOf) any { return l.Total }},
	{render.Column{Name: "currency", Kind: render.Currency}, func(l *lineOf) any { return l.Currency }},
}

// statementLinesCSV is EXP-P09.
func statementLinesCSV() Declaration[lineRows] {
	return Declaration[lineRows]{
		Path: "/statements/detail/csv", ID: "StatementLinesCSV", Tag: "Statements", Summary: "Export the lines of owner statements as CSV",
		Doc: "One row per line of the selected statements. The rows of a section add up to its figure: netRevenue, expenses or payouts. What the " +
			"layout hides from owners is there as well." + statementRefusals,
		Format: CSV, Scopes: []string{"statements:export"}, Name: "statement-lines",
		Check: func(ctx context.Context, tx *db.Tx, s *lineRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *lineRows) (Size, error) {
			n, err := statement.CountLines(ctx, tx, s.Filter)
			return Size{Rows: n}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *lineRows, out *Sink) error {
			return writeTable(out, chosen(lineColumns, s.Columns), handed(func(f func(*lineOf) error) error {
				return statement.EachWithLines(ctx, tx, s.Filter, func(d *statement.WithLines) error {
					for i := range d.Lines {
						if err := f(&lineOf{d, &d.Lines[i]}); err != nil {
							return err
						}
					}
					return nil
				})
			}))
		},
	}
}
