package payout

import (
	"stayledger/domain/settlement/chain"
	"stayledger/platform/id"
)

// Due and Divide are the arithmetic of payouts, for the property tests.
var (
	Due    = computeDue
	Divide = splitDue
)

// Cause is a cause of the table: what it says, and which requests are taken when a statement has it.
type Cause struct {
	Name, Text                                          string
	Refuses, RefusesPreview, Skips, IsPaid, IsPreviewed bool
}

// Causes returns the causes of the table.
func Causes() []Cause {
	out := make([]Cause, len(causes))

	for i := range causes {
		of := &causes[i]
		b := &book{facts: &facts{found: map[id.ID]*chain.Payable{{2}: {}}}, plans: []*plan{{id: id.ID{1}}, {id: id.ID{2}, cause: of.cause}}}
		out[i] = Cause{
			Name: string(of.cause), Text: of.cause.text(), Refuses: of.condition != nil, RefusesPreview: of.refusesPreview, Skips: of.skips,
			IsPaid: b.checkPlans(false) == nil, IsPreviewed: b.checkPlans(true) == nil,
		}
	}

	return out
}
