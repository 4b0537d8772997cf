package fee

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stayledger/platform/id"
	"stayledger/platform/money"
)

// The names a formula can use in addition to the types of reservation lines. Like Discount they are deductions, stated
// as positive numbers.
const (
	MerchantFee = "merchantFee"
	ChannelFee  = "channelFee"
	// Discount is the line type with negative amounts. In a formula it is the positive sum granted: rent - discount.
	Discount = "discount"
)

// Formula is the base of a percentage fee: sums and differences of line types, other fees and accounts, each or several
// in parentheses times a share. A Grammar decides which names and references a formula may use.
//
//	formula   = ["-"] term { ("+" | "-") term }
//	quotient  = formula "/" formula
//	term      = [share "*"] factor | factor "*" share
//	factor    = name | reference | "(" formula ")"
//	reference = ("fee" | "account" | "column") "(" string ")"
//	share     = number ["%"]
//	string    = '"' any text '"'
//	name      = letter { letter | digit | "_" } | string
//
// In a quoted text a backslash takes the next character as it is. A share has at most five decimals, three before a
// percent sign: rates are parts per 100000. The zero Formula is empty and worth nothing.
type Formula struct {
	text     string
	root     node
	divisor  node
	names    []string
	nameAt   []int
	mentions []*mention
}

// RefKind is the kind of record that a formula refers to by name.
type RefKind string

// The kinds of references.
const (
	RefFee     RefKind = "fee"
	RefAccount RefKind = "account"
	// RefColumn is a column of a section of an owner statement.
	RefColumn RefKind = "column"
)

// Grammar says what formulas of one use are made of.
type Grammar struct {
	// Names is the kind that a plain name refers to; empty for a type of reservation lines.
	Names RefKind
	// References are the kinds that are named in full, such as account("4000").
	References []RefKind
	// Quotient formulas are two formulas with a slash between them.
	Quotient bool
}

// noun returns the word for the grammar's plain names in messages.
func (g Grammar) noun() string {
	if g.Names == "" {
		return "line type"
	}

	return string(g.Names)
}

// Reference is a record that a formula refers to: ID is the id of a fee, an account or a column.
type Reference struct {
	Kind RefKind `json:"kind"`
	// Name as the text of the formula has it.
	Name string `json:"name"`
	ID   id.ID  `json:"id"`
	// Current is its name today; empty when it is not known.
	Current string `json:"current"`
}

// mention is a place in a formula that refers to something. The name, in quotation marks unless it is a plain one, lies
// between two offsets of the text.
type mention struct {
	Reference
	from, to int
	plain    bool
}

// Place is a place in a formula that refers to a record: Position counts characters from 1.
type Place struct {
	Reference
	Position int
}

// Values give the amounts for the names in a formula. Names of a nil function are worth nothing.
type Values struct {
	Line    func(name string) money.Cents
	Fee     func(feeID id.ID) money.Cents
	Account func(accountID id.ID) money.Cents
	Column  func(columnID id.ID) money.Cents
}

// FormulaError says what is wrong with a formula, and where: Position counts characters from 1.
type FormulaError struct {
	Position int
	Message  string
}

// Error returns the message with the position.
func (e *FormulaError) Error() string { return fmt.Sprintf("character %d: %s", e.Position, e.Message) }

// node is a part of a parsed formula. Each kind knows its own value, so a new kind of term is a new type.
type node interface {
	value(of *Values) money.Cents
}

type (
	nameNode    string
	mentionNode struct{ *mention }
	shareNode   struct {
		rate money.Rate
		of   node
	}
	sumNode struct{ terms []signedTerm }
)

type signedTerm struct {
	negative bool
	term     node
}

// value returns the amount of a line type.
func (n nameNode) value(of *Values) money.Cents {
	if of.Line == nil {
		return 0
	}

	return of.Line(string(n))
}

// value returns the amount of a fee, an account or a column; a reference that is not bound is worth nothing.
func (n mentionNode) value(of *Values) money.Cents {
	switch {
	case n.ID.IsZero():
		return 0
	case n.Kind == RefFee && of.Fee != nil:
		return of.Fee(n.ID)
	case n.Kind == RefAccount && of.Account != nil:
		return of.Account(n.ID)
	case n.Kind == RefColumn && of.Column != nil:
		return of.Column(n.ID)
	default:
		return 0
	}
}

// value rounds each share by itself, half away from zero.
func (n shareNode) value(of *Values) money.Cents { return n.rate.Of(n.of.value(of)) }

// value returns the sum of the terms.
func (n sumNode) value(of *Values) (sum money.Cents) {
	for _, t := range n.terms {
		// Every step is bounded, so that no intermediate sum can wrap.
		v := clamp(t.term.value(of))
		if t.negative {
			v = -v
		}

		sum = clamp(sum + v)
	}

	return sum
}

// clamp bounds an amount, so that an absurd one stays absurd instead of wrapping into a plausible one. The ledger
// refuses it later.
func clamp(c money.Cents) money.Cents {
	const limit = 1 << 61
	return min(max(c, -limit), limit)
}

// Value returns the formula's amount.
func (f Formula) Value(of Values) money.Cents {
	if f.root == nil {
		return 0
	}

	return clamp(f.root.value(&of))
}

// Quotient returns both amounts of a formula that divides one by another.
func (f Formula) Quotient(of Values) (dividend, divisor money.Cents) {
	if f.divisor != nil {
		divisor = clamp(f.divisor.value(&of))
	}

	return f.Value(of), divisor
}

// Names returns the line types that the formula uses, in the order of their first use.
func (f Formula) Names() []string { return f.names }

// References returns the records that the formula refers to, each once, in the order of their first use.
func (f Formula) References() []Reference {
	out := []Reference{}
	for _, m := range f.mentions {
		// Two mentions of one name are equal references, so only the first is listed.
		if !slices.Contains(out, m.Reference) {
			out = append(out, m.Reference)
		}
	}

	return out
}

// Places returns the places where the formula refers to a record, in the order of the text.
func (f Formula) Places() []Place {
	out := make([]Place, len(f.mentions))
	for i, m := range f.mentions {
		out[i] = Place{m.Reference, f.position(m.from)}
	}

	return out
}

// Bind sets the records that the references of the formula stand for, the last of several with one name. A
// reference that is not among the known ones stays unknown and is worth nothing.
func (f Formula) Bind(known []Reference) {
	for _, m := range f.mentions {
		for _, k := range known {
			// No break here: the last one with the name counts.
			if k.Kind == m.Kind && k.Name == m.Name {
				m.ID, m.Current = k.ID, k.Current
			}
		}
	}
}

// Text returns the formula as it was written, with the current names of the records that it refers to.
func (f Formula) Text() string {
	var b strings.Builder

	at := 0

	for _, m := range f.mentions {
		// A name that has not changed stays as the caller wrote it.
		if m.Current == "" || m.Current == m.Name {
			continue
		}

		// Keep the text up to the old name, then write the current one, in quotation marks if it needs them.
		b.WriteString(f.text[at:m.from])

		if m.plain && isName(m.Current) {
			b.WriteString(m.Current)
		} else {
			b.WriteString(quote(m.Current))
		}

		at = m.to
	}

	b.WriteString(f.text[at:])

	return b.String()
}

// isName reports whether a name can be used in a formula without quotation marks.
func isName(name string) bool {
	for i := range len(name) {
		// A digit or an underscore may follow a letter, but not come first.
		if !isLetter(name[i]) && (i == 0 || !isNamePart(name[i])) {
			return false
		}
	}

	return name != ""
}

// quote returns a name in quotation marks, escaped as formulas expect it.
func quote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// position returns the position of a byte of the text, in characters from 1.
func (f Formula) position(offset int) int { return utf8.RuneCountInString(f.text[:offset]) + 1 }

const (
	maxFormula = 4000 // bytes of the 1000 characters that a caller may write
	maxDepth   = 20
)

// ParseFormula reads the formula of a fee. It fails with a *FormulaError for an empty text and for anything else
// that the grammar does not have.
func ParseFormula(text string) (Formula, error) {
	return Grammar{References: []RefKind{RefFee, RefAccount}}.Parse(text)
}

// Parse reads a formula. It fails with a *FormulaError for an empty text and for anything else that the grammar
// does not have.
func (g Grammar) Parse(text string) (Formula, error) {
	p := &parser{grammar: g, text: text}

	// Positions count characters, so the text has to be valid before anything else.
	if len(text) > maxFormula || !utf8.ValidString(text) {
		return Formula{}, &FormulaError{1, "the formula is too long or not text"}
	}

	// A formula is one sum, or two with a slash between them.
	root, err := p.sum()
	if err != nil {
		return Formula{}, err
	}

	var divisor node

	if g.Quotient {
		if !p.take('/') {
			return Formula{}, p.fail("expected +, - or /")
		}

		if divisor, err = p.sum(); err != nil {
			return Formula{}, err
		}
	}

	// Anything left over is a mistake: the sum ended where no operator followed.
	if p.skip(); p.at < len(p.text) {
		return Formula{}, p.fail("expected + or -")
	}

	return Formula{
		text:     text,
		root:     root,
		divisor:  divisor,
		names:    p.names,
		nameAt:   p.nameAt,
		mentions: p.mentions,
	}, nil
}

// parser reads a formula from left to right. The field at is the offset of the next byte, depth the number of open
// parentheses.
type parser struct {
	grammar  Grammar
	text     string
	at       int
	depth    int
	names    []string
	nameAt   []int
	mentions []*mention
}

// fail returns the error at the current position.
func (p *parser) fail(message string) error {
	return &FormulaError{utf8.RuneCountInString(p.text[:p.at]) + 1, message}
}

// skip skips white space.
func (p *parser) skip() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
}

// peek returns the next character that is no space, and 0 at the end.
func (p *parser) peek() byte {
	if p.skip(); p.at < len(p.text) {
		return p.text[p.at]
	}

	return 0
}

// take consumes the next character if it is c, and reports whether it was.
func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}

	p.at++

	return true
}

// sum reads terms joined by + and -, the first with an optional sign.
func (p *parser) sum() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("too many parentheses")
	}
	defer func() { p.depth-- }()

	var s sumNode

	// The depth is bounded, so that a formula cannot exhaust the stack.
	negative := p.take('-')
	for {
		term, err := p.term()
		if err != nil {
			return nil, err
		}

		s.terms = append(s.terms, signedTerm{negative, term})

		// An operator that follows continues the sum with its sign.
		switch p.peek() {
		case '+', '-':
			negative = p.text[p.at] == '-'
			p.at++
		default:
			// A single positive term needs no sum around it.
			if len(s.terms) == 1 && !s.terms[0].negative {
				return s.terms[0].term, nil
			}

			return s, nil
		}
	}
}

// term reads a factor, with an optional share before or after it.
func (p *parser) term() (node, error) {
	if isDigit(p.peek()) {
		// A term that begins with a number begins with its share.
		rate, err := p.share()
		if err != nil {
			return nil, err
		}

		if !p.take('*') {
			return nil, p.fail("expected * and a " + p.grammar.noun() + " after the share")
		}

		factor, err := p.factor()

		return shareNode{rate, factor}, err
	}

	// A share may also follow the factor.
	factor, err := p.factor()
	if err != nil || !p.take('*') {
		return factor, err
	}

	p.skip()
	rate, err := p.share()

	return shareNode{rate, factor}, err
}

// factor reads a name, a reference or a formula in parentheses.
func (p *parser) factor() (node, error) {
	switch c := p.peek(); {
	case c == '(':
		p.at++

		inner, err := p.sum()
		if err != nil {
			return nil, err
		}

		if !p.take(')') {
			return nil, p.fail("expected )")
		}

		return inner, nil
	case c == '"':
		start := p.at
		name, err := p.readQuoted(p.grammar.noun())

		return p.noteName(name, start), err
	case isLetter(c):
		start := p.at
		for p.at < len(p.text) && isNamePart(p.text[p.at]) {
			p.at++
		}

		// The word of a kind is a reference only if a parenthesis follows; otherwise it is a plain name.
		name, end := p.text[start:p.at], p.at
		if kind := RefKind(name); slices.Contains(p.grammar.References, kind) && p.take('(') {
			return p.mention(kind)
		}

		p.at = end

		return p.noteName(name, start), nil
	default:
		return nil, p.fail("expected a " + p.grammar.noun() + ", a share or (")
	}
}

// readQuoted reads a name in quotation marks. A backslash takes the next character as it is.
func (p *parser) readQuoted(what string) (string, error) {
	var b strings.Builder

	for i := p.at + 1; i < len(p.text); i++ {
		// Names are read byte by byte: quotation marks and backslashes are no part of longer characters.
		switch c := p.text[i]; {
		case c == '"' && b.Len() > 0:
			p.at = i + 1
			return b.String(), nil
		case c == '"':
			return "", p.fail("the " + what + " is empty")
		case c == '\\' && i+1 < len(p.text):
			i++
			b.WriteByte(p.text[i])
		default:
			b.WriteByte(c)
		}
	}

	return "", p.fail("the quoted " + what + " has no end")
}

// mention reads the rest of a reference, after its opening parenthesis.
func (p *parser) mention(kind RefKind) (node, error) {
	if p.peek() != '"' {
		return nil, p.fail(`expected the name of the ` + string(kind) + ` in quotation marks`)
	}

	from := p.at

	name, err := p.readQuoted(string(kind))
	if err != nil {
		return nil, err
	}

	// The offsets include the quotation marks, so that Text can replace the name together with them.
	m := &mention{Reference: Reference{Kind: kind, Name: name}, from: from, to: p.at}
	if !p.take(')') {
		return nil, p.fail("expected )")
	}

	p.mentions = append(p.mentions, m)

	return mentionNode{m}, nil
}

// noteName notes a plain name: a line type with the place of its first use, or a reference of the kind that the
// grammar takes names for.
func (p *parser) noteName(name string, at int) node {
	// A plain name of another grammar refers to a record, such as a column.
	if p.grammar.Names != "" {
		m := &mention{Reference: Reference{Kind: p.grammar.Names, Name: name}, from: at, to: p.at, plain: true}
		p.mentions = append(p.mentions, m)

		return mentionNode{m}
	}

	// Each line type is noted once, where it is used first.
	if !slices.Contains(p.names, name) {
		p.names, p.nameAt = append(p.names, name), append(p.nameAt, at)
	}

	return nameNode(name)
}

// share reads a number, as parts of one or with a percent sign, in parts per 100000.
func (p *parser) share() (money.Rate, error) {
	start := p.at
	for p.at < len(p.text) && (isDigit(p.text[p.at]) || p.text[p.at] == '.') {
		p.at++
	}

	// A percent sign takes two of the five decimals. If none follows, the spaces before it are not consumed either.
	whole, fraction, hasPoint := strings.Cut(p.text[start:p.at], ".")
	decimals := 5

	end := p.at
	if p.take('%') {
		decimals = 3
	} else {
		p.at = end
	}

	if whole == "" || len(whole) > 6 || len(fraction) > decimals || hasPoint && fraction == "" ||
		strings.Contains(fraction, ".") {
		p.at = start
		return 0, p.fail("expected a share such as 20%, 7.25% or 0.2, of at most five decimals")
	}

	// With the decimals filled up, the digits are the parts.
	parts, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil {
		p.at = start
		return 0, p.fail("expected a share such as 20%, 7.25% or 0.2, of at most five decimals")
	}

	return money.Rate(parts), nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNamePart(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
