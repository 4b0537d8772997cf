package rule

import (
	"slices"
	"sort"

	"stayledger/platform/money"
)

// bands are the stretches of amounts between all limits of rules, from the lowest up. Each has the rules within whose
// limits it lies.
type bands struct {
	from []money.Cents
	sets []set
}

func banded(rules []compiled, tests []test) bands {
	limits := make([]money.Range, len(rules))
	from := []money.Cents{0}

	for i := range rules {
		limits[i] = rules[i].limits(tests)
		from = append(from, max(limits[i].Low, 0), limits[i].High+1)
	}

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

// at are the rules that an amount is within the limits of. It is not negative.
func (b *bands) at(amount money.Cents) set {
	return b.sets[sort.Search(len(b.from), func(i int) bool { return b.from[i] > amount })-1]
}

// limits are the amounts outside of which not all conditions of a rule can hold. A rule that any of its conditions is
// enough for has none.
func (c *compiled) limits(tests []test) money.Range {
	all := money.Range{Low: 0, High: money.MaxCents}
	if c.MatchMode == Any {
		return all
	}

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
