package money

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// ErrRange is returned for a text that is no amount and no range of amounts.
var ErrRange = errors.New("money: not an amount or a range of amounts")

// Range is a value of a filter by amount: from Low to High, both of them included.
type Range struct{ Low, High Cents }

// RangePattern is the form of a Range.
const RangePattern = `^-?[0-9]{1,16}(\.\.\.-?[0-9]{1,16})?$`

var rangeForm = regexp.MustCompile(RangePattern)

// ParseRange reads cents: 100 is from 100 to 100, 100...200 has both ends. Any other form, an end below its start and
// an amount beyond plus or minus 2^53-1 are ErrRange.
func ParseRange(text string) (Range, error) {
	if !rangeForm.MatchString(text) {
		return Range{}, ErrRange
	}

	from, to, isRange := strings.Cut(text, "...")
	if !isRange {
		to = from
	}

	low, _ := strconv.ParseInt(from, 10, 64) // the form bounds the digits
	high, _ := strconv.ParseInt(to, 10, 64)

	r := Range{Cents(low), Cents(high)}
	if low > high || !r.Low.Valid() || !r.High.Valid() {
		return Range{}, ErrRange
	}

	return r, nil
}

// String returns the form that ParseRange reads.
func (r Range) String() string {
	if r.Low == r.High {
		return strconv.FormatInt(int64(r.Low), 10)
	}

	return strconv.FormatInt(int64(r.Low), 10) + "..." + strconv.FormatInt(int64(r.High), 10)
}

// MarshalText returns the form that ParseRange reads.
func (r Range) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what ParseRange reads, and fails as it does.
func (r *Range) UnmarshalText(text []byte) error {
	parsed, err := ParseRange(string(text))
	*r = parsed

	return err
}

// maxRanges is how many ranges one text can have.
const maxRanges = 10

// Ranges is a filter by several amounts in one text, separated by commas: what lies in any of them.
type Ranges []Range

// MarshalText joins the ranges.
func (r Ranges) MarshalText() ([]byte, error) {
	texts := make([]string, len(r))
	for i := range r {
		texts[i] = r[i].String()
	}

	return []byte(strings.Join(texts, ",")), nil
}

// UnmarshalText reads up to ten ranges; anything else is ErrRange.
func (r *Ranges) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ",")
	if len(parts) > maxRanges {
		return ErrRange
	}

	out := make(Ranges, len(parts))
	for i, part := range parts {
		if err := out[i].UnmarshalText([]byte(part)); err != nil {
			return err
		}
	}

	*r = out

	return nil
}
