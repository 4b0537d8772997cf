package ledger

import "stayledger/platform/parts"

// Part is the ledger, which is read through other nouns.
func Part() parts.Part {
	return parts.Part{Every: every()}
}
