package payout

// Due and Divide are the arithmetic of payouts, for the property tests.
var (
	Due    = computeDue
	Divide = splitDue
)
