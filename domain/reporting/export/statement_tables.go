package export

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"stayledger/domain/reporting/document"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// showEntries tells what the figures add up from: by the tables of the layout, and by the entries where it has no table
// for them.
func showEntries(doc *document.StatementDoc, s *statement.Detail, unplaced map[id.ID]bool) {
	laidOut := map[string]bool{}

	for i := range s.Tables {
		if t := &s.Tables[i]; len(t.Rows) > 0 && len(t.Columns) > 0 {
			laidOut[t.Kind] = true
			doc.Tables = append(doc.Tables, tableOf(t, s.Layout))
		}
	}

	revenue, expenses := laidOut[string(statement.NetRevenue)], laidOut["other"]
	if !revenue {
		doc.Reservations = reservationTable(s.Reservations)
	}

	for i := range s.Lines {
		line := &s.Lines[i]

		shown := document.StatementLine{Date: line.Date.String(), Description: line.Description, Cents: line.Total}
		if shown.Description == "" {
			shown.Description = line.Account.Name
		}

		loose := unplaced[line.Account.ID]
		switch line.Section {
		case statement.NetRevenue:
			if revenue && loose || !revenue && line.Reservation == nil {
				doc.Other = append(doc.Other, shown)
			}
		case statement.Expenses:
			if !expenses || loose {
				doc.Expenses = append(doc.Expenses, shown)
			}
		case statement.Payouts:
			doc.Payouts = append(doc.Payouts, shown)
		}
	}
}

// unplaced are, by statement, the accounts whose entries no column of the layout adds up. It asks only where the tables
// show less than the statement adds up to and the statement may be so: one with such accounts is neither saved nor
// published.
func unplaced(ctx context.Context, tx *db.Tx, all []statement.Detail) (map[id.ID]map[id.ID]bool, error) {
	var short []id.ID

	for i := range all {
		if s := &all[i]; (s.Status == statement.Draft || s.Source.Type == statement.Import) && showsLess(s) {
			short = append(short, s.ID)
		}
	}

	if len(short) == 0 {
		return nil, nil
	}

	out := map[id.ID]map[id.ID]bool{}
	err := statement.EachDetail(ctx, tx, statement.Filter{StatementIDs: page.Only(short...)}, false, func(whole *statement.Detail) error {
		out[whole.ID] = map[id.ID]bool{}
		for i := range whole.Issues {
			if accounts, ok := whole.Issues[i].Context["accountIds"].([]id.ID); ok && whole.Issues[i].Code == "line_unassignedAccount" {
				for _, a := range accounts {
					out[whole.ID][a] = true
				}
			}
		}

		return nil
	})

	return out, err
}

// showsLess reports that the tables add up to less than the statement.
func showsLess(s *statement.Detail) bool {
	shown := map[string]money.Cents{}
	for i := range s.Tables {
		shown[s.Tables[i].Kind] += s.Tables[i].Total
	}

	return len(s.Tables) > 0 && (shown[string(statement.NetRevenue)] != s.Financials.NetRevenue || shown["other"] != s.Financials.Expenses)
}

// tableOf is a section of the layout as a document shows it.
func tableOf(t *statement.Table, design *layout.Design) document.ReportTable {
	out := document.ReportTable{Title: t.Name}

	section := sectionOf(t.ID, design)
	for i := range t.Columns {
		out.Columns = append(out.Columns, document.ReportColumn{Head: t.Columns[i].Name, Kind: kindOf(&t.Columns[i], section)})
	}

	for i := range t.Rows {
		out.Rows = append(out.Rows, document.ReportRow{Cells: cellsOf(t.Rows[i].Cells)})
	}

	if section != nil && section.Aggregate {
		return out // its one row is the total
	}

	total := document.ReportRow{Cells: cellsOf(t.Totals)}
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

// sectionOf finds the section of a table; nil when the design does not tell.
func sectionOf(table id.ID, design *layout.Design) *layout.Section {
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

func kindOf(head *statement.TableColumn, section *layout.Section) document.ReportKind {
	switch head.Type {
	case layout.Accounts, layout.SubTotal, layout.FormulaCurrency:
		return document.ReportAmount
	case layout.FormulaPercentage:
		return document.ReportPercent
	case layout.Field:
	}

	if section == nil {
		return document.ReportText
	}

	for i := range section.Columns {
		if section.Columns[i].ID != head.ID {
			continue
		}

		switch section.Columns[i].Value.Field { //nolint:exhaustive // the others are texts
		case layout.Date, layout.CheckIn, layout.CheckOut:
			return document.ReportDate
		case layout.Nights:
			return document.ReportInteger
		}
	}

	return document.ReportText
}

func cellsOf(cells []statement.TableCell) []any {
	out := make([]any, len(cells))
	for i := range cells {
		switch c := &cells[i]; {
		case c.Amount != nil:
			out[i] = *c.Amount
		case c.Percent != nil:
			out[i] = percent(*c.Percent)
		case c.Text != nil:
			out[i] = *c.Text
		}
	}

	return out
}

// mostAccounts is how many revenue accounts have a column of their own; what is left becomes one column, beside those
// of the fees and of the net revenue.
const mostAccounts = 8

// reservationTable has a column per revenue account, one for the fees when there are any, and the net revenue last.
func reservationTable(stays []statement.Reservation) document.ReservationTable {
	var t document.ReservationTable
	if len(stays) == 0 {
		return t
	}

	accounts := len(stays[0].Revenue)

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

	fees := false
	for i := range stays {
		fees = fees || stays[i].Fees != 0
	}

	if fees {
		t.Columns = append(t.Columns, "Fees")
	}

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

func reservationRow(s *statement.Reservation, own int, fees bool) document.ReservationRow {
	row := document.ReservationRow{CheckIn: s.CheckIn.String(), CheckOut: s.CheckOut.String(), Nights: s.Nights}
	for _, text := range []struct {
		from *string
		to   *string
	}{{s.GuestName, &row.GuestName}, {s.ConfirmationCode, &row.ConfirmationCode}, {s.BookingPlatform, &row.Channel}} {
		if text.from != nil {
			*text.to = *text.from
		}
	}

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

	if fees {
		row.Amounts = append(row.Amounts, s.Fees)
	}

	row.Amounts = append(row.Amounts, s.Net)

	return row
}

// The bounds of a file's name: what people read at once, and what file systems take.
const (
	nameRunes = 80
	nameBytes = 160
)

// fileNames gives every file of an archive a name of its own.
type fileNames map[string]bool

// of is such as "Lighthouse Cottage 2026-05 abcd2345.pdf": sorted by listing and month, unique, and without a character
// that some file system refuses. Systems that do not tell capitals from small letters, or a letter with its accent from
// the two one after the other, tell the files apart too.
func (n fileNames) of(doc *document.StatementDoc) string {
	listing := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || strings.ContainsRune(" -_", r) {
			return r
		}

		return '_'
	}, norm.NFC.String(doc.Listing.Name))

	count := 0
	for i, r := range listing {
		if count++; count > nameRunes || i+utf8.RuneLen(r) > nameBytes {
			listing = listing[:i]
			break
		}
	}

	name := strings.TrimSpace(strings.TrimSpace(listing) + " " + doc.Statement.PeriodStart[:len("2026-05")] + " " + doc.Statement.ID)
	for unique := name; ; unique += "_" {
		if key := strings.ToLower(unique); !n[key] {
			n[key] = true
			return unique + ".pdf"
		}
	}
}
