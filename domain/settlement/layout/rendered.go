package layout

import (
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Entry is one owner-facing amount of a statement: revenue positive, costs and payouts negative.
type Entry struct {
	ID                id.ID
	Section           string // netRevenue, expenses, payouts
	Date              day.Day
	Description       string
	AccountID         id.ID
	AccountName       string
	AccountCode       string
	Classification    string
	TransactionID     *id.ID
	ReservationID     *id.ID
	ReservationStatus *string // booked, canceled, inactive
	GuestName         *string
	Confirmation      *string
	BookingChannel    *string
	CheckIn           *day.Day
	CheckOut          *day.Day
	Total             money.Cents
}

// Cell is the value of a column in a row; one of the fields is set, none when the column has nothing to show.
type Cell struct {
	Text    *string      `json:"text,omitempty"`
	Amount  *money.Cents `json:"amount,omitempty"`
	Percent *int64       `json:"percent,omitempty" doc:"Parts per 100000."`
}

// Row is one stay, transaction or aggregate.
type Row struct {
	ReservationID *id.ID  `json:"reservationId"`
	TransactionID *id.ID  `json:"transactionId"`
	Cells         []Cell  `json:"cells" doc:"In the order of the columns."`
	EntryIDs      []id.ID `json:"-"`
}

// Head is a column as a rendered section shows it.
type Head struct {
	ID   id.ID      `json:"id"`
	Name string     `json:"name"`
	Type ColumnType `json:"type"`
	// AccountIDs are the accounts that the column adds up: its drill-down.
	AccountIDs []id.ID `json:"accountIds" doc:"What the column adds up; empty in the owner's view."`
}

// Table is a rendered section.
type Table struct {
	ID      id.ID       `json:"id"`
	Name    string      `json:"name"`
	Kind    string      `json:"kind" enum:"netRevenue,other"`
	Columns []Head      `json:"columns"`
	Rows    []Row       `json:"rows"`
	Totals  []Cell      `json:"totals" doc:"In the order of the columns; a percentage is that of the sums."`
	Total   money.Cents `json:"total" doc:"What the section adds to the statement, hidden columns included."`
}

// Rendered is a statement laid out for a viewer.
type Rendered struct {
	Tables []Table `json:"tables"`
	// NetRevenue and Expenses add up all sections, hidden ones included. If the layout leaves accounts out, they are
	// less than the statement's figures.
	NetRevenue money.Cents `json:"-"`
	Expenses   money.Cents `json:"-"`
	// Unplaced are the accounts with entries of net revenue or expenses that no column adds up.
	Unplaced []id.ID `json:"-"`
	// Hidden are the entries that columns add up, but none that the viewer sees.
	Hidden []id.ID `json:"-"`
	// EmptyColumns are the accounts columns without an account.
	EmptyColumns []id.ID `json:"-"`
}
