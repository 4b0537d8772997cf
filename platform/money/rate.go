package money

import (
	"fmt"
	"strings"
)

// Rate is a share in parts per 100000: 7250 is 7.25 %. It can be negative or above the whole.
type Rate int64

// WholeRate is 100 %.
const WholeRate Rate = 100_000

// Of returns the rate's share of an amount, rounded half away from zero. A product beyond int64 is limited to its
// range, which Cents.Valid refuses, instead of wrapping to a plausible amount.
func (r Rate) Of(c Cents) Cents {
	return withSign(mulDiv(c.magnitude(), Cents(r).magnitude(), uint64(WholeRate)), (r < 0) != (c < 0))
}

// TaxIn returns the tax at this rate that a gross amount contains: gross·r/(100000+r), rounded half away from
// zero. Subtract it from the gross amount for the net one; Of the net amount can be a cent off. TaxIn panics at
// −100 % and below, because no gross amount contains such a tax.
func (r Rate) TaxIn(gross Cents) Cents {
	if r <= -WholeRate {
		panic("money: no amount includes a tax of minus the whole")
	}
	// Unsigned: WholeRate+r wraps for the largest rates.
	divisor := uint64(WholeRate) + uint64(r) //nolint:gosec // a negative rate wraps back above zero by the check above.

	return withSign(mulDiv(gross.magnitude(), Cents(r).magnitude(), divisor), (r < 0) != (gross < 0))
}

// Percent returns the rate as a percentage with as many decimal places as it needs, such as 12.5%.
func (r Rate) Percent() string {
	if r < 0 {
		return "−" + (-r).Percent()
	}

	whole, rest := r/1000, r%1000
	if rest == 0 {
		return fmt.Sprintf("%d%%", whole)
	}

	return fmt.Sprintf("%d.%s%%", whole, strings.TrimRight(fmt.Sprintf("%03d", rest), "0"))
}
