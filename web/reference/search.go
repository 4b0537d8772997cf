package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"stayledger/web"
	"stayledger/web/search"
)

// Addresses of the search: a page that works without a script, and the same as JSON for the field at the top of each page.
const (
	searchPath     = "/docs/search"
	searchJSONPath = "/docs/search.json"
)

// A search shows up to this many pages.
const maxHits = 20

// Weights of the kinds of pages. Readers look for guides more often than for single operations, for special
// guides less often, and for the changelog last.
const (
	guideRank     = 1.2
	specialRank   = 0.8
	chapterRank   = 1.15
	operationRank = 1
	reasonRank    = 0.8
	changelogRank = 0.25
)

// Search returns the answer to a query, as a page or as JSON by the address, and false for other addresses. It fails if a
// page cannot be rendered.
func (s *Site) Search(address, query string) (web.Asset, bool, error) {
	asset := web.Asset{Path: address, ContentType: "text/html; charset=utf-8", Policy: policy}
	if address != searchPath && address != searchJSONPath {
		return asset, false, nil
	}

	index, err := s.index()
	if err != nil {
		return asset, false, err
	}

	v := view{Site: s, Address: address, Title: "Search", Kind: "search", Query: search.Bound(query), Hits: index.Find(query, maxHits)}

	if address == searchJSONPath {
		asset.ContentType = "application/json"
		asset.Body, err = json.Marshal(append([]search.Hit{}, v.Hits...))
	} else {
		asset.Body, err = s.renderView(v)
	}

	if err != nil {
		return asset, false, fmt.Errorf("answer a search: %w", err)
	}

	asset.Tag = web.Tag(asset.Body)

	return asset, true, nil
}

// newIndex makes the index of all pages. It fails if a page cannot be rendered.
func (s *Site) newIndex() (*search.Index, error) {
	pages := make([]search.Page, 0, len(s.Operations())+len(s.Reasons))

	// Guides, chapters and the changelog by their text.
	for _, address := range s.Addresses() {
		v, err := s.view(address)
		if err != nil {
			return nil, err
		}

		page := search.Page{Address: address, Title: v.Title, Kind: v.Kind, Sections: readSections(string(v.Text))}

		switch v.Kind {
		case "guide":
			page.Note, page.Weight = v.Guide.About, guideRank
			if v.Guide.IsSpecial {
				page.Weight = specialRank
			}

			pages = append(pages, page)
		case "chapter":
			page.Weight = chapterRank
			pages = append(pages, page)
		case "changelog":
			page.Weight = changelogRank
			pages = append(pages, page)
		}
	}

	// Operations by their description.
	for _, o := range s.Operations() {
		pages = append(pages, s.describeForSearch(o))
	}

	for _, reason := range s.Reasons {
		pages = append(pages, search.Page{
			Address: chapterPath + "errors#" + reason, Title: reason, Kind: "reason of errors", Weight: reasonRank,
			Sections: []search.Section{{Text: AboutReason(reason)}},
		})
	}

	return search.New(pages), nil
}

// describeForSearch returns what an operation is found by: its texts, and the names of its parameters, fields and reasons.
func (s *Site) describeForSearch(o *Operation) search.Page {
	page := search.Page{
		Address: operationPath + o.ID, Title: o.Summary, Kind: "operation", Note: o.Method + " " + o.Path, Weight: operationRank,
		Keywords: o.Tag + " " + o.ID, Sections: []search.Section{{Text: strings.ReplaceAll(o.About, "`", "")}},
	}

	add := func(kind, name string) {
		if n := (search.Name{Kind: kind, Text: name}); name != "" && !slices.Contains(page.Names, n) {
			page.Names = append(page.Names, n)
		}
	}

	for reason, raised := range s.raises {
		if slices.Contains(raised, o) {
			add("reason", reason)
		}
	}

	slices.SortFunc(page.Names, func(a, b search.Name) int { return strings.Compare(a.Text, b.Text) })

	for _, p := range o.Parameters {
		add("parameter", p.Name)
	}

	// Every field of the body and the answers, however deep.
	var walk func(f *Field)

	walk = func(f *Field) {
		add("field", f.Name)

		for _, inner := range f.Fields {
			walk(inner)
		}
	}
	if o.Body != nil {
		walk(o.Body.Schema)
	}

	for _, a := range o.Answers {
		if a.Content != nil {
			walk(a.Content.Schema)
		}
	}

	return page
}

// readSections returns the text of a page by its headings. A heading without an id is text of the section before.
func readSections(page string) []search.Section {
	sections := []search.Section{{}}
	inHeading := false

	tokens := html.NewTokenizer(bytes.NewBufferString(page))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		t := tokens.Token()
		isHeading := slices.Contains([]atom.Atom{atom.H2, atom.H3, atom.H4}, t.DataAtom)
		last := &sections[len(sections)-1]

		switch {
		case kind == html.TextToken && inHeading:
			last.Heading += t.Data
		case kind == html.TextToken:
			last.Text += t.Data
		case kind == html.StartTagToken && isHeading && attribute(t, "id") != "":
			sections = append(sections, search.Section{ID: attribute(t, "id")})
			inHeading = true
		case isHeading:
			inHeading = false
		case !isInline[t.DataAtom]:
			last.Text += " "
		}
	}

	for i := range sections {
		sections[i].Text = strings.Join(strings.Fields(sections[i].Text), " ")
	}

	return sections
}

// isInline has the elements that do not end a word.
var isInline = map[atom.Atom]bool{atom.A: true, atom.Code: true, atom.Em: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Span: true}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}

	return ""
}
