package docs

import "embed"

// Guides has the folder guides: a Markdown file for each guide, and folders with the files that guides give away.
//
//go:embed guides
var Guides embed.FS
