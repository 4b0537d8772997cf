// Package chain answers what is true of the statements that follow each other, of one ownership period in one currency:
// what their owners have on a day, which share of a balance is whose, and what can still be paid on a statement.
//
// It reads statements, entries and payouts, and writes nothing. Statements belong to package statement, which asks here
// as payouts, payments and reports do; so this package knows nothing of how a statement looks.
//
// Amounts are owner-facing: a balance that the owners are owed is positive; a journal entry has the opposite sign.
//
// The page docs/decisions/chain.md says what the contract leaves open and how it is answered here.
package chain

import (
	"stayledger/platform/id"
)

// Chain names the statements that follow each other: those of one ownership period in one currency.
type Chain struct {
	OwnershipPeriodID id.ID
	Currency          string
}

// ReserveSQL returns the SQL of the reserve that an ownership period p of a listing l has at the end of a day for a
// chain in a currency. A reserve is an amount in the listing's currency: a chain in another currency has none. When
// the ownership has ended there is nothing left to keep it for.
func ReserveSQL(currency, at string) string {
	return `case when ` + currency + ` = l.default_currency and coalesce(p.end_at > ` + at + ` + 1, true) then coalesce(p.reserve, 0) else 0 end`
}
