package team

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/parts"
)

// Part is teams and their settings; journals follow these.
func Part(journals ledger.Sources) parts.Part {
	// The row says afterwards that there was a team, and that it is deleted.
	tables := append(parts.Owns("team_logo", "team_books_closing"), parts.Table{Name: "team", Keep: "true"})
	return parts.Part{Endpoints: endpoints(journals), Tables: tables}
}
