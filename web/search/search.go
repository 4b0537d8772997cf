// Package search finds pages by words: it ranks them by BM25 over stems of English words, with more weight for words of
// a title or a heading, and knows the synonyms of the trade. Why it is our own is in docs/adr/0019-own-search.md.
package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// Page is a page that can be found.
type Page struct {
	Address, Title string
	// Kind says what the page is to readers, such as guide.
	Kind string
	// Note is a short text under the title, such as the path of an operation; its words count as those of a heading.
	Note string
	// Keywords are words that the page is found by and that are not shown.
	Keywords string
	// Weight multiplies the rank; pages that more people look for have more than one.
	Weight   float64
	Sections []Section
	// Names are identifiers that the page has a place for, such as fields of an operation.
	Names []Name
}

// Section is a part of a page under a heading. The first one of a page can have no heading and no id.
type Section struct{ ID, Heading, Text string }

// Name is an identifier with what it is, such as the field centTotal.
type Name struct{ Kind, Text string }

// Weights of a word by where it occurs. A word of a title says more of a page than many in its text; of a section below
// the first, the heading says more than the title of the page.
const (
	titleWeight     = 20
	pageTitleWeight = 3
	headingWeight   = 8
	noteWeight      = 4
	textWeight      = 1
)

// The parameters of BM25: how soon a word that occurs often adds nothing, and how much long sections lose.
const (
	saturation = 2
	lengthLoss = 0.6
)

// Index has sections of pages by the stems of their words. It can be asked by several goroutines.
type Index struct {
	pages   []Page
	units   []unit
	terms   map[string][]posting
	sorted  []string // the terms, for what begins with a text
	average float64  // length of a section
}

// unit is a section of a page as it is ranked: a page is as good as its best section, however long the others are.
type unit struct {
	page   int
	length float64 // in words
}

// posting is how much a unit has of a term.
type posting struct {
	unit   int
	weight float64
}

// New makes an index of pages.
func New(pages []Page) *Index {
	x := &Index{pages: pages, terms: map[string][]posting{}}

	for i, p := range pages {
		for j, s := range p.Sections {
			texts := []weighted{{p.Title, pageTitleWeight}, {s.Heading, headingWeight}, {s.Text, textWeight}}

			// What is said of the whole page belongs to its first section.
			if j == 0 {
				texts = append(texts, weighted{p.Title, titleWeight - pageTitleWeight}, weighted{p.Note, noteWeight}, weighted{p.Keywords, noteWeight})
				for _, n := range p.Names {
					texts = append(texts, weighted{n.Text, textWeight})
				}
			}

			x.add(i, texts)
		}
	}

	for _, u := range x.units {
		x.average += u.length / float64(len(x.units))
	}

	x.sorted = slices.Sorted(maps.Keys(x.terms))

	return x
}

// weighted is a text with what each of its words counts.
type weighted struct {
	text   string
	weight float64
}

// add adds a section of a page to the index.
func (x *Index) add(page int, texts []weighted) {
	u, weights := unit{page: page}, map[string]float64{}

	for _, w := range texts {
		for _, t := range split(w.text) {
			u.length++

			for _, term := range t.terms {
				weights[term] += w.weight
			}
		}
	}

	for term, weight := range weights {
		x.terms[term] = append(x.terms[term], posting{len(x.units), weight})
	}

	x.units = append(x.units, u)
}

// Hit is a page that was found.
type Hit struct {
	Address string  `json:"address"` // with the section that fits best
	Title   string  `json:"title"`
	Kind    string  `json:"kind"`
	Note    string  `json:"note"`
	Snippet []Piece `json:"snippet"`
}

// Piece is a part of a snippet. Marked ones are words that were asked for.
type Piece struct {
	Text   string `json:"text"`
	Marked bool   `json:"marked,omitempty"`
}

// Find returns the pages that have all the words of a query, the best first, or those with any of them if none has all.
// Words of a query beyond a bound count for nothing.
func (x *Index) Find(query string, limit int) []Hit {
	words := x.expand(query)
	if len(words) == 0 {
		return nil
	}

	// Rank each page that has a word, and count how many of the words it has.
	ranks, has, most := map[int]float64{}, map[int]int{}, 0

	for _, w := range words {
		for page, rank := range x.rank(w) {
			ranks[page] += rank * x.pages[page].Weight
			has[page]++
			most = max(most, has[page])
		}
	}

	found := slices.DeleteFunc(slices.Collect(maps.Keys(ranks)), func(page int) bool { return has[page] < most })
	slices.SortFunc(found, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[b], ranks[a]), cmp.Compare(a, b))
	})

	// Then show the best with the section in which the words are.
	hits := make([]Hit, 0, min(limit, len(found)))
	for _, page := range found[:min(limit, len(found))] {
		hits = append(hits, show(x.pages[page], words))
	}

	return hits
}

// word is a word of a query with its terms, each with a weight.
type word struct {
	typed string // in lower case
	terms map[string]float64
}

// Weights of terms other than the word itself: a synonym, an identifier that begins with the word, and, if nothing else is
// found, an identifier that contains it.
const (
	synonymWeight = 0.6
	prefixWeight  = 0.3
	insideWeight  = 0.1
)

// expand returns the words of a query, each with its terms: its stem, synonyms, and longer words while somebody types.
func (x *Index) expand(query string) []word {
	typed := splitQuery(query)
	words := make([]word, 0, len(typed))

	for i, t := range typed {
		w := word{typed: t, terms: map[string]float64{stem(t): 1}}
		for _, synonym := range synonymsAt(typed, i) {
			w.terms[stem(synonym)] = synonymWeight
		}

		// While somebody types, the last word may not be whole.
		if i == len(typed)-1 || len(x.terms[stem(t)]) == 0 {
			first, _ := slices.BinarySearch(x.sorted, t)
			for _, term := range x.sorted[first:] {
				if !strings.HasPrefix(term, t) {
					break
				}

				w.terms[term] = max(w.terms[term], prefixWeight)
			}
		}

		if !slices.ContainsFunc(slices.Collect(maps.Keys(w.terms)), func(term string) bool { return len(x.terms[term]) > 0 }) {
			for _, term := range x.sorted {
				if strings.Contains(term, t) {
					w.terms[term] = insideWeight
				}
			}
		}

		words = append(words, w)
	}

	return words
}

// rank returns the rank of each page for one word: that of the term that fits its best section best.
func (x *Index) rank(w word) map[int]float64 {
	ranks := map[int]float64{}

	for term, factor := range w.terms {
		postings := x.terms[term]
		rarity := math.Log(1 + (float64(len(x.units))-float64(len(postings))+0.5)/(float64(len(postings))+0.5))

		for _, p := range postings {
			u := x.units[p.unit]
			norm := saturation * (1 - lengthLoss + lengthLoss*u.length/x.average)
			rank := factor * rarity * p.weight * (saturation + 1) / (p.weight + norm)
			ranks[u.page] = max(ranks[u.page], rank)
		}
	}

	return ranks
}
