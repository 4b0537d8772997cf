package web

import (
	_ "embed"
	"html"
	"strings"
)

var (
	//go:embed embed/embed.html
	embedPage string

	//go:embed embed/embed.css
	embedStyle string

	//go:embed embed/embed.js
	embedScript string
)

// EmbedPage returns the page of an embedded session, which only pages of the given origins can show in a frame. Without
// any, none can. Origins are as browsers name them: whoever keeps them has checked that.
func EmbedPage(origins []string) Page {
	ancestors := "'none'"
	if len(origins) > 0 {
		ancestors = strings.Join(origins, " ")
	}

	return Page{
		HTML:   []byte(strings.Replace(embedPage, "{{origins}}", html.EscapeString(strings.Join(origins, " ")), 1)),
		Policy: strings.Replace(Policy, "frame-ancestors 'none'", "frame-ancestors "+ancestors, 1),
	}
}

// EmbedAssets returns what the page of an embedded session loads. It is the same for all of them.
func EmbedAssets() []Asset {
	assets := []Asset{
		{Path: "/embed/page.css", ContentType: contentTypes[".css"], Body: []byte(sharedStyle)},
		{Path: "/embed/embed.css", ContentType: contentTypes[".css"], Body: []byte(embedStyle)},
		{Path: "/embed/statement.js", ContentType: contentTypes[".js"], Body: []byte(sharedScript)},
		{Path: "/embed/embed.js", ContentType: contentTypes[".js"], Body: []byte(embedScript)},
	}
	for i := range assets {
		assets[i].Tag = Tag(assets[i].Body)
	}

	return assets
}
