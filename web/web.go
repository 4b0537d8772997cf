// Package web holds the pages for people, embedded in the binary. They load nothing from elsewhere.
package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"strings"
)

//go:embed docs.html
var docs string

// Docs is the reference page over the endpoints.
var Docs = template.Must(template.New("docs").Parse(docs))

//go:embed owner.html
var ownerPage string

//go:embed owner.css
var ownerStyle string

//go:embed owner.js
var ownerScript string

// Page is a page and what a browser may do with it.
type Page struct {
	HTML []byte
	// Policy is the Content-Security-Policy: the page's own style and script by their hashes, and calls to this service.
	Policy string
}

// Owner is the page that shows a statement to an owner who follows a link.
func Owner() Page {
	style, script := "\n"+ownerStyle, "\n"+ownerScript
	page := strings.NewReplacer("{{css}}", style, "{{js}}", script).Replace(ownerPage)
	return Page{HTML: []byte(page), Policy: strings.Join([]string{
		"default-src 'none'", "style-src " + source(style), "script-src " + source(script), "connect-src 'self'", "img-src data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")}
}

// source allows exactly one inline text.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
