// Package rule owns bank rules, and decides which bank records they take and book.
//
// A rule says which records it takes and how their money is booked. Deciding is a pure function of rules and records:
// Check says what is wrong with a rule, Compile makes an engine of rules, and a Pass of it decides about records. Of
// the active rules that a record meets, the first by priority takes it, whether or not it can book it, so that a rule
// never does what a rule before it was meant to do. The lines of a booking add up to the record to the cent.
//
// Only rules that pass Check are stored. A record that a rule names can vanish later: the rule then has an issue
// (Stored.Issues), and the others go on.
package rule

import (
	"cmp"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status says whether a rule takes records.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// Mode says who applies a rule.
type Mode string

// The modes.
const (
	// Suggest leaves it to a person.
	Suggest Mode = "suggest"
	// Auto applies it to new records.
	Auto Mode = "auto"
)

// Enum lists the modes.
func (Mode) Enum() []string { return []string{string(Suggest), string(Auto)} }

// MatchMode says how many of the conditions have to hold.
type MatchMode string

// The match modes.
const (
	All MatchMode = "all"
	Any MatchMode = "any"
)

// Enum lists the match modes.
func (MatchMode) Enum() []string { return []string{string(All), string(Any)} }

// SplitMode says how the amount of a line is found.
type SplitMode string

// The split modes.
const (
	// Fixed takes its own amount first.
	Fixed SplitMode = "fixed"
	// Percentage takes a part of the rest after the fixed lines.
	Percentage SplitMode = "percentage"
	// Remainder takes the rest after all others.
	Remainder SplitMode = "remainder"
)

// Enum lists the split modes.
func (SplitMode) Enum() []string {
	return []string{string(Fixed), string(Percentage), string(Remainder)}
}

// Rule is a bank rule.
type Rule struct {
	ID                  id.ID            `json:"id"`
	Name                string           `json:"name"`
	Status              Status           `json:"status" doc:"An inactive rule takes no records."`
	Priority            int              `json:"priority" doc:"The lowest comes first; of equal ones the older rule."`
	TransactionType     transaction.Type `json:"transactionType" enum:"deposit,expense" doc:"A deposit takes money in, an expense money out."`
	Mode                Mode             `json:"mode" doc:"auto applies the rule to new records, suggest leaves it to a person."`
	MatchMode           MatchMode        `json:"matchMode" doc:"Whether all conditions have to hold, or any of them is enough."`
	Conditions          []Condition      `json:"conditions" doc:"What a record has to be like."`
	DescriptionOverride *string          `json:"descriptionOverride" doc:"Description of the transaction; null takes that of the record."`
	UsePriorMonthEnd    bool             `json:"usePriorMonthEnd" doc:"Expenses only: the cost is booked on the last day of the month before the record, and paid on the day of the record."`
	Version             int              `json:"version" doc:"Grows with every change."`
	VendorContactID     *id.ID           `json:"vendorContactId" doc:"Contact of the transaction."`
	AccountIDs          []id.ID          `json:"accountIds" doc:"The records of these bank accounts are taken; empty means all."`
	Lines               []Line           `json:"lines" doc:"By sortOrder."`
}

// Line describes one line of the transactions that a rule books.
type Line struct {
	ID                  id.ID                    `json:"id"`
	SortOrder           int                      `json:"sortOrder" doc:"Place among the lines, the lowest first."`
	SplitMode           SplitMode                `json:"splitMode" doc:"fixed lines take their amounts first, percentage lines their parts of the amount left, and the remainder line the rest."`
	FixedCentAmount     *money.Cents             `json:"fixedCentAmount" doc:"Cents of a fixed line; a negative one is a deduction."`
	PercentageBps       *money.Rate              `json:"percentageBps" doc:"Parts per 100000 of a percentage line."`
	Assignment          *account.Assignment      `json:"assignment" doc:"Names the account by its assignment."`
	AccountID           *id.ID                   `json:"accountId"`
	Account             *account.Ref             `json:"account,omitempty" doc:"The account of accountId; absent when there is none, or it is gone."`
	Party               *ledger.Party            `json:"party" doc:"Null: by account and listing."`
	ListingID           *id.ID                   `json:"listingId"`
	Listing             *listing.NameRef         `json:"listing,omitempty" doc:"Absent when there is none, or it is gone."`
	TaxRateID           *id.ID                   `json:"taxRateId" doc:"Tax on the amount; expenses only."`
	TaxBehavior         *transaction.TaxBehavior `json:"taxBehavior" enum:"included,excluded"`
	DescriptionOverride *string                  `json:"descriptionOverride" doc:"Description of the transaction's line."`
	Markup              *Markup                  `json:"markup" doc:"Expenses that an owner bears only."`
}

// Markup is an amount added to a cost that an owner bears.
type Markup struct {
	Amount      money.Cents              `json:"amount"`
	TaxRateID   *id.ID                   `json:"taxRateId"`
	TaxBehavior *transaction.TaxBehavior `json:"taxBehavior" enum:"included,excluded"`
}

// compare orders rules as they take records. Ids are in the order in which the rules were made.
func (r *Rule) compare(other *Rule) int {
	return cmp.Or(cmp.Compare(r.Priority, other.Priority), r.ID.Compare(other.ID))
}

// sortLines returns the lines by their sort order, and lines with the same order as they were given.
func (r *Rule) sortLines() []Line {
	lines := slices.Clone(r.Lines)
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(a.SortOrder, b.SortOrder) })

	return lines
}
