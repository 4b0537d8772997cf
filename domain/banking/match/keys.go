package match

import (
	"slices"
	"strings"

	"stayledger/platform/money"
	"stayledger/platform/plain"
)

// keyMembers is how many transactions a key names at the most: the sum of more could leave 64 bits.
const keyMembers = 1000

// answerByKeys answers the records that name their transactions in their text, and returns the others.
func answerByKeys(asks []*ask) []*ask {
	var left, found []*ask

	for _, a := range asks {
		if a.findKeys(); len(a.sets) == 0 {
			left = append(left, a)
			continue
		}

		a.wants = union(a.sets)
		a.countWants()
		found = append(found, a)
	}

	for _, a := range found {
		contested := slices.ContainsFunc(a.wants, func(i int) bool { return a.book.items[i].wanted > 1 })
		a.settle(Key, len(a.sets), contested)
	}

	return left
}

// findKeys collects the groups of transactions that the record names and that sum to its amount. The transactions
// of one payout reference are a group; so are those of several references together, and the same with confirmation
// codes.
func (a *ask) findKeys() {
	for _, index := range []map[string][]int{a.book.references, a.book.codes} {
		var groups [][]int

		// A key can be very common; such a group is not searched.
		for _, key := range a.findNames(index) {
			group := a.book.within(index[key], a.at-a.bounds.KeyDays, a.at+a.bounds.KeyDays)
			switch {
			case len(group) > keyMembers:
				a.noteCut(CutKeys)
			case len(group) > 0:
				groups = append(groups, group)
			}
		}

		if len(groups) > 1 {
			groups = append(groups, a.together(groups))
		}

		// Only groups that add up explain the record, each once.
		for _, group := range groups {
			if a.isSum(group) && !slices.ContainsFunc(a.sets, func(s []int) bool { return slices.Equal(s, group) }) {
				a.sets = append(a.sets, group)
			}
		}
	}
}

// together returns the union of groups, or nil if it is too large.
func (a *ask) together(groups [][]int) []int {
	all := union(groups)
	if len(all) > keyMembers {
		a.noteCut(CutKeys)
		return nil
	}

	return all
}

// union returns the places of all lists in order, each once.
func union(lists [][]int) []int {
	all := slices.Concat(lists...)
	slices.Sort(all)

	return slices.Compact(all)
}

func (a *ask) isSum(group []int) bool {
	var sum money.Cents
	for _, i := range group {
		sum += a.book.items[i].Amount
	}

	return sum == a.Amount
}

// findNames returns the keys of an index that the record names as whole words, each once.
func (a *ask) findNames(index map[string][]int) []string {
	if len(index) == 0 {
		return nil
	}

	var named []string

	for _, text := range append([]string{a.Description}, a.References...) {
		words := plain.Words(text)
		for _, width := range a.book.widths {
			for i := 0; i+width <= len(words); i++ {
				if key := strings.Join(words[i:i+width], " "); index[key] != nil && !slices.Contains(named, key) {
					named = append(named, key)
				}
			}
		}
	}

	return named
}

// countWants notes in the book that the record wants the items of its sets.
func (a *ask) countWants() {
	for _, i := range a.wants {
		a.book.items[i].wanted++
	}
}
