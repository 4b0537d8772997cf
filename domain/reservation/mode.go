package reservation

import (
	"context"
	"strings"

	"stayledger/domain/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
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

// policy says what a derivation replaces and which locks it passes.
type policy struct {
	mode  Mode
	locks ledger.Lenience
}

// replaces reports whether a posting is the mode's to replace.
func (m Mode) replaces(p *ledger.Posting) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(p.TxnCode, codePrefix(p.SourceID)), ":")
	switch m {
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

// replaceIn stores the postings of a mode and keeps the others as they are stored. A reservation whose other postings would be derived
// differently stays stale.
func replaceIn(ctx context.Context, tx *db.Tx, sources []id.ID, derived []ledger.Posting, by policy) (ledger.Change, error) {
	standing, err := storedPostings(ctx, tx, sources)
	if err != nil {
		return ledger.Change{}, err
	}
	wanted := standing[:0:0]
	kept := map[string]*ledger.Posting{}
	for i := range standing {
		if p := &standing[i]; !by.mode.replaces(p) {
			wanted = append(wanted, *p)
			kept[p.TxnCode] = p
		}
	}
	behind := map[id.ID]bool{}
	for i := range derived {
		p := &derived[i]
		if by.mode.replaces(p) {
			wanted = append(wanted, *p)
			continue
		}
		if old := kept[p.TxnCode]; old == nil || !same(old, p) {
			behind[p.SourceID] = true
		}
		delete(kept, p.TxnCode)
	}
	for _, p := range kept {
		behind[p.SourceID] = true
	}
	return ledger.ReplacePart(ctx, tx, ledger.Subset{Sources: sources, Behind: behind}, wanted, by.locks)
}

// same compares two postings of one code whose lines stand in the order of their references or of their derivation.
func same(a, b *ledger.Posting) bool {
	if a.TxnAt != b.TxnAt || a.Currency != b.Currency || a.Ledger != b.Ledger || a.Status != b.Status || len(a.Lines) != len(b.Lines) {
		return false
	}
	lines := make(map[string]ledger.Line, len(a.Lines))
	for _, l := range a.Lines {
		lines[l.Ref] = l
	}
	for _, l := range b.Lines {
		old := lines[l.Ref]
		old.StatementID = l.StatementID
		if old != l {
			return false
		}
	}
	return true
}
