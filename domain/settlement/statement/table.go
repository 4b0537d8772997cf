package statement

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/settlement/layout"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Table is a section of the layout with the statement's amounts. Every amount names the journal entries behind it, for
// the manager.
type Table struct {
	ID        id.ID         `json:"id"`
	Name      string        `json:"name"`
	Kind      string        `json:"kind" enum:"netRevenue,other"`
	Columns   []TableColumn `json:"columns"`
	Rows      []TableRow    `json:"rows"`
	Totals    []TableCell   `json:"totals" doc:"In the order of the columns; a percentage is that of the sums."`
	Total     money.Cents   `json:"total" doc:"What the section adds to the statement, hidden columns included."`
	Drilldown *Drilldown    `json:"drilldown" doc:"Null in the owner's view."`
}

// TableColumn is a column of a table.
type TableColumn struct {
	layout.Head
	Drilldown *Drilldown `json:"drilldown" doc:"Null in the owner's view and where the column adds up no account."`
}

// TableRow is a stay, a transaction or everything together.
type TableRow struct {
	ReservationID *id.ID      `json:"reservationId"`
	TransactionID *id.ID      `json:"transactionId"`
	Cells         []TableCell `json:"cells" doc:"In the order of the columns."`
	Drilldown     *Drilldown  `json:"drilldown" doc:"Null in the owner's view."`
}

// TableCell is the value of a column in a row.
type TableCell struct {
	layout.Cell
	Drilldown *Drilldown `json:"drilldown" doc:"Null in the owner's view, for what is no amount and for one of no account."`
}

// loadFrozen loads the designs that saved statements were stored with.
func loadFrozen(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID]*layout.Design, error) {
	type frozen struct {
		ID     id.ID
		Layout *layout.Design
	}

	saved := collectSaved(rows)

	out := make(map[id.ID]*layout.Design, len(saved))
	if len(saved) == 0 {
		return out, nil
	}

	found, err := db.Select[frozen](ctx, tx, `select id, layout from statement where team_id = @team and id = any(@ids) and layout is not null`,
		db.Args{"team": tx.Team, "ids": saved})
	if err != nil {
		return nil, fmt.Errorf("read layouts of statements: %w", err)
	}

	for i := range found {
		out[found[i].ID] = found[i].Layout
	}

	return out, nil
}

// layoutEntries returns entries in the form that layouts show.
func layoutEntries(entries []entry) []layout.Entry {
	out := make([]layout.Entry, len(entries))
	for i := range entries {
		e := &entries[i]
		out[i] = layout.Entry{
			ID:                e.ID,
			Section:           string(e.Section),
			Date:              e.Date,
			Description:       e.Description,
			AccountID:         e.AccountID,
			AccountName:       e.AccountName,
			AccountCode:       e.AccountCode,
			Classification:    e.Classification,
			TransactionID:     e.TransactionID,
			ReservationID:     e.ReservationID,
			ReservationStatus: e.ReservationStatus,
			GuestName:         e.GuestName,
			Confirmation:      e.ConfirmationCode,
			BookingChannel:    e.BookingPlatform,
			CheckIn:           e.CheckIn,
			CheckOut:          e.CheckOut,
			Total:             e.Total,
		}
	}

	return out
}

// dropHidden leaves out the entries that a layout hides from owners: those that are in no amount which owners
// see. Payouts, and entries that no column adds up, are never hidden.
func dropHidden(design *layout.Design, entries []entry) []entry {
	hidden := idSet(design.Render(layoutEntries(entries), true).Hidden)
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return hidden[e.ID] })
}

// idSet returns the ids as a set.
func idSet(ids []id.ID) map[id.ID]bool {
	out := make(map[id.ID]bool, len(ids))
	for _, v := range ids {
		out[v] = true
	}

	return out
}

// tabling is the work of laying out one statement.
type tabling struct {
	row      *row
	special  special
	accounts map[id.ID][]id.ID // of all entries in a section, by section
	asOwner  bool
}

// renderTables lays entries out by a design. In the owner's view the tables have no drill-downs.
func (s special) renderTables(r *row, design *layout.Design, entries []entry, asOwner bool) []Table {
	given := layoutEntries(entries)

	// Drill-downs need the accounts of each section.
	t := tabling{row: r, special: s, asOwner: asOwner}
	if !asOwner {
		t.accounts = sectionAccounts(design, given)
	}

	rendered := design.Render(given, asOwner).Tables

	out := make([]Table, len(rendered))
	for i := range rendered {
		out[i] = t.table(&rendered[i])
	}

	return out
}

// sectionAccounts returns the accounts that each section adds up, those of hidden columns included.
func sectionAccounts(design *layout.Design, entries []layout.Entry) map[id.ID][]id.ID {
	account := make(map[id.ID]id.ID, len(entries))
	for i := range entries {
		account[entries[i].ID] = entries[i].AccountID
	}

	out := map[id.ID][]id.ID{}

	// Render everything once more without hidden columns, and collect the accounts of the rows.
	for _, table := range showAll(design).Render(entries, false).Tables {
		accounts := []id.ID{}

		for i := range table.Rows {
			for _, e := range table.Rows[i].EntryIDs {
				accounts = append(accounts, account[e])
			}
		}

		out[table.ID] = id.Distinct(accounts)
	}

	return out
}

// showAll returns a copy of the design that hides nothing from the manager.
func showAll(design *layout.Design) *layout.Design {
	// Clone on the way down, because designs are shared between statements.
	open := func(sections []layout.Section) []layout.Section {
		sections = slices.Clone(sections)
		for i := range sections {
			sections[i].Visible = layout.VisibleAll

			sections[i].Columns = slices.Clone(sections[i].Columns)
			for j := range sections[i].Columns {
				sections[i].Columns[j].Visible = layout.VisibleAll
			}
		}

		return sections
	}
	d := *design
	d.NetRevenueSections, d.OtherSections = open(d.NetRevenueSections), open(d.OtherSections)

	return &d
}

// table returns a rendered section with its drill-downs.
func (t *tabling) table(r *layout.Table) Table {
	figure := NetRevenue
	if r.Kind != string(NetRevenue) {
		figure = Expenses
	}

	// The filter of the figure is the base; columns and rows narrow it.
	base := t.special.figureDrilldown(t.row, figure)
	whole := t.show(base.narrow(t.accounts[r.ID]))

	out := Table{
		ID:        r.ID,
		Name:      r.Name,
		Kind:      r.Kind,
		Columns:   make([]TableColumn, len(r.Columns)),
		Rows:      make([]TableRow, len(r.Rows)),
		Total:     r.Total,
		Drilldown: whole,
	}

	// A column without accounts, like a formula, has no entries of its own.
	for i := range r.Columns {
		out.Columns[i] = TableColumn{Head: r.Columns[i]}
		if accounts := r.Columns[i].AccountIDs; len(accounts) > 0 {
			out.Columns[i].Drilldown = t.show(base.narrow(accounts))
		}
	}

	// Totals lead to all rows, cells to their own row.
	out.Totals = t.cells(r.Totals, r.Columns, base)
	for i := range r.Rows {
		one := base.row(&r.Rows[i], figure)
		out.Rows[i] = TableRow{
			ReservationID: r.Rows[i].ReservationID, TransactionID: r.Rows[i].TransactionID,
			Cells: t.cells(r.Rows[i].Cells, r.Columns, one), Drilldown: t.show(one.narrow(t.accounts[r.ID])),
		}
	}

	return out
}

// cells returns the cells of a row. An amount leads to the entries of the row on the accounts of its column; the
// result of a formula leads to all entries of the row.
func (t *tabling) cells(cells []layout.Cell, columns []layout.Head, row Drilldown) []TableCell {
	out := make([]TableCell, len(cells))
	for i := range cells {
		out[i].Cell = cells[i]

		accounts := columns[i].AccountIDs
		switch {
		case cells[i].Amount == nil:
		case columns[i].Type == layout.FormulaCurrency:
			out[i].Drilldown = t.show(&row)
		case len(accounts) > 0:
			out[i].Drilldown = t.show(row.narrow(accounts))
		}
	}

	return out
}

// show returns the drill-down, or nil for owners, because it leads into the manager's books.
func (t *tabling) show(d *Drilldown) *Drilldown {
	if t.asOwner {
		return nil
	}

	return d
}

// row restricts a filter to the entries of a row: those of a stay in the net revenue, of a transaction in the
// expenses, else single entries. A row that aggregates has all of them.
func (d Drilldown) row(r *layout.Row, figure Section) Drilldown {
	switch {
	case figure == NetRevenue && r.ReservationID != nil:
		d.Filter.ReservationIDs = []id.ID{*r.ReservationID}
	case figure == Expenses && r.TransactionID != nil:
		d.Filter.TransactionIDs = []id.ID{*r.TransactionID}
	default:
		d.Filter.IDs = r.EntryIDs
	}

	return d
}
