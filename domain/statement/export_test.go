package statement

// Chained gives the figures of months that follow each other from their sums, for the property test.
func Chained(months []monthSum) []Financials {
	s := sums{}
	for _, m := range months {
		c := chain{m.OwnershipPeriodID, m.Currency}
		s[c] = append(s[c], m)
	}
	out := make([]Financials, len(months))
	for i := range months {
		out[i] = s.figures(key{months[i].OwnershipPeriodID, months[i].Currency, months[i].Month}).complete()
	}
	return out
}

// MonthSum makes the sums of a month.
type MonthSum = monthSum

// Pay compares payments.
var Pay = paymentOf
