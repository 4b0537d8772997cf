package fee

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stayledger/platform/money"
)

// The names a formula can use beside the types of reservation lines. Like Discount they are amounts taken away, stated as positive numbers.
const (
	MerchantFee = "merchantFee"
	ChannelFee  = "channelFee"
	// Discount is the line type whose amounts are negative; in a formula it is what was granted: rent - discount.
	Discount = "discount"
)

// Formula is what a percentage fee is taken of: sums and differences of line types, each or several in parentheses times a share.
//
//	formula = ["-"] term { ("+" | "-") term }
//	term    = [share "*"] factor | factor "*" share
//	factor  = name | "(" formula ")"
//	share   = number ["%"]
//	name    = letter { letter | digit | "_" } | '"' any text '"'
//
// A share has at most five decimals, three before a percent sign: rates are parts per 100000. The zero Formula is empty and worth nothing.
type Formula struct {
	root  node
	names []string
}

// FormulaError says what is wrong with a formula, and where: Position counts characters from 1.
type FormulaError struct {
	Position int
	Message  string
}

// Error is the message with the position.
func (e *FormulaError) Error() string { return fmt.Sprintf("character %d: %s", e.Position, e.Message) }

// node is a part of a parsed formula. Each kind knows its own value, so a new kind of term is a new type.
type node interface {
	value(of func(name string) money.Cents) money.Cents
}

type (
	nameNode  string
	shareNode struct {
		rate money.Rate
		of   node
	}
	sumNode struct{ terms []signedTerm }
)

type signedTerm struct {
	negative bool
	term     node
}

func (n nameNode) value(of func(string) money.Cents) money.Cents { return of(string(n)) }

// value rounds each share by itself, half away from zero.
func (n shareNode) value(of func(string) money.Cents) money.Cents { return n.rate.Of(n.of.value(of)) }

func (n sumNode) value(of func(string) money.Cents) (sum money.Cents) {
	for _, t := range n.terms {
		v := held(t.term.value(of))
		if t.negative {
			v = -v
		}
		sum = held(sum + v)
	}
	return sum
}

// held keeps an absurd amount absurd instead of letting a sum wrap into a plausible one; the ledger refuses it.
func held(c money.Cents) money.Cents {
	const limit = 1 << 61
	return min(max(c, -limit), limit)
}

// Value is the formula's amount; of tells the amount behind a name.
func (f Formula) Value(of func(name string) money.Cents) money.Cents {
	if f.root == nil {
		return 0
	}
	return f.root.value(of)
}

// Names are the names that the formula uses, in the order of their first use.
func (f Formula) Names() []string { return f.names }

const (
	maxFormula = 1000
	maxDepth   = 20
)

// ParseFormula reads a formula. An empty one is no formula and gives a *FormulaError, as everything does that the grammar does not have.
func ParseFormula(text string) (Formula, error) {
	p := &parser{text: text}
	if len(text) > maxFormula || !utf8.ValidString(text) {
		return Formula{}, &FormulaError{1, "the formula is too long or not text"}
	}
	root, err := p.sum()
	if err != nil {
		return Formula{}, err
	}
	if p.skip(); p.at < len(p.text) {
		return Formula{}, p.fail("expected + or -")
	}
	return Formula{root: root, names: p.names}, nil
}

type parser struct {
	text  string
	at    int
	depth int
	names []string
}

func (p *parser) fail(message string) error {
	return &FormulaError{utf8.RuneCountInString(p.text[:p.at]) + 1, message}
}

func (p *parser) skip() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
}

// peek is the next character that is no space, and 0 at the end.
func (p *parser) peek() byte {
	if p.skip(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) sum() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("too many parentheses")
	}
	defer func() { p.depth-- }()
	var s sumNode
	negative := p.take('-')
	for {
		term, err := p.term()
		if err != nil {
			return nil, err
		}
		s.terms = append(s.terms, signedTerm{negative, term})
		switch p.peek() {
		case '+', '-':
			negative = p.text[p.at] == '-'
			p.at++
		default:
			if len(s.terms) == 1 && !s.terms[0].negative {
				return s.terms[0].term, nil
			}
			return s, nil
		}
	}
}

func (p *parser) term() (node, error) {
	if isDigit(p.peek()) {
		rate, err := p.share()
		if err != nil {
			return nil, err
		}
		if !p.take('*') {
			return nil, p.fail("expected * and a line type after the share")
		}
		factor, err := p.factor()
		return shareNode{rate, factor}, err
	}
	factor, err := p.factor()
	if err != nil || !p.take('*') {
		return factor, err
	}
	p.skip()
	rate, err := p.share()
	return shareNode{rate, factor}, err
}

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
		length := strings.IndexByte(p.text[p.at+1:], '"')
		if length < 1 {
			return nil, p.fail("the quoted line type has no end or is empty")
		}
		name := p.text[p.at+1 : p.at+1+length]
		p.at += length + 2
		return p.named(name), nil
	case isLetter(c):
		start := p.at
		for p.at < len(p.text) && (isLetter(p.text[p.at]) || isDigit(p.text[p.at]) || p.text[p.at] == '_') {
			p.at++
		}
		return p.named(p.text[start:p.at]), nil
	default:
		return nil, p.fail("expected a line type, a share or (")
	}
}

func (p *parser) named(name string) node {
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
	return nameNode(name)
}

// share reads a number, as parts of one or with a percent sign, in parts per 100000.
func (p *parser) share() (money.Rate, error) {
	start := p.at
	for p.at < len(p.text) && (isDigit(p.text[p.at]) || p.text[p.at] == '.') {
		p.at++
	}
	whole, fraction, hasPoint := strings.Cut(p.text[start:p.at], ".")
	decimals := 5
	end := p.at
	if p.take('%') {
		decimals = 3
	} else {
		p.at = end
	}
	if whole == "" || len(whole) > 6 || len(fraction) > decimals || hasPoint && fraction == "" || strings.Contains(fraction, ".") {
		p.at = start
		return 0, p.fail("expected a share such as 20%, 7.25% or 0.2, of at most five decimals")
	}
	parts, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil {
		p.at = start
		return 0, p.fail("expected a share such as 20%, 7.25% or 0.2, of at most five decimals")
	}
	return money.Rate(parts), nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
