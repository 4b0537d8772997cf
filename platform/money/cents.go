// Package money holds amounts as integers: cents, the splitting of cents, and rates in parts per 100000.
//
// Nothing here is a float, and nothing here wraps: products are taken in 128 bits. What an amount is divided into
// always adds up to the amount again, because a cent lost in a split is a trust account that does not reconcile.
package money

import "strconv"

// Cents is an amount in the smallest unit of its currency; a JSON integer. For a currency with two minor digits that is
// the cent, for the yen it is the yen. The currency itself is stored next to the amount.
type Cents int64

// MaxCents is the largest magnitude a request may carry: a JSON number stays exact up to it in every client.
const MaxCents = 1<<53 - 1

// Valid reports whether the amount lies in plus or minus MaxCents.
func (c Cents) Valid() bool {
	return c >= -MaxCents && c <= MaxCents
}

// Decimal returns the plain decimal that files and programs read: no groups, a point, and as many places as the
// currency has, such as -1234.50 for usd, -123450 for jpy and -123.450 for kwd. There is no String: an amount without
// its currency has no decimal.
func (c Cents) Decimal(currency Currency) string {
	return string(c.AppendDecimal(nil, currency.MinorDigits()))
}

// AppendDecimal appends the plain decimal with so many places. It allocates nothing, because exports contain
// millions of amounts.
func (c Cents) AppendDecimal(b []byte, places int) []byte {
	if c < 0 {
		b = append(b, '-')
	}

	var text [20]byte

	digits := strconv.AppendUint(text[:0], c.magnitude(), 10)

	point := len(digits) - places
	if places <= 0 {
		return append(b, digits...)
	}

	// Below one whole unit there are fewer digits than places, or just as many.
	if point <= 0 {
		b = append(b, '0', '.')
		for ; point < 0; point++ {
			b = append(b, '0')
		}

		return append(b, digits...)
	}

	b = append(b, digits[:point]...)
	b = append(b, '.')

	return append(b, digits[point:]...)
}

// magnitude returns the absolute value. It is unsigned, because the smallest int64 has no positive counterpart.
func (c Cents) magnitude() uint64 {
	if c < 0 {
		return -uint64(c) //nolint:gosec // two's complement negation is exact here, the smallest value included.
	}

	return uint64(c)
}

// withSign turns a magnitude back into an amount, limited to the range of int64.
func withSign(magnitude uint64, negative bool) Cents {
	const limit = uint64(1) << 63
	switch {
	case negative && magnitude >= limit:
		return Cents(-1 << 63)
	case negative:
		return -Cents(magnitude) //nolint:gosec // below 1<<63 by the case above.
	case magnitude >= limit:
		return Cents(limit - 1)
	default:
		return Cents(magnitude) //nolint:gosec // below 1<<63 by the case above.
	}
}
