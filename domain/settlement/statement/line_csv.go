package statement

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// lineRows is the selector of the CSV: the filters of GET /statements, and the columns of a line.
type lineRows struct {
	Filter
	Columns []lineColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// lineColumn is a column of the CSV of lines.
type lineColumn string

// Enum returns the names of the columns in their own order.
func (lineColumn) Enum() []string { return export.ColumnNames(lineColumns) }

// statementLine is a line and its statement.
type statementLine struct {
	*WithLines
	*Line
}

// stay returns the reservation of a line, or an empty one if it has none.
func (l *statementLine) stay() Stay {
	if l.Reservation == nil {
		return Stay{}
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
var lineColumns = []export.GoColumn[statementLine]{
	export.FromRow("statementId", csv.ID, func(l *statementLine) any { return l.ID }),
	export.FromRow("shortRef", csv.ID, func(l *statementLine) any { return l.ShortRef }),
	export.FromRow("uniqueRef", csv.ID, func(l *statementLine) any { return l.UniqueRef }),
	export.FromRow("startAt", csv.Date, func(l *statementLine) any { return l.StartAt }),
	export.FromRow("endAt", csv.Date, func(l *statementLine) any { return l.EndAt }),
	export.FromRow("status", csv.Text, func(l *statementLine) any { return l.Status }),
	export.FromRow("source", csv.Text, func(l *statementLine) any { return l.Source.Type }),
	export.FromRow("listingId", csv.ID, func(l *statementLine) any { return l.Listing.ID }),
	export.FromRow("listing", csv.Text, func(l *statementLine) any { return l.Listing.Name }),
	export.FromRow("ownershipPeriodId", csv.ID, func(l *statementLine) any { return l.Ownership.ID }),
	export.FromRow("owners", csv.Text, func(l *statementLine) any { return ownerNames(shareOwners(l.Shares)) }),
	export.FromRow("section", csv.Text, func(l *statementLine) any { return l.Section }),
	export.FromRow("date", csv.Date, func(l *statementLine) any { return l.Date }),
	export.FromRow("description", csv.Text, func(l *statementLine) any { return l.Description }),
	export.FromRow("accountId", csv.ID, func(l *statementLine) any { return l.Account.ID }),
	export.FromRow("accountCode", csv.ID, func(l *statementLine) any { return l.AccountCode }),
	export.FromRow("account", csv.Text, func(l *statementLine) any { return l.Account.Name }),
	export.FromRow("reservationId", csv.ID, ifStay(func(l *statementLine) any { return l.stay().ID })),
	export.FromRow("confirmationCode", csv.ID, ifStay(func(l *statementLine) any {
		return l.stay().ConfirmationCode
	})),
	export.FromRow("guestName", csv.Text, ifStay(func(l *statementLine) any { return l.stay().GuestName })),
	export.FromRow("bookingPlatform", csv.Text, func(l *statementLine) any { return l.BookingPlatform }),
	export.FromRow("checkIn", csv.Date, ifStay(func(l *statementLine) any { return l.stay().CheckIn })),
	export.FromRow("checkOut", csv.Date, ifStay(func(l *statementLine) any { return l.stay().CheckOut })),
	export.FromRow("transactionId", csv.ID, func(l *statementLine) any { return l.TransactionID }),
	export.FromRow("amount", csv.Amount, func(l *statementLine) any { return l.Total }),
	export.FromRow("currency", csv.Currency, func(l *statementLine) any { return l.Currency }),
}

// statementLinesCSV declares EXP-P09, the export of the lines of owner statements.
func statementLinesCSV() export.Declaration[lineRows] {
	return export.Declaration[lineRows]{
		Path:    "/statements/detail/csv",
		ID:      "StatementLinesCSV",
		Tag:     "Statements",
		Summary: "Export the lines of owner statements as CSV",
		Doc: "One row per line of the selected statements. The rows of a section add up to its figure: netRevenue, " +
			"expenses or payouts. What the layout hides from owners is there as well." + statementRefusals,
		Format: export.CSV,
		Scopes: []string{"statements:export"},
		Name:   "statement-lines",
		Errors: apierr.List{errWithoutOwners},
		Check:  func(ctx context.Context, tx *db.Tx, s *lineRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *lineRows) (export.Size, error) {
			n, err := CountLines(ctx, tx, s.Filter)
			return export.Size{Rows: n}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *lineRows, out *export.Sink) error {
			return export.WriteTable(out, export.SelectColumns(lineColumns, s.Columns), yieldFrom(func(f func(*statementLine) error) error {
				// Each statement comes with its lines: write one row per line.
				return EachWithLines(ctx, tx, s.Filter, func(d *WithLines) error {
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
