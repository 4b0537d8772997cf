// Package docs carries the changelog and the guides that the service shows.
package docs

import _ "embed"

// Changelog is CHANGELOG.md.
//
//go:embed CHANGELOG.md
var Changelog string
