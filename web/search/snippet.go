package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// About this many bytes of a page are shown of each hit, beginning some before the first word that was asked for.
const (
	snippetLength = 200
	snippetLead   = 60
)

// show returns a hit: the section of the page that has most of the words, and a snippet of it.
func show(p Page, words []word) Hit {
	hit := Hit{Address: p.Address, Title: p.Title, Kind: p.Kind, Note: p.Note}

	best, most := Section{}, -1.0
	for _, s := range p.Sections {
		if n := compare(s, words); n > most {
			best, most = s, n
		}
	}

	// What the title says is at the top of the page.
	if best.ID != "" && compare(Section{Heading: p.Title}, words) < compare(best, words) {
		hit.Address += "#" + best.ID
	}

	hit.Snippet = cut(best.Text, words)

	// Names that were asked for say why the page was found, unless it has them in its title.
	shown := 0

	for _, n := range p.Names {
		isAsked := slices.ContainsFunc(words, func(w word) bool { return strings.HasPrefix(strings.ToLower(n.Text), w.typed) })
		if isAsked && shown < 2 && !strings.Contains(hit.Note, " "+n.Text) {
			hit.Note = strings.TrimPrefix(hit.Note+" · "+n.Kind+" "+n.Text, " · ")
			shown++
		}
	}

	return hit
}

// compare returns how well a section fits: the words that it has, each counted once, more if the heading has it.
func compare(s Section, words []word) float64 {
	sum := 0.0

	for _, w := range words {
		in := func(text string) float64 {
			best := 0.0
			for _, t := range split(text) {
				best = max(best, fit(t, w))
			}

			return best
		}
		sum += max(2*in(s.Heading), in(s.Text))
	}

	return sum
}

// fit returns how much a word of a text counts for a word of a query.
func fit(t token, w word) float64 {
	best := 0.0
	for _, term := range t.terms {
		best = max(best, w.terms[term])
	}

	return best
}

// match is a word of a text that fits a word of a query.
type match struct {
	token
	word int
	fit  float64
}

// cut returns the part of a text around the best place of the words, with the words marked.
func cut(text string, words []word) []Piece {
	var matches []match

	for _, t := range split(text) {
		for i, w := range words {
			if f := fit(t, w); f > 0 {
				matches = append(matches, match{t, i, f})
			}
		}
	}

	// Find the place with the most different words within the length of a snippet.
	start, most := 0, 0.0

	for i, first := range matches {
		best := make([]float64, len(words))

		for _, m := range matches[i:] {
			if m.end > first.start+snippetLength-snippetLead {
				break
			}

			best[m.word] = max(best[m.word], m.fit)
		}

		sum := 0.0
		for _, f := range best {
			sum += f
		}

		if sum > most {
			start, most = first.start, sum
		}
	}

	// Begin and end between words.
	from, to := 0, len(text)
	if start > snippetLead {
		from = start - snippetLead + 1 + strings.IndexByte(text[start-snippetLead:start]+" ", ' ')
		from = min(from, start)
	}

	if from+snippetLength < len(text) {
		to = from + snippetLength
		if blank := strings.LastIndexByte(text[from:to], ' '); blank > 0 {
			to = from + blank
		}
	}

	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}

	// Mark the words in between.
	var out []Piece

	add := func(text string, marked bool) {
		if text != "" {
			out = append(out, Piece{text, marked})
		}
	}
	if from > 0 {
		add("… ", false)
	}

	at := from
	for _, m := range matches {
		if m.start < at || m.end > to {
			continue
		}

		add(text[at:m.start], false)
		add(text[m.start:m.end], true)
		at = m.end
	}

	add(text[at:to], false)

	if to < len(text) {
		add(" …", false)
	}

	return out
}
