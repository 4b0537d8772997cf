package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stayledger/platform/money"
	"stayledger/provider/table"
)

// sheet has the results of the first reading of a file: how it is written, and the fields of its columns.
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

// columnStats has what is known of a column from all rows.
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
	// isSigned says that some text begins with a sign, or is in parentheses. notWords says that some text is no word
	// for a direction.
	isSigned, notWords bool
}

// headerError is a fault of the headers.
type headerError struct {
	cause        error
	line, column int
	header       string
	field        string
}

// Error names the fault and its place.
func (e *headerError) Error() string {
	return fmt.Sprintf("%v (line %d, column %d)", e.cause, e.line, e.column)
}

// Unwrap returns the fault.
func (e *headerError) Unwrap() error { return e.cause }

// readSheet reads all rows of a file once, and finds the fields of its columns.
func readSheet(ctx context.Context, r *table.Reader, k *kind, m *Mapping) (*sheet, error) {
	if m == nil {
		m = &Mapping{}
	}

	f := r.Form()
	s := &sheet{kind: k, mapping: m, form: &Form{
		Type: f.Type, Encoding: f.Encoding, Delimiter: f.Delimiter, Sheet: f.Sheet, Sheets: append([]string{}, f.Sheets...),
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

	balances := &table.Balances{}
	lines := []int{}

	for i := range first[at+1:] {
		s.see(&first[at+1+i], balances, &lines)
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

		s.see(row, balances, &lines)
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

// findHeader returns the place of the headers among the first rows, -1 for a file without.
func (s *sheet) findHeader(rows []table.Row) int {
	if s.mapping.HasHeader != nil && !*s.mapping.HasHeader {
		return -1
	}

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

	if at >= 0 || s.mapping.HasHeader == nil && slices.ContainsFunc(s.mapping.Columns, func(c ColumnMapping) bool { return c.Index > 0 }) {
		return at
	}

	// Else the row with the most headers that are known, so that a person sees the missing one.
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

// resolves reports whether a row has a header for all that the kind needs. A row of several cells needs two of them, so
// that a title is no header.
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

// setColumns sets the fields of the columns, by the mapping of a person, else by the headers.
func (s *sheet) setColumns(first []table.Row, at int) {
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

	// First the mapping of a person.
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

	for _, c := range s.heads {
		if c.by != nil {
			continue
		}

		// A rate in percent, such as Commission %, is no amount.
		f := s.kind.recognize(c.folded)
		if f < 0 || s.kind.fields[f].typ == typeAmount && strings.Contains(c.header, "%") {
			continue
		}

		// Several columns of names are looked at in turn, and texts are joined; else the first counts.
		if !taken[f] || s.kind.fields[f].several || s.kind.fields[f].typ.isName() {
			c.field, taken[f] = f, true
		}
	}
}

// place returns the place of a field that a mapping names, -1 for an unknown one. The field lines. with a type is an
// amount of a line of that type.
func (k *kind) place(name string) (field int, lineType string) {
	if kind, isLine := strings.CutPrefix(name, "lines."); isLine && k.name == Reservations && kind != "" {
		return k.find("other"), kind
	}

	return k.find(name), ""
}

// see adds the texts of a row to the columns.
func (s *sheet) see(row *table.Row, balances *table.Balances, lines *[]int) {
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
			c.examples = append(c.examples, shorten(text))
		}

		if c.field >= 0 && (i >= len(row.Plain) || !row.Plain[i]) {
			s.seeText(c, s.kind.fields[c.field].typ, text)
		}
	}

	if s.kind.name == BankRecords {
		s.seeBalance(row, balances, lines)
	}
}

// seeText notes a text of a column; of texts, only whether they are words for debit and credit.
func (s *sheet) seeText(c *columnStats, typ valueType, text string) {
	switch typ {
	case typeAmount:
		c.numbers.Add(text)
		c.isSigned = c.isSigned || strings.ContainsAny(text, "-−(")
	case typeInteger:
		c.numbers.Add(text)
	case typeDate:
		c.dates.Add(text)
	case typeEnum, typeText:
		if !c.notWords && s.kind.name == BankRecords {
			c.notWords = s.kind.fields[s.kind.find("direction")].values[table.Fold(text)] == ""
		}
	}
}

// seeBalance holds the amount of a row against its balance.
func (s *sheet) seeBalance(row *table.Row, balances *table.Balances, lines *[]int) {
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

		// Only the lines of the first rows are kept, for the place of a break.
		if len(*lines) < keptLines {
			*lines = append(*lines, row.Line)
		}
	}
}

// keptLines is how many lines with a balance are remembered, to say where the balances break.
const keptLines = 10_000

// decide sets how the columns are read, from all rows.
func (s *sheet) decide(balances *table.Balances, lines []int) {
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

		s.issues = append(s.issues, issue)
	}

	common := s.commonOrder()

	for i, c := range s.heads {
		col := Column{Index: i + 1, Header: c.header, Examples: append([]string{}, c.examples...)}

		if c.field < 0 {
			if c.firstLine > 0 && c.by == nil {
				s.issues = append(s.issues, Issue{Code: "columnNotRead", Severity: asWarning, Column: i + 1, Header: c.header})
			}

			s.shown = append(s.shown, col)

			continue
		}

		s.settleType(c)

		f := &s.kind.fields[c.field]
		if col.Field = f.name; c.lineType != "" {
			col.Field = "lines." + c.lineType
		}

		switch f.typ {
		case typeAmount, typeInteger:
			s.decideNumbers(c, &col, &proof)
		case typeDate:
			s.decideDates(c, &col, common)
		}

		if col.IsUnclear {
			code := map[bool]string{true: "dateUnclear", false: "numberUnclear"}[f.typ == typeDate]
			s.issues = append(s.issues, Issue{
				Code: code, Severity: asError, Column: i + 1, Header: c.header, Field: f.name, Context: map[string]any{"examples": col.Examples},
			})
		}

		s.shown = append(s.shown, col)
	}
}

// settleType takes a column of types for debits and credits, if it has only words for these and no amount has a sign.
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

// decideNumbers sets the decimal sign of a column. Balances that prove one reading decide for all amounts.
func (s *sheet) decideNumbers(c *columnStats, col *Column, proof *table.Proof) {
	decimal, clear := c.numbers.Decide()

	switch {
	case c.by != nil && c.by.Decimal != "":
		decimal, clear = table.Decimal(c.by.Decimal[0]), true
	case s.mapping.Decimal != "":
		decimal, clear = table.Decimal(s.mapping.Decimal[0]), true
	case !clear && proof.Proved:
		decimal, clear = proof.Decimal, true
	}

	if decimal == 0 {
		decimal = '.'
	}

	col.Decimal, col.IsUnclear = string(rune(decimal)), !clear
}

// commonOrder returns the order of day and month that other columns of dates in the file have, empty if none has shown
// one, or several have.
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

// decideDates sets the order of the dates of a column. The order of other columns counts for a column that
// reads both ways.
func (s *sheet) decideDates(c *columnStats, col *Column, common table.Order) {
	order, clear := c.dates.Decide()

	switch {
	case c.by != nil && c.by.DateOrder != "":
		order, clear = table.Order(c.by.DateOrder), true
	case s.mapping.DateOrder != "":
		order, clear = table.Order(s.mapping.DateOrder), true
	case !clear && common != "":
		order, clear = common, true
		s.issues = append(s.issues, Issue{
			Code: "dateOrderOfOtherColumn", Severity: asWarning, Column: col.Index, Header: c.header, Context: map[string]any{"dateOrder": order},
		})
	}

	if order == "" {
		order = "ymd"
	}

	col.DateOrder, col.IsUnclear = string(order), !clear
}

// currency returns the currency that the header of an amount has, such as Amount (EUR), else that of the mapping.
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

// check refuses headers from which the fields of the columns do not follow.
func (s *sheet) check() error {
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

	for _, group := range s.kind.needs {
		isThere := slices.ContainsFunc(s.shown, func(c Column) bool { return slices.Contains(group, c.Field) })
		if !isThere && !(s.kind.name == BankRecords && group[0] == "account") {
			return &headerError{cause: errMissingColumn, line: s.form.HeaderLine, field: group[0]}
		}
	}

	return nil
}

// newColumns returns how columns are read, from columns as they are shown.
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
