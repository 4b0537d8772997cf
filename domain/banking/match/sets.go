package match

import (
	"cmp"
	"slices"

	"stayledger/platform/money"
	"stayledger/platform/plain"
)

// answerBySets answers the records that several transactions of one channel sum to, and those that nothing explains.
func answerBySets(asks []*ask, bounds *Bounds) {
	for _, a := range asks {
		a.findPools()
	}
	// Whoever needs few steps leaves the more to the others.
	asks = slices.Clone(asks)
	slices.SortStableFunc(asks, func(x, y *ask) int { return cmp.Compare(x.countCandidates(), y.countCandidates()) })

	left := bounds.AllNodes

	ways := make([]int, len(asks))
	for i, a := range asks {
		ways[i] = a.findSets(min(bounds.Nodes, left/(len(asks)-i)))
		left -= a.answer.Nodes
		a.countWants()
	}

	for i, a := range asks {
		a.concludeSets(ways[i])
	}
}

// concludeSets answers when all records have said what they want. One set of a search that was cut could be one of
// several.
func (a *ask) concludeSets(ways int) {
	partial := slices.ContainsFunc(a.answer.Cut, func(c Cut) bool { return c == CutCandidates || c == CutSearch })
	switch {
	case ways > 0:
		a.settle(OfSet, ways, slices.ContainsFunc(a.wants, func(i int) bool {
			return a.book.items[i].wanted > 1 || a.book.waitFor(i, a.bounds.Days) > 0
		}))

		if partial && ways == 1 {
			a.answer.Result = Unknown
		}
	case len(a.answer.Cut) > 0:
		a.answer.Result = Unknown
	}
}

// countCandidates returns how many candidates the record has.
func (a *ask) countCandidates() (n int) {
	for _, pool := range a.pools {
		n += len(pool)
	}

	return n
}

// findPools collects the candidates for sets: those of the record's channel, or of each channel if the record names
// none.
func (a *ask) findPools() {
	lanes := a.book.lanes
	if channel := plain.Text(a.Channel); channel != "" {
		lanes = []string{channel}
	}

	for _, lane := range lanes {
		if pool := a.choosePool(a.book.within(
			a.book.channels[lane],
			a.at-a.bounds.Before,
			a.at+a.bounds.After,
		)); len(pool) > 0 {
			a.pools = append(a.pools, pool)
		}
	}
}

// choosePool returns the places that can be part of a set, at most as many as the bounds allow. It leaves out an amount
// that all amounts of the other sign cannot bring back to that of the record. Without it others may be too large
// too, so this repeats until nothing changes.
func (a *ask) choosePool(places []int) []int {
	open := make([]int, 0, len(places))
	for _, i := range places {
		if !a.book.items[i].taken {
			open = append(open, i)
		}
	}

	for {
		// All amounts together fall short: there is no set.
		toward, against := a.reaches(open)
		if toward < a.magnitude() {
			return nil
		}

		fitting := slices.DeleteFunc(slices.Clone(open), func(i int) bool {
			amount := a.amountToward(i)
			return amount > a.magnitude()+against || -amount > toward-a.magnitude()
		})
		if len(fitting) == len(open) {
			break
		}

		open = fitting
	}

	// The search is exponential, so its candidates are bounded.
	if len(open) > a.bounds.Candidates {
		a.noteCut(CutCandidates)
		open = a.book.nearest(open, a.at, a.bounds.Candidates)
	}

	return open
}

// farthest keeps sums of amounts far inside of 64 bits.
const farthest = 1 << 60

// reaches sums what the items move in the direction of the record, and what they move against it.
func (a *ask) reaches(places []int) (toward, against money.Cents) {
	for _, i := range places {
		if amount := a.amountToward(i); amount < 0 {
			against = min(against-amount, farthest)
		} else {
			toward = min(toward+amount, farthest)
		}
	}

	return toward, against
}

// amountToward returns the amount of an item, positive in the direction of the record.
func (a *ask) amountToward(i int) money.Cents {
	if a.Amount < 0 {
		return -a.book.items[i].Amount
	}

	return a.book.items[i].Amount
}

func (a *ask) magnitude() money.Cents { return max(a.Amount, -a.Amount) }

// findSets searches the pools and returns how many sets there are; it counts to two at least.
func (a *ask) findSets(nodes int) int {
	ways := 0

	for _, pool := range a.pools {
		if a.answer.Nodes >= nodes {
			a.noteCut(CutSearch)
			break
		}

		// Equal amounts are interchangeable, so the search only counts them.
		groups := a.groupByAmount(pool)
		s := newSearch(groups, a.magnitude(), nodes-a.answer.Nodes)
		s.searchWays()

		a.answer.Nodes += s.nodes
		if s.cut {
			a.noteCut(CutSearch)
		}

		// A way can stand for several sets.
		for _, way := range s.found {
			ways = min(ways+way.sets(groups), manySets)
			a.collect(groups, way)
		}
	}

	slices.Sort(a.wants)
	a.wants = slices.Compact(a.wants)

	return ways
}

// group has the items of one amount, the nearest to the record first: which of them belong to a set cannot be known
// from sums.
type group struct {
	// amount is positive in the direction of the record.
	amount money.Cents
	places []int
}

// groupByAmount puts equal amounts together, the largest magnitudes first.
func (a *ask) groupByAmount(pool []int) []group {
	byAmount := map[money.Cents]*group{}

	var groups []*group

	for _, i := range pool {
		amount := a.amountToward(i)

		g := byAmount[amount]
		if g == nil {
			g = &group{amount: amount}
			byAmount[amount] = g
			groups = append(groups, g)
		}

		g.places = append(g.places, i)
	}

	// Within a group the nearest come first.
	out := make([]group, len(groups))
	for i, g := range groups {
		out[i] = *g
		slices.SortFunc(out[i].places, func(x, y int) int {
			return cmp.Or(
				cmp.Compare(daysApart(a.book.items[x].at, a.at), daysApart(a.book.items[y].at, a.at)),
				cmp.Compare(x, y),
			)
		})
	}

	// Large amounts first: the search gives up earlier on them.
	slices.SortFunc(out, func(x, y group) int {
		return cmp.Or(cmp.Compare(max(y.amount, -y.amount), max(x.amount, -x.amount)), cmp.Compare(y.amount, x.amount))
	})

	return out
}

// way is how many items of each group a set takes.
type way []int

const (
	// Counting sets ends here.
	manySets = 1 << 20
	// As many sets of a way are collected at the most.
	setsOfWay = 4
)

// sets returns how many sets a way stands for: two of three equal amounts are three.
func (w way) sets(groups []group) int {
	n := 1

	for g, k := range w {
		total := len(groups[g].places)

		ways := 1
		for i := range min(k, total-k) {
			if ways = ways * (total - i) / (i + 1); ways >= manySets {
				return manySets
			}
		}

		if n *= ways; n >= manySets {
			return manySets
		}
	}

	return n
}

// collect makes sets of a way, those with the nearest items first, until there are enough to choose from. It also
// notes all items that can be in one.
func (a *ask) collect(groups []group, w way) {
	for g, k := range w {
		if k > 0 {
			a.wants = append(a.wants, groups[g].places...)
		}
	}

	// A single way must not crowd out the others.
	most := min(len(a.sets)+setsOfWay, rankedSets)

	var (
		set    []int
		choose func(g, from, left int)
	)

	// Choose as many places of each group as the way takes, group by group.
	choose = func(g, from, left int) {
		switch {
		case len(a.sets) == most:
		case g == len(groups):
			a.sets = append(a.sets, slices.Sorted(slices.Values(set)))
		case left == 0:
			next := 0
			if g+1 < len(w) {
				next = w[g+1]
			}

			choose(g+1, 0, next)
		default:
			for i := from; i <= len(groups[g].places)-left; i++ {
				set = append(set, groups[g].places[i])
				choose(g, i+1, left-1)

				set = set[:len(set)-1]
			}
		}
	}
	choose(0, 0, w[0])
}
