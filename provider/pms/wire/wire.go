// Package wire decodes the numbers and texts of systems that are not strict about which of the two they write.
package wire

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// Number is a number as the text of its digits, empty for none. Systems write numbers as texts in places, so both
// are read, and null and an empty text are none. Money never becomes a float.
type Number string

// UnmarshalJSON reads a number, a text or null. It fails for everything else.
func (n *Number) UnmarshalJSON(content []byte) error {
	text := string(content)

	switch {
	case text == "null":
		text = ""
	case strings.HasPrefix(text, `"`):
		unquoted, err := jsontext.AppendUnquote(nil, content)
		if err != nil {
			return pms.Wrong("", pms.BadForm)
		}

		text = strings.TrimSpace(string(unquoted))
	case text[0] != '-' && (text[0] < '0' || text[0] > '9'):
		return pms.Wrong("", pms.BadForm)
	}

	*n = Number(text)

	return nil
}

// Whole returns the number if it is an integer.
func (n Number) Whole() (int64, bool) {
	out, err := strconv.ParseInt(string(n), 10, 64)
	return out, err == nil
}

// Cents returns the number in the smallest unit of a currency, rounded half away from zero; nil for none. It fails for
// texts that are no amount.
func (n Number) Cents(currency money.Currency) (*money.Cents, error) {
	if n == "" {
		return nil, nil //nolint:nilnil // None is an amount that the system does not say.
	}

	cents, _, err := money.ParseDecimal(string(n), currency)
	if err != nil {
		return nil, pms.Wrong("", pms.NotAmount)
	}

	return &cents, nil
}

// Text is a text, empty for null. Numbers are read as their digits: some identifiers come as either.
type Text string

// UnmarshalJSON reads a text, a number or null. It fails for everything else.
func (t *Text) UnmarshalJSON(content []byte) error {
	if strings.HasPrefix(string(content), `"`) {
		unquoted, err := jsontext.AppendUnquote(nil, content)
		if err != nil {
			return pms.Wrong("", pms.BadForm)
		}

		*t = Text(unquoted)

		return nil
	}

	var n Number
	if err := n.UnmarshalJSON(content); err != nil {
		return err
	}

	*t = Text(n)

	return nil
}

// Clean returns the text as it is shown.
func (t Text) Clean() string { return pms.Text(string(t)) }
