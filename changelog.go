// Package stayledger is the accounting service's module root; it carries the changelog that the service shows.
package stayledger

import _ "embed"

// Changelog is CHANGELOG.md.
//
//go:embed CHANGELOG.md
var Changelog string
