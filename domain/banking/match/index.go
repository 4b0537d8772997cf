package match

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/plain"
)

// place is where money moves: records and candidates of different places have nothing to do with each other.
type place struct {
	account  id.ID
	currency string
}

// book has the candidates of one place, indexed by amount, key and channel.
type book struct {
	// items are in the order of their dates, then of their ids; lists of places in the book are in the same order.
	items []item
	// amounts, references, codes and channels are the places of the items that have them.
	amounts           map[money.Cents][]int
	references, codes map[string][]int
	channels          map[string][]int
	// lanes are the names of the channels in their order.
	lanes []string
	// widths are how many words the references and codes have.
	widths []int
	// waiting are the days of the records that look for a single transaction of an amount, in order.
	waiting map[money.Cents][]int
}

// item is a candidate in its book.
type item struct {
	*Candidate
	at int
	// taken items belong to a record for certain.
	taken bool
	// wanted is how many records found a set with the item.
	wanted int
	// trigrams are those of the text, once somebody asked for them.
	trigrams []uint32
}

var epoch = day.Of(time.Unix(0, 0).UTC())

// ordinal numbers the days.
func ordinal(d day.Day) int { return epoch.DaysUntil(d) }

// indexCandidates returns the books of candidates by place. A candidate without an amount explains nothing and would
// fit every set, so it is left out.
func indexCandidates(candidates []Candidate) map[place]*book {
	books := map[place]*book{}

	for i := range candidates {
		c := &candidates[i]
		if c.Amount == 0 {
			continue
		}

		at := place{c.AccountID, c.Currency}

		b := books[at]
		if b == nil {
			b = &book{}
			books[at] = b
		}

		b.items = append(b.items, item{Candidate: c, at: ordinal(c.Date)})
	}

	// Index them once all are there.
	for _, b := range books {
		b.index()
	}

	return books
}

// index sorts the items by day and builds the indexes, which keep that order.
func (b *book) index() {
	slices.SortFunc(b.items, func(x, y item) int {
		return cmp.Or(cmp.Compare(x.at, y.at), x.TransactionID.Compare(y.TransactionID))
	})
	b.amounts = map[money.Cents][]int{}
	b.references = map[string][]int{}
	b.codes = map[string][]int{}
	b.channels = map[string][]int{}
	b.waiting = map[money.Cents][]int{}
	names := map[string]string{}

	for i := range b.items {
		c := b.items[i].Candidate
		b.amounts[c.Amount] = append(b.amounts[c.Amount], i)
		b.addKeys(b.references, c.References, i)
		b.addKeys(b.codes, c.Codes, i)

		// Channels repeat, so each name is normalized once.
		name, known := names[c.Channel]
		if !known {
			name = plain.Text(c.Channel)
			names[c.Channel] = name
		}

		b.channels[name] = append(b.channels[name], i)
	}

	// The order of maps must not show in answers.
	for name := range b.channels {
		b.lanes = append(b.lanes, name)
	}

	slices.Sort(b.lanes)
	slices.Sort(b.widths)
}

const (
	// A key has as many letters and digits at the least: shorter ones stand in any text.
	keyLength = 4
	// A key has as many words at the most.
	keyWords = 8
)

// addKeys adds transaction i to an index under the words of its texts. Texts that are too short or have too many
// words are left out.
func (b *book) addKeys(index map[string][]int, texts []string, i int) {
	for _, text := range texts {
		words := plain.Words(text)

		key := strings.Join(words, " ")
		if len(words) == 0 || len(words) > keyWords || len(key)-len(words)+1 < keyLength {
			continue
		}

		if places := index[key]; len(places) > 0 && places[len(places)-1] == i {
			continue // Named twice.
		}

		index[key] = append(index[key], i)
		if !slices.Contains(b.widths, len(words)) {
			b.widths = append(b.widths, len(words))
		}
	}
}

// within returns the part of a list of places with items between two days, both included.
func (b *book) within(places []int, from, to int) []int {
	low := sort.Search(len(places), func(i int) bool { return b.items[places[i]].at >= from })
	high := sort.Search(len(places), func(i int) bool { return b.items[places[i]].at > to })

	return places[low:max(low, high)]
}

func daysApart(a, b int) int { return max(a-b, b-a) }
