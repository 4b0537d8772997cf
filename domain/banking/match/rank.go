package match

import (
	"cmp"
	"slices"

	"stayledger/platform/plain"
)

// rankSets returns the first of the sets: the nearest in time, then the most similar, then the smallest, then by
// their items.
func (a *ask) rankSets() []Set {
	type found struct {
		Set
		items []int
	}

	own, likeness := trigrams(a.Description), map[int]int{}

	// A set is as far away as its farthest item, and as similar as its items are on average.
	sets := make([]found, len(a.sets))
	for n, items := range a.sets {
		sets[n].items = items
		for _, i := range items {
			if _, known := likeness[i]; !known {
				likeness[i] = alike(own, a.book.items[i].grams())
			}

			sets[n].Days = max(sets[n].Days, daysApart(a.book.items[i].at, a.at))
			sets[n].Similarity += likeness[i]
		}

		sets[n].Similarity /= len(items)
	}

	slices.SortFunc(sets, func(x, y found) int {
		return cmp.Or(cmp.Compare(x.Days, y.Days), cmp.Compare(y.Similarity, x.Similarity),
			cmp.Compare(len(x.items), len(y.items)), slices.Compare(x.items, y.items))
	})
	sets = sets[:min(len(sets), max(a.bounds.Shown, 1))]

	// Only the sets that are shown need their members.
	out := make([]Set, len(sets))
	for n := range sets {
		for _, i := range sets[n].items {
			sets[n].Members = append(sets[n].Members, Member{a.book.items[i].TransactionID, a.book.items[i].Amount})
		}

		out[n] = sets[n].Set
	}

	return out
}

// grams returns the trigrams of an item's text, computed once.
func (i *item) grams() []uint32 {
	if i.trigrams == nil {
		i.trigrams = trigrams(i.Text)
	}

	return i.trigrams
}

// trigrams returns the pieces of three bytes of the words of a text, in order and each once. Words have a space at
// both ends.
func trigrams(text string) []uint32 {
	all := make([]uint32, 0, len(text)+2)
	for _, word := range plain.Words(text) {
		last := uint32(' ')

		for i := range len(word) {
			next := byte(' ')
			if i+1 < len(word) {
				next = word[i+1]
			}

			all = append(all, last<<16|uint32(word[i])<<8|uint32(next))
			last = uint32(word[i])
		}
	}

	slices.Sort(all)

	return slices.Compact(all)
}

// alike returns the similarity of two texts from 0 to 1000: twice the trigrams they share over those they have
// (Dice's coefficient).
func alike(a, b []uint32) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}

	shared := 0

	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			shared, i, j = shared+1, i+1, j+1
		}
	}

	return 2000 * shared / (len(a) + len(b))
}
