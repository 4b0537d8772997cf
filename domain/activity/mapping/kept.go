package mapping

import (
	"slices"
	"strings"
)

// The types of lines that count although their reservation is canceled: what is kept of it, the tax on that, a
// deposit that is held still, and what a system's lines lack of its total.
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
