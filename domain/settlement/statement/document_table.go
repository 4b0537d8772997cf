package statement

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"stayledger/domain/record/paper"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// addEntries adds the entries behind the figures to the document: as the tables of the layout, and as single lines
// where the layout has no table for them.
func addEntries(doc *paper.StatementDoc, s *Detail, unplaced map[id.ID]bool) {
	laidOut := map[string]bool{}

	// First the tables of the layout. An empty table does not count as one.
	for i := range s.Tables {
		if t := &s.Tables[i]; len(t.Rows) > 0 && len(t.Columns) > 0 {
			laidOut[t.Kind] = true
			doc.Tables = append(doc.Tables, renderTable(t, s.Layout))
		}
	}

	// Without a table of revenue, the document has its own table of reservations.
	revenue, expenses := laidOut[string(NetRevenue)], laidOut["other"]
	if !revenue {
		doc.Reservations = reservationTable(s.Reservations)
	}

	// Then every line that no table shows.
	for i := range s.Lines {
		line := &s.Lines[i]

		shown := paper.StatementLine{Date: line.Date.String(), Description: line.Description, Cents: line.Total}
		if shown.Description == "" {
			shown.Description = line.Account.Name
		}

		// Loose lines are on accounts that no column of the layout adds up. Revenue of a reservation is in the
		// table of reservations, if that is there.
		loose := unplaced[line.Account.ID]
		switch line.Section {
		case NetRevenue:
			if revenue && loose || !revenue && line.Reservation == nil {
				doc.Other = append(doc.Other, shown)
			}
		case Expenses:
			if !expenses || loose {
				doc.Expenses = append(doc.Expenses, shown)
			}
		case Payouts:
			doc.Payouts = append(doc.Payouts, shown)
		}
	}
}

// loadUnplaced loads, by statement, the accounts that no column of the layout adds up. It asks only for statements with
// tables that add up to less than the statement. Only drafts and imported statements can have such accounts: others
// could be neither saved nor published with them.
func loadUnplaced(ctx context.Context, tx *db.Tx, all []Detail) (map[id.ID]map[id.ID]bool, error) {
	var short []id.ID

	// First find the statements that can have such accounts, because their issues are costly.
	for i := range all {
		if s := &all[i]; (s.Status == Draft || s.Source.Type == Import) && showsLess(s) {
			short = append(short, s.ID)
		}
	}

	if len(short) == 0 {
		return nil, nil
	}

	// The issue of such a statement names the accounts. Read it as the manager: owners see no issues.
	out := map[id.ID]map[id.ID]bool{}
	err := EachDetail(ctx, tx,
		Filter{StatementIDs: page.Only(short...)},
		false,
		func(whole *Detail) error {
			out[whole.ID] = map[id.ID]bool{}
			for i := range whole.Issues {
				if accounts, ok := whole.Issues[i].Context["accountIds"].([]id.ID); ok &&
					whole.Issues[i].Code == "line_unassignedAccount" {
					for _, a := range accounts {
						out[whole.ID][a] = true
					}
				}
			}

			return nil
		},
	)

	return out, err
}

// showsLess reports whether the tables add up to less than the statement.
func showsLess(s *Detail) bool {
	shown := map[string]money.Cents{}
	for i := range s.Tables {
		shown[s.Tables[i].Kind] += s.Tables[i].Total
	}

	return len(s.Tables) > 0 &&
		(shown[string(NetRevenue)] != s.Financials.NetRevenue || shown["other"] != s.Financials.Expenses)
}

// renderTable returns a section of the layout as a document shows it.
func renderTable(t *Table, design *layout.Design) paper.ReportTable {
	out := paper.ReportTable{Title: t.Name}

	section := findSection(t.ID, design)

	// First the columns and rows, as the layout computed them.
	for i := range t.Columns {
		out.Columns = append(out.Columns, paper.ReportColumn{
			Head: t.Columns[i].Name,
			Kind: columnKind(&t.Columns[i], section),
		})
	}

	for i := range t.Rows {
		out.Rows = append(out.Rows, paper.ReportRow{Cells: renderCells(t.Rows[i].Cells)})
	}

	if section != nil && section.Aggregate {
		return out // its one row is the total
	}

	// Then the total, but only if some column other than the first has one.
	total := paper.ReportRow{Cells: renderCells(t.Totals)}
	if len(total.Cells) > 0 && total.Cells[0] == nil {
		total.Cells[0] = "Total"
	}

	for _, cell := range total.Cells[min(1, len(total.Cells)):] {
		if cell != nil {
			out.Total = &total
		}
	}

	return out
}

// findSection returns the section of a table, or nil if the design does not have it.
func findSection(table id.ID, design *layout.Design) *layout.Section {
	if design == nil {
		return nil
	}

	for _, sections := range [][]layout.Section{design.NetRevenueSections, design.OtherSections} {
		for i := range sections {
			if sections[i].ID == table {
				return &sections[i]
			}
		}
	}

	return nil
}

// columnKind returns how a document writes the values of a column.
func columnKind(head *TableColumn, section *layout.Section) paper.ReportKind {
	switch head.Type {
	case layout.Accounts, layout.SubTotal, layout.FormulaCurrency:
		return paper.ReportAmount
	case layout.FormulaPercentage:
		return paper.ReportPercent
	case layout.Field:
	}

	// A field is a text unless the layout says that it is a date or a number.
	if section == nil {
		return paper.ReportText
	}

	for i := range section.Columns {
		if section.Columns[i].ID != head.ID {
			continue
		}

		switch section.Columns[i].Value.Field { //nolint:exhaustive // the others are texts
		case layout.Date, layout.CheckIn, layout.CheckOut:
			return paper.ReportDate
		case layout.Nights:
			return paper.ReportInteger
		}
	}

	return paper.ReportText
}

// renderCells returns the values of cells as a document takes them. An empty cell is nil.
func renderCells(cells []TableCell) []any {
	out := make([]any, len(cells))
	for i := range cells {
		switch c := &cells[i]; {
		case c.Amount != nil:
			out[i] = *c.Amount
		case c.Percent != nil:
			out[i] = money.Rate(*c.Percent).Percent()
		case c.Text != nil:
			out[i] = *c.Text
		}
	}

	return out
}

// mostAccounts is how many revenue accounts can have a column of their own. If there are more, the last ones share
// a column. The columns of the fees and of the net revenue come in addition.
const mostAccounts = 8

// reservationTable returns a table with a column per revenue account, one for the fees if there are any, and the
// net revenue last.
func reservationTable(stays []Reservation) paper.ReservationTable {
	var t paper.ReservationTable
	if len(stays) == 0 {
		return t
	}

	accounts := len(stays[0].Revenue)

	// All reservations have the same revenue accounts in the same order, so the first one gives the columns.
	own := accounts
	if accounts > mostAccounts {
		own = mostAccounts - 1
	}

	for _, a := range stays[0].Revenue[:own] {
		t.Columns = append(t.Columns, a.Name)
	}

	if own < accounts {
		t.Columns = append(t.Columns, "Other revenue")
	}

	// The column of fees is left out if no reservation has any.
	fees := false
	for i := range stays {
		fees = fees || stays[i].Fees != 0
	}

	if fees {
		t.Columns = append(t.Columns, "Fees")
	}

	// Last, the rows, and the sum of each column.
	t.Columns = append(t.Columns, "Net revenue")
	t.Subtotal = make([]money.Cents, len(t.Columns))

	for i := range stays {
		row := reservationRow(&stays[i], own, fees)
		for n, cents := range row.Amounts {
			t.Subtotal[n] += cents
		}

		t.Rows = append(t.Rows, row)
	}

	return t
}

// reservationRow returns a row with the first own revenue accounts in their own columns.
func reservationRow(s *Reservation, own int, fees bool) paper.ReservationRow {
	row := paper.ReservationRow{CheckIn: s.CheckIn.String(), CheckOut: s.CheckOut.String(), Nights: s.Nights}

	// Texts that are unknown stay empty.
	for _, text := range []struct {
		from *string
		to   *string
	}{{s.GuestName, &row.GuestName}, {s.ConfirmationCode, &row.ConfirmationCode}, {s.BookingPlatform, &row.Channel}} {
		if text.from != nil {
			*text.to = *text.from
		}
	}

	// The other accounts share a column.
	var rest money.Cents

	for i, a := range s.Revenue {
		if i < own {
			row.Amounts = append(row.Amounts, a.Total)
		} else {
			rest += a.Total
		}
	}

	if own < len(s.Revenue) {
		row.Amounts = append(row.Amounts, rest)
	}

	// Fees and net revenue come in the order of the columns.
	if fees {
		row.Amounts = append(row.Amounts, s.Fees)
	}

	row.Amounts = append(row.Amounts, s.Net)

	return row
}

// The limits of a file's name: so much can be read at a glance, and so much is valid in every file system.
const (
	nameRunes = 80
	nameBytes = 160
)

// fileNames are the names in an archive so far. They give every file a name of its own.
type fileNames map[string]bool

// unique returns a name such as "Lighthouse Cottage 2026-05 abcd2345.pdf". Names sort by listing and month, are unique,
// and have no character that some file system refuses. They also differ on systems that ignore the difference
// between capital and small letters, or between a letter with an accent and its two separate characters.
func (n fileNames) unique(doc *paper.StatementDoc) string {
	// First keep only letters, digits and harmless signs, in the composed form.
	listing := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || strings.ContainsRune(" -_", r) {
			return r
		}

		return '_'
	}, norm.NFC.String(doc.Listing.Name))

	// Then cut it at a whole character, which leaves room for the month and the reference.
	count := 0
	for i, r := range listing {
		if count++; count > nameRunes || i+utf8.RuneLen(r) > nameBytes {
			listing = listing[:i]
			break
		}
	}

	// Last, make it unique. Compare small letters, since some systems do not distinguish capitals.
	name := strings.TrimSpace(
		strings.TrimSpace(listing) + " " + doc.Statement.PeriodStart[:len("2026-05")] + " " + doc.Statement.ID,
	)
	for unique := name; ; unique += "_" {
		if key := strings.ToLower(unique); !n[key] {
			n[key] = true
			return unique + ".pdf"
		}
	}
}
