package team

import (
	"slices"

	"stayledger/platform/parts"
)

// Part returns the endpoints, tasks and tables of teams and their settings. The nouns fill a new team, in their
// order. It panics for a noun that Copied does not name.
func Part(c Config, nouns ...parts.Copy) parts.Part {
	for _, n := range nouns {
		names := Copied("").Enum()
		if n.Whole {
			names = Duplicated("").Enum()
		}

		if !slices.Contains(names, n.Name) {
			panic("team: no caller can choose to copy " + n.Name) // a value of Copied is missing
		}
	}

	b := beginning{c.Journals, nouns, c.Admit}

	return parts.Part{
		Endpoints: slices.Concat(endpoints(c), b.endpoints(), handler{Config: c}.partnerEndpoints(b)),
		Handlers:  b.handlers(),
		// The row stays, to say that the team existed and was deleted.
		Tables: append(parts.Owns("team_logo", "team_books_closing"), parts.Table{Name: "team", Keep: "true"}),
	}
}
