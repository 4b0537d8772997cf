package rule

import (
	"slices"
	"sort"

	"stayledger/platform/money"
)

// bands divides amounts at all limits of rules, from the lowest up. Each stretch has the set of rules that have it
// within their limits it lies.
type bands struct {
	from []money.Cents
	sets []set
}

// newBands returns the bands of rules.
func newBands(rules []compiled, tests []test) bands {
	limits := make([]money.Range, len(rules))
	from := []money.Cents{0}

	for i := range rules {
		limits[i] = rules[i].limits(tests)
		from = append(from, max(limits[i].Low, 0), limits[i].High+1)
	}

	// Each limit begins a stretch; inside of one no rule begins or ends.
	slices.Sort(from)

	b := bands{from: slices.Compact(from)}
	for _, start := range b.from {
		within := newSet(len(rules))

		for i, l := range limits {
			if l.Low <= start && start <= l.High {
				within.add(i)
			}
		}

		b.sets = append(b.sets, within)
	}

	return b
}

// at returns the rules that have an amount within their limits. The amount must not be negative.
func (b *bands) at(amount money.Cents) set {
	return b.sets[sort.Search(len(b.from), func(i int) bool { return b.from[i] > amount })-1]
}

// limits returns the range outside of which not all conditions of a rule can hold. A rule that needs only one of
// its conditions has no limits.
func (c *compiled) limits(tests []test) money.Range {
	all := money.Range{Low: 0, High: money.MaxCents}
	if c.MatchMode == Any {
		return all
	}

	// All conditions must hold, so each one narrows the range.
	for _, n := range c.tests {
		t := &tests[n]
		if t.field != Amount {
			continue
		}

		switch t.operator {
		case Equals, Between:
			all.Low, all.High = max(all.Low, t.amounts.Low), min(all.High, t.amounts.High)
		case GreaterThan:
			all.Low = max(all.Low, t.amounts.High+1)
		case LessThan:
			all.High = min(all.High, t.amounts.Low-1)
		case NotEquals, Contains, NotContains, StartsWith, EndsWith:
		}
	}

	return all
}
