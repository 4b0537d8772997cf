package rule

import (
	"slices"
	"strings"

	"stayledger/platform/money"
	"stayledger/platform/plain"
)

// Field is the part of a record that a condition compares.
type Field string

// The fields. Texts are compared without regard to capitals and white space. An amount is that of the record without
// its sign: the type of the rule says the direction.
const (
	Description Field = "description"
	// Reference is the record's uniqueRef: the caller's or the bank's own reference.
	Reference Field = "reference"
	Amount    Field = "amount"
)

// fields is everything that a condition can compare. A field is a line here, and nothing else: the description, the
// checks and the engine follow.
var fields = []struct {
	name      Field
	operators []Operator
	text      func(r *Record) string // nil for the amount, which is no text
}{
	{Description, ofTexts, func(r *Record) string { return r.Description }},
	{Reference, ofTexts, func(r *Record) string { return r.Reference }},
	{Amount, []Operator{Equals, NotEquals, GreaterThan, LessThan, Between}, nil},
}

// ofTexts are the operators of texts.
var ofTexts = []Operator{Equals, NotEquals, Contains, NotContains, StartsWith, EndsWith}

// Enum lists the fields.
func (Field) Enum() []string {
	out := make([]string, len(fields))
	for i := range fields {
		out[i] = string(fields[i].name)
	}

	return out
}

// place returns the index of a field, -1 for one that does not exist.
func (f Field) place() int {
	for i := range fields {
		if fields[i].name == f {
			return i
		}
	}

	return -1
}

// Operator compares a field with a value.
type Operator string

// The operators. The first two are those of every field.
const (
	Equals      Operator = "equals"
	NotEquals   Operator = "notEquals"
	Contains    Operator = "contains"
	NotContains Operator = "notContains"
	StartsWith  Operator = "startsWith"
	EndsWith    Operator = "endsWith"
	GreaterThan Operator = "greaterThan"
	LessThan    Operator = "lessThan"
	// Between takes a range of cents with both ends in it.
	Between Operator = "between"
)

// Enum lists the operators.
func (Operator) Enum() []string {
	return []string{
		string(Equals), string(NotEquals), string(Contains), string(NotContains), string(StartsWith), string(EndsWith),
		string(GreaterThan), string(LessThan), string(Between),
	}
}

// Condition is something that holds for a record or does not.
type Condition struct {
	Type     Field    `json:"type"`
	Operator Operator `json:"operator" doc:"amount: equals, notEquals, greaterThan, lessThan, between; the others: equals, notEquals, contains, notContains, startsWith, endsWith."`
	Value    string   `json:"value" maxLength:"255" doc:"A text, or cents without a sign, for between a range such as 1000...2000."`
}

// operators returns the operators of a field, or none for a field that does not exist.
func (f Field) operators() []Operator {
	if at := f.place(); at >= 0 {
		return fields[at].operators
	}

	return nil
}

// amounts reads the value of a condition on amounts; false for one that is none.
func (c Condition) amounts() (money.Range, bool) {
	r, err := money.ParseRange(c.Value)
	return r, err == nil && r.Low >= 0 && (c.Operator == Between || r.Low == r.High)
}

// test is a condition with its value read.
type test struct {
	field    Field
	place    int // of the field
	operator Operator
	text     string
	amounts  money.Range
}

// compile returns the test of a condition that passed Check.
func (c Condition) compile() test {
	if c.Type == Amount {
		amounts, _ := c.amounts()
		return test{field: c.Type, place: c.Type.place(), operator: c.Operator, amounts: amounts}
	}

	return test{field: c.Type, place: c.Type.place(), operator: c.Operator, text: plain.Text(c.Value)}
}

// facts has the values that conditions compare, normalized once for a record.
type facts struct {
	texts  []string // by the places of fields; empty for the amount
	amount money.Cents
}

// read takes the facts of a record.
func (f *facts) read(r *Record) {
	f.texts, f.amount = f.texts[:0], max(r.Amount, -r.Amount)

	for i := range fields {
		text := ""
		if of := fields[i].text; of != nil {
			text = plain.Text(of(r))
		}

		f.texts = append(f.texts, text)
	}
}

// holds reports whether the condition holds for the facts of a record.
func (t *test) holds(f *facts) bool {
	if t.field == Amount {
		return t.holdsFor(f.amount)
	}

	text := f.texts[t.place]
	switch t.operator {
	case Equals:
		return text == t.text
	case NotEquals:
		return text != t.text
	case Contains:
		return strings.Contains(text, t.text)
	case NotContains:
		return !strings.Contains(text, t.text)
	case StartsWith:
		return strings.HasPrefix(text, t.text)
	case EndsWith:
		return strings.HasSuffix(text, t.text)
	case GreaterThan, LessThan, Between:
	}

	return false
}

// holdsFor returns true if the test holds for an amount. Operators for texts hold for none.
func (t *test) holdsFor(amount money.Cents) bool {
	within := t.amounts.Low <= amount && amount <= t.amounts.High
	switch t.operator {
	case Equals, Between:
		return within
	case NotEquals:
		return !within
	case GreaterThan:
		return amount > t.amounts.High
	case LessThan:
		return amount < t.amounts.Low
	case Contains, NotContains, StartsWith, EndsWith:
	}

	return false
}

// Holding returns the indexes of the rule's conditions that hold for a record, from 0.
func (r *Rule) Holding(record *Record) []int {
	var f facts

	f.read(record)

	places := []int{}

	for i, c := range r.Conditions {
		if t := c.compile(); t.holds(&f) {
			places = append(places, i)
		}
	}

	return places
}

// key is something that a record has when a condition holds: three bytes of a text, or an amount.
type key struct {
	field Field
	value int64
}

// gramLength is how many bytes of a text make a key.
const gramLength = 3

func gram(text string, at int) int64 {
	return int64(text[at])<<16 | int64(text[at+1])<<8 | int64(text[at+2])
}

// keys returns the keys that a record must have for the condition to hold, or none if nothing follows from it. A
// text must have all three-letter pieces of the value.
func (t *test) keys() []key {
	switch {
	case t.field == Amount && t.amounts.Low == t.amounts.High && (t.operator == Equals || t.operator == Between):
		return []key{{Amount, int64(t.amounts.Low)}}
	case t.field == Amount || t.operator == NotEquals || t.operator == NotContains:
		return nil
	}

	var keys []key
	for at := 0; at+gramLength <= len(t.text); at++ {
		if k := (key{t.field, gram(t.text, at)}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}

	return keys
}
