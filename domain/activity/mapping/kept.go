package mapping

import (
	"slices"
	"strings"
)

// The types of lines that count although their reservation is canceled: the cancellation amount, the tax on it, a
// deposit still held, and the difference between a system's lines and its total.
const (
	Retained        = "retained"
	RetainedTax     = "retainedTax"
	RetainedDeposit = "retainedDeposit"
	Difference      = "difference"
)

var kept = []string{Retained, RetainedTax, RetainedDeposit, Difference}

// IsKept reports whether lines of a type count while their reservation is canceled.
func IsKept(lineType string) bool { return slices.Contains(kept, lineType) }

// CountsSQL is the SQL condition that lines of a type count at reservations with a status, which are SQL expressions.
func CountsSQL(status, lineType string) string {
	return "(" + status + " = 'booked' or " + status + " = 'canceled' and " +
		lineType + " in ('" + strings.Join(kept, "', '") + "'))"
}
