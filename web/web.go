// Package web holds the pages for people, embedded in the binary. They load nothing from elsewhere.
package web

import (
	_ "embed"
	"html/template"
)

//go:embed docs.html
var docs string

// Docs is the reference page over the endpoints.
var Docs = template.Must(template.New("docs").Parse(docs))
