package statement

// Chained gives the figures of months that follow each other from their sums, for the property test.
func Chained(months []monthSum) []Financials {
	out := make([]Financials, len(months))
	for i := range months {
		out[i] = figuresAt(months, months[i].Month).complete()
	}
	return out
}

// MonthSum makes the sums of a month.
type MonthSum = monthSum

// Pay compares payments.
var Pay = paymentOf
