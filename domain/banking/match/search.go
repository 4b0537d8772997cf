package match

import (
	"slices"
	"sort"

	"stayledger/platform/money"
)

// mostWays is how many ways a search finds before it stops.
const mostWays = 16

// search finds the ways to take some of each group so that the amounts sum to a positive target. The groups with the
// smallest amounts are put into a table of all sums that they can make; the others are gone through depth first, each
// path as far as what is left can still be reached, and what it lacks is looked up. So twice as many amounts take the
// square of the steps, not more.
type search struct {
	groups []group
	target money.Cents
	// lowest and highest hold the smallest and largest sums of the groups from each one on.
	lowest, highest []money.Cents
	// tail is the first group of the table.
	tail  int
	table []partial
	// nodes are the steps so far: paths and sums of the table. cut says that they were used up.
	nodes, budget int
	cut           bool
	taken         way
	found         []way
}

// partial is a sum of groups of the tail with its number among all of their choices.
type partial struct {
	sum    money.Cents
	choice int
}

// newSearch returns a search for sets of groups that sum up to target. It computes what the groups after each can
// add at least and at most, so that the search can stop early.
func newSearch(groups []group, target money.Cents, budget int) *search {
	s := &search{groups: groups, target: target, budget: budget, taken: make(way, len(groups))}

	s.lowest, s.highest = make([]money.Cents, len(groups)+1), make([]money.Cents, len(groups)+1)
	for i := len(groups) - 1; i >= 0; i-- {
		all := groups[i].amount * money.Cents(len(groups[i].places))
		s.lowest[i] = max(s.lowest[i+1]+min(all, 0), -farthest)
		s.highest[i] = min(s.highest[i+1]+max(all, 0), farthest)
	}

	s.tail = s.balance()

	return s
}

// balance finds where the table begins: it has about as many sums as there are paths before it, and at most a quarter
// of the steps.
func (s *search) balance() int {
	const plenty = 1 << 40

	paths := make([]int, len(s.groups)+1)

	paths[0] = 1
	for i := range s.groups {
		paths[i+1] = min(paths[i]*(len(s.groups[i].places)+1), plenty)
	}

	sums, tail := 1, len(s.groups)
	for tail > 0 {
		wider := sums * (len(s.groups[tail-1].places) + 1)
		if wider > s.budget/4 || wider > paths[tail] {
			break
		}

		sums, tail = wider, tail-1
	}

	return tail
}

func (s *search) searchWays() {
	s.fillTable()
	s.descend(0, s.target)
}

// fillTable computes the sums of the tail. The choice of the first group of the tail counts in ones.
func (s *search) fillTable() {
	s.table = append(s.table, partial{})
	choices := 1

	for _, g := range s.groups[s.tail:] {
		without := s.table
		for k := 1; k <= len(g.places); k++ {
			s.table = mergeSums(s.table, without, partial{g.amount * money.Cents(k), k * choices})
		}

		choices *= len(g.places) + 1
	}

	s.nodes += len(s.table)
}

// mergeSums returns the sums of one table together with those of another one plus a partial sum, in order. Both tables
// must be in order.
func mergeSums(table, other []partial, added partial) []partial {
	out := make([]partial, 0, len(table)+len(other))
	for _, p := range other {
		p.sum, p.choice = p.sum+added.sum, p.choice+added.choice
		for len(table) > 0 && table[0].sum <= p.sum {
			out, table = append(out, table[0]), table[1:]
		}

		out = append(out, p)
	}

	return append(out, table...)
}

// descend goes through the choices of the groups from g on, with an amount left to make up.
func (s *search) descend(g int, left money.Cents) {
	if s.nodes >= s.budget {
		s.cut = true
		return
	}

	s.nodes++
	for g < s.tail && s.lowest[g] == 0 && s.groups[g].amount > left {
		g++ // Nothing brings back what is too much.
	}

	switch {
	case left < s.lowest[g] || left > s.highest[g]:
	case g == s.tail:
		s.complete(left)
	default:
		for k := len(s.groups[g].places); k >= 0 && !s.cut && len(s.found) < mostWays; k-- {
			s.taken[g] = k
			s.descend(g+1, left-s.groups[g].amount*money.Cents(k))
		}
	}
}

// complete adds the ways in which the tail makes up the rest.
func (s *search) complete(left money.Cents) {
	at := sort.Search(len(s.table), func(i int) bool { return s.table[i].sum >= left })
	for ; at < len(s.table) && s.table[at].sum == left && len(s.found) < mostWays; at++ {
		w := slices.Clone(s.taken)

		choice := s.table[at].choice
		for g := s.tail; g < len(s.groups); g++ {
			w[g] = choice % (len(s.groups[g].places) + 1)
			choice /= len(s.groups[g].places) + 1
		}

		s.found = append(s.found, w)
	}
}
