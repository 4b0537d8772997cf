package paper

import (
	"reflect"

	"stayledger/platform/money"
)

// reportTable returns a table of a report, or a section of a statement, ready to be laid out.
func (p *paperwork) reportTable(from *ReportTable) *table {
	t := &table{title: p.legible.line(from.Title), columns: make([]tableColumn, len(from.Columns))}
	for i, c := range from.Columns {
		t.columns[i] = tableColumn{head: p.legible.line(c.Head)}
		switch c.Kind {
		// Numbers are flush right. Only texts may be broken.
		case ReportAmount, ReportInteger, ReportPercent:
			t.columns[i].right = true
		case ReportText:
			t.columns[i].text = true
		case ReportDate:
		}
	}

	t.rows = make([]tableRow, len(from.Rows))
	for i := range from.Rows {
		t.rows[i] = p.reportRow(from.Columns, &from.Rows[i])
	}

	if from.Total != nil {
		total := p.reportRow(from.Columns, from.Total)
		t.total = &total
	}

	return t
}

// reportRow returns a row with a cell for each column.
func (p *paperwork) reportRow(columns []ReportColumn, from *ReportRow) tableRow {
	row := tableRow{style: from.Style, level: max(0, min(from.Level, 3)), cells: make([]tableCell, len(columns))}
	for i := range columns {
		if i < len(from.Cells) {
			row.cells[i] = p.reportCell(columns[i].Kind, from.Cells[i])
		}
	}

	if len(row.cells) > 0 {
		// The text below may run on if no cell is likely to have two lines.
		row.cells[0].below, row.note = p.legible.line(from.Below), true
		for _, cell := range row.cells {
			row.note = row.note && len(cell.text) < 40
		}
	}

	return row
}

// reportCell returns a value by its type. The kind of the column matters for texts only.
func (p *paperwork) reportCell(kind ReportKind, v any) tableCell {
	switch v := v.(type) {
	case nil:
		return tableCell{}
	case money.Cents:
		return p.amountCell(v)
	case int:
		return tableCell{text: p.integerText(int64(v)), negative: v < 0}
	case int64:
		return tableCell{text: p.integerText(v), negative: v < 0}
	case string:
		text := p.legible.line(v)

		switch kind {
		case ReportDate:
			text = dateText(text, p.tag)
		case ReportPercent:
			text = percentText(text, p.tag)
		case ReportText, ReportAmount, ReportInteger:
		}

		return tableCell{text: text}
	}

	// A pointer is shown as its value, and nil as an empty cell.
	if pointer := reflect.ValueOf(v); pointer.Kind() == reflect.Pointer {
		if pointer.IsNil() {
			return tableCell{}
		}

		return p.reportCell(kind, pointer.Elem().Interface())
	}

	return tableCell{}
}

// integerText returns a number with its digits grouped as those of amounts.
func (p *paperwork) integerText(n int64) string {
	return amountText(money.Cents(n), "jpy", p.tag) // a currency without decimals
}
