package upload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stayledger/domain/record/intake"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/table"
)

// column says how the cells of a column are read.
type column struct {
	header string
	// field is the field's place in kind.fields, -1 for a column that is not read.
	field int
	// lineType is the type of the line that an amount makes, empty for other columns.
	lineType string
	order    table.Order
	decimal  table.Decimal
	// unclear says that the column reads both ways.
	unclear bool
}

// reader reads the rows of a file as records. It does not use the database: names are looked up before.
type reader struct {
	kind    *kind
	columns []column
	// places are the columns by field.
	places [][]int
	// currency applies to rows that name no currency. account is the bank account for all rows, nil for none.
	currency string
	account  *id.ID
	negated  bool
	// startAt is the first day of the team's books, nil for none.
	startAt *day.Day
	// connection leads to the system from which the file is, nil for none.
	connection *id.ID
	names      *names
	// lineTypes finds accounts for line types, nil for files without types.
	lineTypes lineTypes
}

// lineTypes finds the account of a line by its type.
type lineTypes interface {
	// account returns the fields that a type sets in a line. known is false for an unmapped type, and left is true for
	// a type to leave out.
	account(lineType string) (fields map[string]json.RawMessage, known, left bool)
}

// cells is a row as the file has it.
type cells struct {
	position, line int
	texts          []string
	plain          []bool
}

// record is a record as its rows describe it.
type record struct {
	cells

	kind *kind
	// text, number, date and value have what the head row says, by field: the text of the cell, and the JSON to save.
	text   []string
	number []int64
	date   []day.Day
	value  []json.RawMessage
	lines  []map[string]json.RawMessage
	// more are fields of the record without a column of their own.
	more   intake.Values
	issues []Issue
	// ignored says why the row is no record, empty if it is one.
	ignored string

	currency string
	amount   money.Cents
	// parts are the rows after the head that belong to it.
	parts []*record
}

// newReader returns a reader of rows with columns.
func newReader(k *kind, columns []column) *reader {
	r := &reader{kind: k, columns: columns, places: make([][]int, len(k.fields)), names: newNames()}

	for i, c := range columns {
		if c.field >= 0 {
			r.places[c.field] = append(r.places[c.field], i)
		}
	}

	return r
}

// has reports whether a field has a column.
func (r *reader) has(name string) bool {
	at := r.kind.find(name)
	return at >= 0 && len(r.places[at]) > 0
}

// ask has the next load look up the names in a row.
func (r *reader) ask(c *cells) {
	for i, col := range r.columns {
		if col.field >= 0 && i < len(c.texts) && c.texts[i] != "" && r.kind.fields[col.field].typ.isName() {
			r.names.ask(r.kind.fields[col.field].typ, c.texts[i])
		}
	}
}

// read returns the record that a row describes.
func (r *reader) read(c *cells) *record {
	n := len(r.kind.fields)
	rec := &record{
		cells: *c, kind: r.kind, currency: r.currency,
		text: make([]string, n), number: make([]int64, n), date: make([]day.Day, n), value: make([]json.RawMessage, n),
	}

	// The currency decides how many places amounts have, so it comes first.
	if at := r.kind.find("currency"); at >= 0 {
		for _, i := range r.places[at] {
			r.readCell(rec, i)
		}
	}

	for i := range r.columns {
		if f := r.columns[i].field; f >= 0 && r.kind.fields[f].name != "currency" {
			r.readCell(rec, i)
		}
	}

	// If several columns can name a record, an unknown name is no fault as long as another column names it.
	rec.issues = slices.DeleteFunc(rec.issues, func(i Issue) bool {
		at := r.kind.find(i.Field)
		return at >= 0 && r.kind.fields[at].typ.isName() && len(r.places[at]) > 1 && rec.value[at] != nil
	})

	return rec
}

// readCell reads a cell, and sets the field of its column or adds an issue.
func (r *reader) readCell(rec *record, i int) {
	if i >= len(rec.texts) || rec.texts[i] == "" {
		return
	}

	col, text := &r.columns[i], rec.texts[i]
	f := &r.kind.fields[col.field]
	isPlain := i < len(rec.plain) && rec.plain[i]

	var (
		raw  json.RawMessage
		code string
	)

	// Exports mark texts that a spreadsheet would run as a formula.
	rest, isMarked := strings.CutPrefix(text, "'")
	if isMarked && rest != "" && strings.ContainsRune("=+-@", rune(rest[0])) {
		text = rest
	}

	// Read the text by the type of its field. A text that cannot be read gives the code of an issue.
	switch f.typ { //nolint:exhaustive // the other types are names
	case typeText:
		if f.several && rec.text[col.field] != "" {
			text = rec.text[col.field] + " " + text
		}

		raw = quote(text)
	case typeAmount:
		raw, code = r.readAmount(rec, col, text, isPlain)
	case typeDate:
		raw, code = readDate(rec, col, text, isPlain)
	case typeInteger, typeShare:
		raw, code = readNumber(rec, col, text, isPlain)
	case typeEnum:
		raw, code = readEnum(f, text)
	case typeCurrency:
		raw, code = readCurrency(rec, text)
	default:
		raw, code = r.readName(f, text)
	}

	// If several columns name records, the first name that is found counts.
	if f.typ.isName() && rec.value[col.field] != nil {
		return
	}

	rec.text[col.field] = text

	if code != "" {
		rec.addIssue(code, asError, i, r)
		return
	}

	rec.value[col.field] = raw

	// An amount in a column such as Cleaning fee is a line.
	if f.lineType != "" || col.lineType != "" {
		rec.addTypedLine(col.lineType, f, raw)
	}
}

// addTypedLine adds a line with the amount from a column, unless it is zero.
func (rec *record) addTypedLine(lineType string, f *field, raw json.RawMessage) {
	if lineType == "" {
		lineType = f.lineType
	}

	if string(raw) != "0" {
		rec.lines = append(rec.lines, map[string]json.RawMessage{"type": quote(lineType), "amount": raw})
	}
}

// readAmount reads an amount in the currency of the row.
func (r *reader) readAmount(rec *record, col *column, text string, isPlain bool) (json.RawMessage, string) {
	places := money.Currency(rec.currency).MinorDigits()

	var (
		cents int64
		err   error
	)

	switch {
	case isPlain:
		cents, err = table.ParsePlain(text, places)
	case col.unclear:
		return nil, "numberUnclear"
	default:
		cents, err = col.decimal.Parse(text, places)
	}

	if err != nil {
		return nil, "number"
	}

	rec.number[col.field] = cents

	return strconv.AppendInt(nil, cents, 10), ""
}

// readDate reads a date.
func readDate(rec *record, col *column, text string, isPlain bool) (json.RawMessage, string) {
	order := col.order

	switch {
	case isPlain:
		order = "ymd"
	case col.unclear:
		return nil, "dateUnclear"
	}

	d, err := order.Parse(text)
	if err != nil {
		return nil, "date"
	}

	rec.date[col.field] = d

	return quote(d.String()), ""
}

// readNumber reads a whole number, or a share in thousandths of a percent.
func readNumber(rec *record, col *column, text string, isPlain bool) (json.RawMessage, string) {
	places, decimal := 0, col.decimal
	if isPlain || decimal == 0 {
		decimal = '.'
	}

	// A share is at most 100, so that a comma in it is never a thousands mark: 66,667 is two thirds.
	if rec.kind.fields[col.field].typ == typeShare {
		places, decimal = sharePlaces, '.'
		text = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(text), "%"), ",", ".")
	}

	n, err := decimal.Parse(text, places)
	if err != nil || n < 0 {
		return nil, "number"
	}

	rec.number[col.field] = n

	return strconv.AppendInt(nil, n, 10), ""
}

// sharePlaces are the decimal places of a share in percent, as shares are parts of 100000.
const sharePlaces = 3

// readEnum reads a word for a value.
func readEnum(f *field, text string) (json.RawMessage, string) {
	value, isKnown := f.findValue(text)

	switch {
	case !isKnown && f.lenient:
		return nil, ""
	case !isKnown:
		return nil, "enum"
	case value == "true" || value == "false":
		return json.RawMessage(value), ""
	}

	return quote(value), ""
}

// findValue returns the value that a word means.
func (f *field) findValue(text string) (value string, isKnown bool) {
	word := table.Fold(text)
	if word == "" {
		// Nothing is left of a plus or a minus.
		word = strings.ReplaceAll(strings.TrimSpace(text), "−", "-")
	}

	value, isKnown = f.values[word]

	return value, isKnown
}

// signs maps signs of currencies to their codes. A sign such as $ has several, so it is not listed.
var signs = map[string]string{"€": "eur", "£": "gbp", "us$": "usd", "r$": "brl", "chf": "chf", "zł": "pln"}

// readCurrency reads a currency, and sets it for the row.
func readCurrency(rec *record, text string) (json.RawMessage, string) {
	code := strings.ToLower(text)
	if known := signs[code]; known != "" {
		code = known
	}

	c, err := money.ParseCurrency(code)
	if err != nil {
		return nil, "currency"
	}

	rec.currency = string(c)

	return quote(string(c)), ""
}

// readName returns the id of the record with a name. An unknown stay is no fault: money waits for it by its code.
func (r *reader) readName(f *field, text string) (json.RawMessage, string) {
	found := r.names.find(f.typ, text)

	switch {
	case found.Count == 1:
		return quote(found.ID.String()), ""
	case found.Count > 1:
		return nil, "ambiguous"
	case f.typ == typeReservation:
		return nil, ""
	}

	return nil, "notFound"
}

// quote returns a text as JSON.
func quote(text string) json.RawMessage {
	// Most texts need no escapes.
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }) {
		return json.RawMessage(`"` + text + `"`)
	}

	out, err := json.Marshal(text)
	if err != nil {
		panic("upload: encode a text: " + err.Error())
	}

	return out
}

// shownText bounds the text of a cell in an issue, in bytes.
const shownText = 100

// addIssue adds an issue about a cell, or about the whole row if the column is below zero, and returns it.
func (rec *record) addIssue(code, severity string, at int, r *reader) *Issue {
	issue := Issue{Code: code, Severity: severity, Line: rec.line}

	if at >= 0 && at < len(r.columns) {
		issue.Column, issue.Header = at+1, r.columns[at].header
		if f := r.columns[at].field; f >= 0 {
			issue.Field = rec.kind.fields[f].name
		}

		if at < len(rec.texts) {
			issue.Text = rec.kind.show(issue.Field, shorten(rec.texts[at]))
		}
	}

	rec.issues = append(rec.issues, issue)

	return &rec.issues[len(rec.issues)-1]
}

// say sets the message that people read.
func (i *Issue) say(message string) { i.Context = map[string]any{"message": message} }

// shorten cuts a text for people to recognize.
func shorten(text string) string {
	if len(text) > shownText {
		text = strings.ToValidUTF8(text[:shownText], "")
	}

	return text
}

// addFault adds an issue about a field, at its first column if it has any, and returns the issue.
func (r *reader) addFault(rec *record, code, severity, name string) *Issue {
	place := -1
	if at := r.kind.find(name); at >= 0 && len(r.places[at]) > 0 {
		place = r.places[at][0]
	}

	issue := rec.addIssue(code, severity, place, r)
	issue.Field = name

	return issue
}

// get returns the value of a field, nil for none.
func (rec *record) get(name string) json.RawMessage { return rec.value[rec.kind.find(name)] }

// set sets the value of a field.
func (rec *record) set(name string, raw json.RawMessage) { rec.value[rec.kind.find(name)] = raw }

// word returns the value of an enum or text, empty for none.
func (rec *record) word(name string) string { return text(rec.get(name)) }

// setMore sets a field without a column.
func (rec *record) setMore(name string, raw json.RawMessage) {
	if rec.more == nil {
		rec.more = intake.Values{}
	}

	rec.more[name] = raw
}

// cents returns the amount of a field, 0 for none.
func (rec *record) cents(name string) int64 { return rec.number[rec.kind.find(name)] }

// finish completes a record after its rows are read: its lines, and fields derived from other fields. It adds a fault
// for each required field without a value.
func (r *reader) finish(rec *record) {
	// First the lines of all rows, in the order of the file.
	for _, row := range append([]*record{rec}, rec.parts...) {
		if line := row.readLine(); line != nil {
			rec.lines = append(rec.lines, line)
		}

		if row != rec {
			rec.lines = append(rec.lines, row.lines...)
			rec.issues = append(rec.issues, row.issues...)
		}
	}

	r.kind.finish(r, rec)

	// A row that is no record has no faults.
	if rec.ignored != "" {
		rec.issues = nil
		return
	}

	// A text that could not be read has a fault already.
	has := func(name string) bool { return rec.get(name) != nil || rec.text[rec.kind.find(name)] != "" }

	for _, group := range r.kind.must {
		if !slices.ContainsFunc(group, has) {
			r.addFault(rec, "required", asError, group[0])
		}
	}
}

// readLine returns the line in a row, nil for none.
func (rec *record) readLine() map[string]json.RawMessage {
	var line map[string]json.RawMessage

	for i := range rec.kind.fields {
		f := &rec.kind.fields[i]
		if !f.isLine || f.into == "" || rec.value[i] == nil {
			continue
		}

		if line == nil {
			line = map[string]json.RawMessage{}
		}

		line[f.into] = rec.value[i]
	}

	return line
}

// values returns the fields of the record as its noun takes them.
func (rec *record) values() intake.Values {
	out := intake.Values{}
	objects := map[string]map[string]json.RawMessage{}

	for i := range rec.kind.fields {
		f := &rec.kind.fields[i]
		if f.isLine || f.into == "" || rec.value[i] == nil {
			continue
		}

		// address.city is the field city in the object address.
		outer, inner, nested := strings.Cut(f.into, ".")
		if !nested {
			out[outer] = rec.value[i]
			continue
		}

		if objects[outer] == nil {
			objects[outer] = map[string]json.RawMessage{}
		}

		objects[outer][inner] = rec.value[i]
	}

	for name, object := range objects {
		out[name] = mustEncode(object)
	}

	maps.Copy(out, rec.more)

	if rec.kind.lines != "" && len(rec.lines) > 0 {
		out[rec.kind.lines] = mustEncode(rec.lines)
	}

	return out
}

// mustEncode returns a value that can always be encoded as JSON.
func mustEncode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("upload: encode a value: " + err.Error())
	}

	return raw
}

// isFaulty reports whether the record cannot be taken in as it is.
func (rec *record) isFaulty() bool {
	return slices.ContainsFunc(rec.issues, func(i Issue) bool { return i.Severity == asError })
}

// asks reports whether the record has something that a person decides.
func (rec *record) asks() bool {
	return slices.ContainsFunc(rec.issues, func(i Issue) bool { return i.Severity == asQuestion })
}

// key returns the name of the record at its source: the first complete group of kind.keys, or else a hash of all
// values. Names are compared in lower case.
func (rec *record) key(r *reader) (key string, isNamed bool) {
	// A system's own id is the name that its syncs use.
	if at := rec.kind.find("sourceId"); r.connection != nil && at >= 0 && rec.text[at] != "" {
		return shortKey(rec.text[at]), true
	}

	for _, group := range rec.kind.keys {
		parts := make([]string, 0, len(group))

		for _, name := range group {
			if text := fold(rec.keyText(name)); text != "" {
				parts = append(parts, text)
			}
		}

		if len(parts) == len(group) {
			return shortKey(group[0] + ":" + strings.Join(parts, "|")), true
		}
	}

	return rec.contentKey(), false
}

// keyText returns the text of a field in a key. It prefers the value, so that 1/10/2026 and 01/10/2026 are the same day.
func (rec *record) keyText(name string) string {
	at := rec.kind.find(name)
	if v := rec.value[at]; v != nil {
		return strings.Trim(string(v), `"`)
	}

	return rec.text[at]
}

// contentKey returns a hash of all values, with the parts.
func (rec *record) contentKey() string {
	sum := sha256.New()

	for i := range rec.value {
		f := &rec.kind.fields[i]
		if rec.value[i] != nil && (f.into != "" || f.isLine || f.name == "reference") {
			sum.Write([]byte(f.name + "="))
			sum.Write(rec.value[i])
			sum.Write([]byte{0})
		}
	}

	for _, p := range rec.parts {
		sum.Write([]byte(p.contentKey()))
	}

	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// longestKey bounds a name that is kept as it is, in bytes.
const longestKey = 200

// shortKey returns a name, or its hash if it is long.
func shortKey(name string) string {
	if len(name) <= longestKey {
		return name
	}

	sum := sha256.Sum256([]byte(name))

	return hex.EncodeToString(sum[:16])
}

// group returns the text that all rows of a record share, empty if the row is a record by itself. Stays have several
// rows only in files with a line in each row.
func (r *reader) group(rec *record) string {
	if rec.kind.together != nil && !r.has("lineType") && !r.has("lineAmount") {
		return ""
	}

	for _, name := range rec.kind.groups {
		if text := fold(rec.text[rec.kind.find(name)]); text != "" {
			return name + ":" + text
		}
	}

	if rec.kind.together == nil {
		return ""
	}

	// Without a code, rows belong to one stay if all of these fields are equal.
	parts := make([]string, len(rec.kind.together))
	for i, name := range rec.kind.together {
		parts[i] = fold(rec.text[rec.kind.find(name)])
	}

	return strings.Join(parts, "|")
}

// text returns a JSON text, empty for anything else.
func text(raw json.RawMessage) (s string) {
	// Most texts have no escapes.
	if n := len(raw); n >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : n-1])
	}

	_ = json.Unmarshal(raw, &s)

	return s
}

// apart returns the texts of the fields that tell records with one number from each other, such as the house and the
// days of stays of one booking.
func (rec *record) apart() []string {
	out := make([]string, len(rec.kind.apart))
	for i, name := range rec.kind.apart {
		out[i] = fold(rec.keyText(name))
	}

	return out
}
