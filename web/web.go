// Package web holds the pages for people, embedded in the binary. They load nothing from elsewhere.
//
// The page docs/decisions/web.md says what the contract leaves open and how it is answered here.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

//go:embed owner.html
var ownerPage string

//go:embed owner.css
var ownerStyle string

//go:embed owner.js
var ownerScript string

// sharedStyle and sharedScript are used by the owner page and the console.
//
//go:embed page.css
var sharedStyle string

//go:embed statement.js
var sharedScript string

//go:embed console
var consoleFiles embed.FS

// Page is a page and what a browser may do with it.
type Page struct {
	HTML []byte
	// Policy is the Content-Security-Policy: the page's own style and script by their hashes, and calls to this
	// service.
	Policy string
}

var exported = regexp.MustCompile(`(?m)^export `)

// Owner returns the page that shows a statement to an owner who follows a link.
func Owner() Page {
	style, script := "\n"+sharedStyle+ownerStyle, "\n"+exported.ReplaceAllString(sharedScript, "")+ownerScript
	page := strings.NewReplacer("{{css}}", style, "{{js}}", script).Replace(ownerPage)

	return Page{HTML: []byte(page), Policy: strings.Join([]string{
		"default-src 'none'",
		"style-src " + source(style),
		"script-src " + source(script),
		"connect-src 'self'",
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")}
}

// source allows exactly one inline text.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Asset is a file that a browser fetches.
type Asset struct {
	Path        string
	ContentType string
	Body        []byte
	// Tag names these bytes, for an ETag.
	Tag string
	// Policy replaces the usual Content-Security-Policy, if set.
	Policy string
	// Kept says that the address changes with the bytes, so that a browser need not ask again.
	Kept bool
}

// Policy is the Content-Security-Policy of the console and the reference: their own files, calls to this service, and
// no text that becomes markup.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types " +
	"'none'"

// Tag names bytes, for an ETag.
func Tag(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
}

// Console returns the page at /console, where people follow operations, start exports and read statements, with its
// styles and modules. It fails for a file with a type that no page has.
func Console() ([]Asset, error) {
	entries, err := fs.ReadDir(consoleFiles, "console")
	if err != nil {
		return nil, fmt.Errorf("read the console: %w", err)
	}

	content := map[string][]byte{"page.css": []byte(sharedStyle), "statement.js": []byte(sharedScript)}
	for _, e := range entries {
		if content[e.Name()], err = consoleFiles.ReadFile("console/" + e.Name()); err != nil {
			return nil, fmt.Errorf("read the console: %w", err)
		}
	}

	// Each file is served under its own address; only the page has a short one.
	assets := make([]Asset, 0, len(content))
	for name, body := range content {
		contentType, known := contentTypes[path.Ext(name)]
		if !known {
			return nil, fmt.Errorf("the console holds %s, which is no part of a page", name)
		}

		a := Asset{Path: "/console/" + name, ContentType: contentType, Body: body, Tag: Tag(body)}
		if name == "console.html" {
			a.Path = "/console"
		}

		assets = append(assets, a)
	}

	return assets, nil
}
