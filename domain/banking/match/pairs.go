package match

import (
	"slices"
	"sort"
)

// rankedSets is how many sets of a record are put in order at the most.
const rankedSets = 64

// answerByPairs answers the records with the amount of a single transaction, and returns the others. A pair is certain
// if neither side has another choice.
func answerByPairs(asks []*ask, bounds *Bounds) []*ask {
	seen := map[*book]bool{}
	for _, a := range asks {
		if !seen[a.book] {
			seen[a.book] = true
			a.book.forgetTaken()
		}

		a.book.waiting[a.Amount] = append(a.book.waiting[a.Amount], a.at)
	}

	// Now every record waits for its amount, so rivals are known.
	var left []*ask

	for _, a := range asks {
		same := a.book.within(a.book.amounts[a.Amount], a.at-bounds.Days, a.at+bounds.Days)
		if len(same) == 0 {
			left = append(left, a)
			continue
		}

		// The pair is contested if another record wants the transaction too.
		contested := false

		for _, i := range a.book.nearest(same, a.at, rankedSets) {
			a.sets = append(a.sets, []int{i})
			contested = contested || a.book.items[i].wanted > 0 || a.book.waitFor(i, bounds.Days) > 1
		}

		a.settle(OneToOne, len(same), contested)
	}

	return left
}

// forgetTaken takes what is certain out of the lists by amount.
func (b *book) forgetTaken() {
	for amount, places := range b.amounts {
		b.amounts[amount] = slices.DeleteFunc(places, func(i int) bool { return b.items[i].taken })
	}
}

// waitFor counts the records that an item alone would explain.
func (b *book) waitFor(i, days int) int {
	at, waiting := b.items[i].at, b.waiting[b.items[i].Amount]
	return sort.SearchInts(waiting, at+days+1) - sort.SearchInts(waiting, at-days)
}

// nearest returns at most n of the places, the nearest in time to a day first. Of two equally near ones the earlier
// comes first.
func (b *book) nearest(places []int, at, n int) []int {
	right := sort.Search(len(places), func(i int) bool { return b.items[places[i]].at > at })
	left := right - 1

	// Walk outwards from the day in both directions.
	var near []int
	for len(near) < n && (left >= 0 || right < len(places)) {
		if right == len(places) || left >= 0 && at-b.items[places[left]].at <= b.items[places[right]].at-at {
			near = append(near, places[left])
			left--
		} else {
			near = append(near, places[right])
			right++
		}
	}

	return near
}
