package reservation

import (
	"strings"

	"stayledger/domain/books/ledger"
)

// Mode says which postings of a reservation a refresh replaces; the others stay as they are stored.
type Mode string

// The modes.
const (
	// Full replaces all.
	Full Mode = "full"
	// RecurringFeesOnly replaces the charges of recurring fees.
	RecurringFeesOnly Mode = "recurringFeesOnly"
	// AROnly replaces what the guest owes: revenue, its recognition and financial adjustments.
	AROnly Mode = "arOnly"
	// DecoupledAdjustmentsOnly replaces the adjustments.
	DecoupledAdjustmentsOnly Mode = "decoupledAdjustmentsOnly"
)

// Enum lists the modes.
func (Mode) Enum() []string {
	return []string{string(Full), string(RecurringFeesOnly), string(AROnly), string(DecoupledAdjustmentsOnly)}
}

// replaces reports whether a refresh in this mode replaces the posting.
func replaces(mode string, p *ledger.Posting) bool {
	// The kind of a posting is the first part of its code after the prefix, see journal.post.
	name, _, _ := strings.Cut(strings.TrimPrefix(p.TxnCode, codePrefix(p.SourceID)), ":")

	switch Mode(mode) {
	case RecurringFeesOnly:
		return name == "fee"
	case AROnly:
		return name == "revenue" || name == "recognition" || name == "adjustment"
	case DecoupledAdjustmentsOnly:
		return name == "adjustment" || name == "feeAdjustment"
	case Full:
	}

	return true
}
