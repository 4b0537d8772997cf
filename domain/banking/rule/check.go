package rule

import (
	"slices"
	"strings"
	"unicode/utf8"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/plain"
)

// What a rule has at the most.
const (
	MaxConditions = 50
	MaxAccounts   = 100
	MaxLines      = 100
	MaxPriority   = 1_000_000

	nameLength  = 255
	valueLength = 255
)

// faults collects the issues of a rule.
type faults []apierr.Issue

func (f *faults) refuse(wrong bool, code apierr.IssueCode, path ...any) {
	if wrong {
		*f = append(*f, code.InBody(path...))
	}
}

// Check returns what is wrong with a rule, with paths as in a body with its fields, or nothing if an engine can be
// made of it. It does not look up whether the accounts, listings, contacts and tax rates exist.
func Check(r *Rule) []apierr.Issue {
	var f faults
	f.refuse(strings.TrimSpace(r.Name) == "" || utf8.RuneCountInString(r.Name) > nameLength, apierr.IssueLength, "name")
	f.refuse(!among(r.Status), apierr.IssueEnum, "status")
	f.refuse(r.Priority < 0 || r.Priority > MaxPriority, apierr.IssueRange, "priority")
	f.refuse(r.TransactionType != transaction.Deposit &&
		r.TransactionType != transaction.Expense, apierr.IssueEnum, "transactionType")
	f.refuse(!among(r.Mode), apierr.IssueEnum, "mode")
	f.refuse(!among(r.MatchMode), apierr.IssueEnum, "matchMode")
	f.describe(r.DescriptionOverride, "descriptionOverride")
	f.refuse(r.UsePriorMonthEnd &&
		r.TransactionType != transaction.Expense, apierr.IssueContradiction, "usePriorMonthEnd")
	f.refuse(len(r.AccountIDs) > MaxAccounts, apierr.IssueItems, "accountIds")

	// An account that is named twice is a mistake of the caller.
	for i, a := range r.AccountIDs {
		f.refuse(slices.Contains(r.AccountIDs[:i], a), apierr.IssueUnique, "accountIds", i)
	}

	f.refuse(len(r.Conditions) == 0 || len(r.Conditions) > MaxConditions, apierr.IssueItems, "conditions")

	for i := range r.Conditions {
		f.checkCondition(&r.Conditions[i], "conditions", i)
	}

	f.refuse(len(r.Lines) == 0 || len(r.Lines) > MaxLines, apierr.IssueItems, "lines")

	for i := range r.Lines {
		f.checkLine(r, &r.Lines[i], "lines", i)
	}

	// Last what only all lines together can get wrong.
	f.checkSplit(r.Lines)

	return f
}

// among reports whether a value is one of its enumeration.
func among[T interface {
	~string
	Enum() []string
}](v T,
) bool {
	return slices.Contains(v.Enum(), string(v))
}

// describe refuses a description that is blank or longer than transactions allow.
func (f *faults) describe(text *string, path ...any) {
	f.refuse(text != nil &&
		(strings.TrimSpace(*text) == "" ||
			utf8.RuneCountInString(*text) > descriptionLength), apierr.IssueLength, path...)
}

// checkCondition refuses operators that the field does not have and values that it cannot be compared with.
func (f *faults) checkCondition(c *Condition, path ...any) {
	if !among(c.Type) {
		f.refuse(true, apierr.IssueEnum, path, "type")
		return
	}

	if !slices.Contains(c.Type.operators(), c.Operator) {
		f.refuse(!among(c.Operator), apierr.IssueEnum, path, "operator")
		f.refuse(among(c.Operator), apierr.IssueContradiction, path, "operator")

		return
	}

	if c.Type == Amount {
		_, ok := c.amounts()
		f.refuse(!ok, apierr.IssueMalformed, path, "value")

		return
	}

	f.refuse(plain.Text(c.Value) == "" ||
		utf8.RuneCountInString(c.Value) > valueLength, apierr.IssueLength, path, "value")
}

// checkLine refuses amounts that do not fit the split mode, and taxes and markups that transactions of this type
// cannot have.
func (f *faults) checkLine(r *Rule, l *Line, path ...any) {
	f.refuse(!among(l.SplitMode), apierr.IssueEnum, path, "splitMode")
	f.refuse(l.SplitMode == Fixed && l.FixedCentAmount == nil, apierr.IssueRequired, path, "fixedCentAmount")
	f.refuse(l.SplitMode != Fixed && l.FixedCentAmount != nil, apierr.IssueContradiction, path, "fixedCentAmount")
	f.refuse(l.FixedCentAmount != nil && *l.FixedCentAmount == 0, apierr.IssueZeroAmount, path, "fixedCentAmount")
	f.refuse(l.SplitMode == Percentage && l.PercentageBps == nil, apierr.IssueRequired, path, "percentageBps")
	f.refuse(l.SplitMode != Percentage && l.PercentageBps != nil, apierr.IssueContradiction, path, "percentageBps")
	f.refuse(l.PercentageBps != nil &&
		(*l.PercentageBps < 1 || *l.PercentageBps > money.WholeRate), apierr.IssueRange, path, "percentageBps")
	f.refuse(l.Assignment == nil && l.AccountID == nil, apierr.IssueRequired, path, "accountId")
	f.refuse(l.Assignment != nil && !among(*l.Assignment), apierr.IssueEnum, path, "assignment")
	f.refuse(l.Party != nil && !among(*l.Party), apierr.IssueEnum, path, "party")
	f.refuse(l.Party != nil && *l.Party == ledger.Owners && l.ListingID == nil, apierr.IssueRequired, path, "listingId")
	f.describe(l.DescriptionOverride, path, "descriptionOverride")

	// Only bills have taxes, and only those of owners have markups.
	expense := r.TransactionType == transaction.Expense
	f.refuse(l.TaxRateID != nil && !expense, apierr.IssueTaxNotSupported, path, "taxRateId")
	f.checkTax(l.TaxRateID, l.TaxBehavior, path)

	if m := l.Markup; m != nil {
		owners := l.ListingID != nil && (l.Party == nil || *l.Party == ledger.Owners)
		f.refuse(!expense || !owners, apierr.IssueMarkupNotSupported, path, "markup")
		f.refuse(!m.Amount.Valid(), apierr.IssueRange, path, "markup", "amount")
		f.checkTax(m.TaxRateID, m.TaxBehavior, path, "markup")
	}
}

// checkTax refuses a tax behavior without a rate. A rate without a behavior is excluded.
func (f *faults) checkTax(rate *id.ID, behavior *transaction.TaxBehavior, path ...any) {
	f.refuse(rate == nil && behavior != nil, apierr.IssueRequired, append(path, "taxRateId")...)
	f.refuse(behavior != nil && *behavior != transaction.TaxIncluded &&
		*behavior != transaction.TaxExcluded, apierr.IssueEnum, append(path, "taxBehavior")...)
}

// checkSplit refuses lines that could not add up to any record: a second remainder, percentages that are not the
// whole, and percentages that leave nothing to a remainder.
func (f *faults) checkSplit(lines []Line) {
	var (
		percentages, remainders int
		all                     money.Rate
		fixed                   money.Reach
	)

	for i := range lines {
		switch l := &lines[i]; l.SplitMode {
		case Fixed:
			if l.FixedCentAmount != nil {
				f.refuse(!fixed.Add(*l.FixedCentAmount), apierr.IssueRange, "lines", i, "fixedCentAmount")
			}
		case Percentage:
			percentages++

			if l.PercentageBps != nil {
				all += max(0, min(*l.PercentageBps, money.WholeRate))
			}
		case Remainder:
			remainders++
			f.refuse(remainders > 1, apierr.IssueContradiction, "lines", i, "splitMode")
		}
	}

	f.refuse(percentages > 0 && remainders == 0 && all != money.WholeRate ||
		remainders > 0 && all >= money.WholeRate, apierr.IssueSplitSum, "lines")
}
