package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stayledger/domain/record/operation"
	"stayledger/platform/money"
	"stayledger/provider/table"
)

// sheet is the result of the first reading: how the file is written, and which fields its columns hold.
type sheet struct {
	kind    *kind
	mapping *Mapping
	form    *Form
	issues  []Issue
	// skip is how many rows come before the first one with data.
	skip  int
	shown []Column
	heads []*columnStats
}

// columnStats collects facts about a column from all rows.
type columnStats struct {
	header, folded string
	field          int
	lineType       string
	by             *ColumnMapping // by a person, nil for none
	numbers        table.Numbers
	dates          table.Dates
	examples       []string
	// firstLine is the first line with a text, 0 for none.
	firstLine int
	// isSigned says that some amount has a sign or parentheses. notWords says that some text is no word for debit or
	// credit.
	isSigned, notWords bool
}

// headerError is a fault of the headers.
type headerError struct {
	cause        error
	line, column int
	header       string
	// missing are groups of fields, of each of which the file lacks a column.
	missing [][]string
}

// issues returns the issues with a code: one, or for missing columns one for each.
func (e *headerError) issues(code operation.FailureCode) []Issue {
	issue := Issue{Code: string(code), Severity: asError, Line: e.line, Column: e.column, Header: e.header}
	if e.missing == nil {
		return []Issue{issue}
	}

	out := make([]Issue, len(e.missing))

	for i, group := range e.missing {
		out[i] = issue
		out[i].Field = group[0]

		// A column for one of these fields would do.
		if len(group) > 1 {
			out[i].Context = map[string]any{"fields": group}
		}
	}

	return out
}

// Error names the fault and its place.
func (e *headerError) Error() string {
	return fmt.Sprintf("%v (line %d, column %d)", e.cause, e.line, e.column)
}

// Unwrap returns the fault.
func (e *headerError) Unwrap() error { return e.cause }

// readSheet reads all rows once, and finds out what the columns hold. It fails with a headerError if a column is
// missing or unclear, and with a table.Error for a malformed file.
func readSheet(ctx context.Context, r *table.Reader, k *kind, m *Mapping) (*sheet, error) {
	if m == nil {
		m = &Mapping{}
	}

	f := r.Form()
	s := &sheet{kind: k, mapping: m, form: &Form{
		Type: f.Type, Encoding: f.Encoding, Delimiter: f.Delimiter,
		Sheet: f.Sheet, Sheets: append([]string{}, f.Sheets...),
	}}

	// The headers are among the first rows.
	first, err := readFirst(r)
	if err != nil {
		return nil, err
	}

	if len(first) == 0 {
		return nil, &table.Error{Err: table.ErrEmpty}
	}

	at := s.findHeader(first)
	s.setColumns(first, at)

	// All rows say how to read dates and numbers, not the first ones alone.
	balances := &table.Balances{}
	lines := []int{}

	for i := range first[at+1:] {
		s.addRow(&first[at+1+i], balances, &lines)
	}

	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err == nil {
			err = ctx.Err()
		}

		if err != nil {
			return nil, err
		}

		s.addRow(row, balances, &lines)
	}

	s.decide(balances, lines)

	return s, s.check()
}

// readFirst returns the first rows of a file.
func readFirst(r *table.Reader) ([]table.Row, error) {
	var rows []table.Row

	for len(rows) < headRows {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return nil, err
		}

		rows = append(rows, table.Row{Line: row.Line, Cells: slices.Clone(row.Cells), Plain: slices.Clone(row.Plain)})
	}

	return rows, nil
}

// findHeader returns the place of the headers among the first rows, -1 for a file without headers.
func (s *sheet) findHeader(rows []table.Row) int {
	if s.mapping.HasHeader != nil && !*s.mapping.HasHeader {
		return -1
	}

	// The headers that a person has named are surer than those that we know.
	var wanted []string

	for _, c := range s.mapping.Columns {
		if c.Header != "" {
			wanted = append(wanted, table.Fold(c.Header))
		}
	}

	at := table.FindHeader(rows, func(folded []string) bool {
		has := func(header string) bool { return slices.Contains(folded, header) }
		if len(wanted) > 0 {
			return !slices.ContainsFunc(wanted, func(header string) bool { return !has(header) })
		}

		return s.resolves(folded)
	})

	// A person who maps columns by their place says that there are no headers.
	hasPlace := func(c ColumnMapping) bool { return c.Index > 0 }
	if at >= 0 || s.mapping.HasHeader == nil && slices.ContainsFunc(s.mapping.Columns, hasPlace) {
		return at
	}

	// Else the row with the most known headers, so that a person sees which header is missing.
	best, most := 0, 0

	for i := range rows {
		known := 0

		for _, cell := range rows[i].Cells {
			if s.kind.recognize(table.Fold(cell)) >= 0 {
				known++
			}
		}

		if known > most {
			best, most = i, known
		}
	}

	return best
}

// resolves reports whether a row has a header for every field that the kind needs. A row with several cells must have
// two known headers, or else it is a title.
func (s *sheet) resolves(folded []string) bool {
	found := map[string]bool{}

	for _, cell := range folded {
		if at := s.kind.recognize(cell); at >= 0 {
			found[s.kind.fields[at].name] = true
		}
	}

	texts := 0

	for _, cell := range folded {
		if cell != "" {
			texts++
		}
	}

	if len(found) < min(2, texts) {
		return false
	}

	for _, group := range s.kind.needs {
		if !slices.ContainsFunc(group, func(name string) bool { return found[name] }) {
			return false
		}
	}

	return true
}

// setColumns sets the field of each column, by the mapping or else by the header.
func (s *sheet) setColumns(first []table.Row, at int) {
	// The headers may be shorter than the rows.
	width := 0
	for i := range first {
		width = max(width, len(first[i].Cells))
	}

	s.skip = at + 1

	if at >= 0 {
		s.form.HeaderLine = first[at].Line
	}

	for i := range width {
		c := &columnStats{field: -1}
		if at >= 0 && i < len(first[at].Cells) {
			c.header = first[at].Cells[i]
			c.folded = table.Fold(c.header)
		}

		s.heads = append(s.heads, c)
	}

	taken := map[int]bool{}

	// First the mapping.
	for i, c := range s.heads {
		for n := range s.mapping.Columns {
			m := &s.mapping.Columns[n]
			if m.Index == i+1 || m.Index == 0 && m.Header != "" && table.Fold(m.Header) == c.folded {
				c.by = m
				c.field, c.lineType = s.kind.place(m.Field)
				taken[c.field] = true
			}
		}
	}

	// Then the headers of the other columns.
	for _, c := range s.heads {
		if c.by != nil {
			continue
		}

		// A rate in percent, such as Commission %, is no amount.
		f := s.kind.recognize(c.folded)
		if f < 0 || s.kind.fields[f].typ == typeAmount && strings.Contains(c.header, "%") {
			continue
		}

		// Several columns may hold names or texts to join. For other fields the first column counts.
		if !taken[f] || s.kind.fields[f].several || s.kind.fields[f].typ.isName() {
			c.field, taken[f] = f, true
		}
	}
}

// place returns the place of a field in a mapping, -1 if it is unknown. A field such as lines.petFee holds amounts for
// lines with the type petFee.
func (k *kind) place(name string) (field int, lineType string) {
	if kind, isLine := strings.CutPrefix(name, "lines."); isLine && k.name == Reservations && kind != "" {
		return k.find("other"), kind
	}

	return k.find(name), ""
}

// addRow adds the texts in a row to the statistics. Totals below the rows do not count.
func (s *sheet) addRow(row *table.Row, balances *table.Balances, lines *[]int) {
	for len(s.heads) < len(row.Cells) {
		s.heads = append(s.heads, &columnStats{field: -1})
	}

	if table.IsTotal(row) {
		return
	}

	for i, text := range row.Cells {
		if text == "" {
			continue
		}

		c := s.heads[i]
		if c.firstLine == 0 {
			c.firstLine = row.Line
		}

		if len(c.examples) < shownExamples {
			field := ""
			if c.field >= 0 {
				field = s.kind.fields[c.field].name
			}

			c.examples = append(c.examples, s.kind.show(field, shorten(text)))
		}

		if c.field >= 0 && (i >= len(row.Plain) || !row.Plain[i]) {
			s.addText(c, s.kind.fields[c.field].typ, text)
		}
	}

	if s.kind.name == BankRecords {
		s.addBalance(row, balances, lines)
	}
}

// addText adds a text to a column: a number, a date, or whether it is a word for debit or credit.
func (s *sheet) addText(c *columnStats, typ valueType, text string) {
	switch typ { //nolint:exhaustive // cells of the other types read in one way
	case typeAmount:
		c.numbers.Add(text)
		c.isSigned = c.isSigned || strings.ContainsAny(text, "-−(")
	case typeInteger:
		c.numbers.Add(text)
	case typeDate:
		c.dates.Add(text)
	case typeEnum, typeText:
		if !c.notWords && s.kind.name == BankRecords {
			_, isWord := s.kind.fields[s.kind.find("direction")].findValue(text)
			c.notWords = !isWord
		}
	}
}

// addBalance adds the amount and the balance in a row, which prove each other.
func (s *sheet) addBalance(row *table.Row, balances *table.Balances, lines *[]int) {
	cell := func(name string) string {
		for i, c := range s.heads {
			if c.field >= 0 && s.kind.fields[c.field].name == name && i < len(row.Cells) {
				return row.Cells[i]
			}
		}

		return ""
	}

	if balance := cell("balance"); balance != "" {
		balances.Add(cell("amount"), cell("debit"), cell("credit"), balance)

		// A break beyond the first rows is reported without its line.
		if len(*lines) < keptLines {
			*lines = append(*lines, row.Line)
		}
	}
}

// keptLines bounds how many line numbers are remembered, to report where the balances break.
const keptLines = 10_000

// decide sets how to read each column, after all rows were added.
func (s *sheet) decide(balances *table.Balances, lines []int) {
	// Balances that fit the amounts prove their decimal sign and their direction.
	proof := balances.Decide(money.Currency(s.currency()).MinorDigits())
	s.form.BalancesProve, s.form.Negated = proof.Proved, proof.Proved && proof.Negated

	if s.mapping.Negated != nil {
		s.form.Negated = *s.mapping.Negated
	}

	if !proof.Proved && proof.FirstBreak >= 0 {
		issue := Issue{Code: "balanceBreak", Severity: asWarning}
		if proof.FirstBreak < len(lines) {
			issue.Line = lines[proof.FirstBreak]
		}

		if proof.Expected != proof.Stated {
			issue.Context = map[string]any{"centExpected": proof.Expected, "centStated": proof.Stated}
		}

		s.issues = append(s.issues, issue)
	}

	// Then each column, and an issue for each column that is not read or reads both ways.
	common := s.commonOrder()

	for i, c := range s.heads {
		col := Column{Index: i + 1, Header: c.header, Examples: append([]string{}, c.examples...)}

		if c.field < 0 {
			if c.firstLine > 0 && c.by == nil {
				s.issues = append(s.issues, Issue{
					Code: "columnNotRead", Severity: asWarning, Column: i + 1, Header: c.header,
				})
			}

			s.shown = append(s.shown, col)

			continue
		}

		s.settleType(c)

		f := &s.kind.fields[c.field]
		if col.Field = f.name; c.lineType != "" {
			col.Field = "lines." + c.lineType
		}

		switch f.typ { //nolint:exhaustive // the other types read in one way
		case typeAmount, typeInteger:
			s.decideNumbers(c, &col, &proof)
		case typeDate:
			s.decideDates(c, &col, common)
		}

		if col.IsUnclear {
			code := map[bool]string{true: "dateUnclear", false: "numberUnclear"}[f.typ == typeDate]
			s.issues = append(s.issues, Issue{
				Code: code, Severity: asError, Column: i + 1, Header: c.header, Field: f.name,
				Context: map[string]any{"examples": col.Examples},
			})
		}

		s.shown = append(s.shown, col)
	}
}

// settleType makes a column with only words for debit and credit the direction of amounts, unless the amounts have
// signs.
func (s *sheet) settleType(c *columnStats) {
	name := s.kind.fields[c.field].name
	if s.kind.name != BankRecords || c.notWords || c.by != nil || name != "recordType" && name != "description" {
		return
	}

	// Words for debit and credit describe nothing.
	if name == "description" {
		c.field = s.kind.find("recordType")
	}

	for _, o := range s.heads {
		if o.field >= 0 && s.kind.fields[o.field].name == "amount" && o.isSigned {
			return
		}
	}

	c.field = s.kind.find("direction")
}

// decideNumbers sets the decimal sign of a column: by the mapping, by its texts, or by what the balances prove.
func (s *sheet) decideNumbers(c *columnStats, col *Column, proof *table.Proof) {
	decimal, isClear := c.numbers.Decide()

	switch {
	case c.by != nil && c.by.Decimal != "":
		decimal, isClear = table.Decimal(c.by.Decimal[0]), true
	case s.mapping.Decimal != "":
		decimal, isClear = table.Decimal(s.mapping.Decimal[0]), true
	case !isClear && proof.Proved:
		decimal, isClear = proof.Decimal, true
	}

	if decimal == 0 {
		decimal = '.'
	}

	col.Decimal, col.IsUnclear = string(rune(decimal)), !isClear
}

// commonOrder returns the order of day and month that the columns of dates prove. It is empty if no column proves an
// order, or if they contradict each other.
func (s *sheet) commonOrder() (common table.Order) {
	for _, c := range s.heads {
		if c.field < 0 || s.kind.fields[c.field].typ != typeDate {
			continue
		}

		order, _ := c.dates.Decide()

		switch {
		case !c.dates.IsProved():
		case common != "" && common != order:
			return ""
		default:
			common = order
		}
	}

	return common
}

// decideDates sets the order of day and month in a column. A column that reads both ways has the order that the other
// columns prove.
func (s *sheet) decideDates(c *columnStats, col *Column, common table.Order) {
	order, isClear := c.dates.Decide()

	switch {
	case c.by != nil && c.by.DateOrder != "":
		order, isClear = table.Order(c.by.DateOrder), true
	case s.mapping.DateOrder != "":
		order, isClear = table.Order(s.mapping.DateOrder), true
	case !isClear && common != "":
		order, isClear = common, true
		s.issues = append(s.issues, Issue{
			Code: "dateOrderOfOtherColumn", Severity: asWarning, Column: col.Index, Header: c.header,
			Context: map[string]any{"dateOrder": order},
		})
	}

	if order == "" {
		order = "ymd"
	}

	col.DateOrder, col.IsUnclear = string(order), !isClear
}

// currency returns the currency in the header of an amount, such as Amount (EUR), or else in the mapping.
func (s *sheet) currency() string {
	for _, c := range s.heads {
		if c.field < 0 || s.kind.fields[c.field].typ != typeAmount {
			continue
		}

		words := strings.Fields(c.folded)
		if len(words) < 2 {
			continue
		}

		if code, err := money.ParseCurrency(words[len(words)-1]); err == nil {
			s.form.Currency = string(code)
			return s.form.Currency
		}
	}

	return strings.ToLower(s.mapping.Currency)
}

// check refuses headers that are blank, doubled or missing, with a headerError.
func (s *sheet) check() error {
	// Columns without texts and mapped columns need no header of their own.
	seen := map[string]int{}

	for i, c := range s.heads {
		switch {
		case c.firstLine == 0 || c.by != nil:
		case s.form.HeaderLine > 0 && c.folded == "" && c.header == "":
			return &headerError{cause: errBlankHeader, line: s.form.HeaderLine, column: i + 1}
		case c.folded != "" && seen[c.folded] > 0:
			return &headerError{cause: errDuplicateHeader, line: s.form.HeaderLine, column: i + 1, header: c.header}
		default:
			seen[c.folded] = i + 1
		}
	}

	var missing [][]string

	for _, group := range s.kind.needs {
		isThere := slices.ContainsFunc(s.shown, func(c Column) bool { return slices.Contains(group, c.Field) })
		if !isThere {
			missing = append(missing, group)
		}
	}

	if missing != nil {
		return &headerError{cause: errMissingColumn, line: s.form.HeaderLine, missing: missing}
	}

	return nil
}

// newColumns returns the columns for a reader, from the columns that the API shows.
func newColumns(k *kind, shown []Column) []column {
	out := make([]column, len(shown))

	for i, c := range shown {
		out[i] = column{header: c.Header, field: -1, order: table.Order(c.DateOrder), unclear: c.IsUnclear}

		if c.Field != "" {
			out[i].field, out[i].lineType = k.place(c.Field)
		}

		if c.Decimal != "" {
			out[i].decimal = table.Decimal(c.Decimal[0])
		}
	}

	return out
}
