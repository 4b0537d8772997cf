// Package chain answers questions about the consecutive statements of one ownership period in one currency: what their
// owners have on a day, how a balance divides among them, and what can still be paid on a statement.
//
// It reads statements, entries and payouts, and writes nothing. Statements belong to package statement, which asks here
// as payouts, payments and reports do; so this package knows nothing of how a statement looks.
//
// Amounts are owner-facing: a balance owed to the owners is positive; a journal entry has the opposite sign.
//
// The page docs/decisions/chain.md says what the contract leaves open and how it is answered here.
package chain

import (
	"stayledger/platform/id"
)

// Chain names the consecutive statements of one ownership period in one currency.
type Chain struct {
	OwnershipPeriodID id.ID
	Currency          string
}

// ReserveSQL returns the SQL for the reserve of ownership period p of listing l at the end of a day, for a chain in a
// currency. A reserve is an amount in the listing's currency: a chain in another currency has none. When the ownership
// has ended there is nothing left to keep it for.
func ReserveSQL(currency, at string) string {
	return `case when ` + currency + ` = l.default_currency and coalesce(p.end_at > ` + at + ` + 1, true) then coalesce(p.reserve, 0) else 0 end`
}
