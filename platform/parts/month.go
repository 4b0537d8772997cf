package parts

import (
	"context"
	"maps"
	"slices"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Step is a step at the end of a month.
type Step string

// The steps.
const (
	// SystemsRead: everything that systems have of the month was taken in.
	SystemsRead Step = "systemsRead"
	// BankMatched: each movement at the bank is reconciled.
	BankMatched Step = "bankMatched"
	// JournalsCurrent: the books have the entries of the records as they are now.
	JournalsCurrent Step = "journalsCurrent"
	// HeldBackSettled: no lock holds back a change of the month.
	HeldBackSettled Step = "heldBackSettled"
	// LinesAssigned: an account takes each line of a stay.
	LinesAssigned Step = "linesAssigned"
	// StatementsReviewed: no owner statement is a draft.
	StatementsReviewed Step = "statementsReviewed"
	// StatementsPublished: no owner statement is in review.
	StatementsPublished Step = "statementsPublished"
	// OwnersPaid: nothing of what published statements make available is left to pay.
	OwnersPaid Step = "ownersPaid"
	// TrustReconciled: bank, books and liabilities of the trust agree, and it has no other finding.
	TrustReconciled Step = "trustReconciled"
	// BooksClosed: no user posts in the month.
	BooksClosed Step = "booksClosed"
)

// Enum lists the steps in the order in which people take them.
func (Step) Enum() []string {
	return []string{
		string(SystemsRead), string(BankMatched), string(JournalsCurrent), string(HeldBackSettled), string(LinesAssigned),
		string(StatementsReviewed), string(StatementsPublished), string(OwnersPaid), string(TrustReconciled), string(BooksClosed),
	}
}

// Steps returns all steps in that order.
func Steps() []Step {
	var all []Step
	for _, name := range Step("").Enum() {
		all = append(all, Step(name))
	}

	return all
}

// Open is something that keeps a step from being done, with everything of its kind and currency in one.
type Open struct {
	Step     Step
	Code     string
	Severity finding.Severity
	Message  string
	Count    int64
	// Currency is empty for what has no amount.
	Currency string
	Cents    money.Cents
	// List is the path, with a query, of a request that lists what is open.
	List string
	// Blocks are the steps that cannot be taken meanwhile.
	Blocks []Step
	// Context has more about it, for callers who close the books.
	Context map[string]any
}

// mostShown is how many records of something that is open are named.
const mostShown = 100

// First returns the first of some ids, as many as a finding names.
func First(ids []id.ID) []id.ID { return ids[:min(len(ids), mostShown)] }

// ListByID returns the path of a request that lists the first of some records by id.
func ListByID(path string, ids []id.ID) string { return ListBy(path, "ids", ids) }

// ListBy does so by a filter with a name of its own.
func ListBy(path, filter string, ids []id.ID) string {
	texts := make([]string, len(First(ids)))
	for i, v := range First(ids) {
		texts[i] = v.String()
	}

	return path + "?" + filter + "=" + strings.Join(texts, ",")
}

// Finding returns it as a person sees it who closes the books.
func (o *Open) Finding() finding.Finding {
	context := map[string]any{"count": o.Count, "step": o.Step, "list": o.List}
	if o.Currency != "" {
		context["currency"], context["centTotal"] = o.Currency, o.Cents
	}

	maps.Copy(context, o.Context)

	return finding.Finding{Code: o.Code, Severity: o.Severity, Context: context}
}

// EachOpen returns what is open of each row.
func EachOpen[T any](rows []T, open func(r *T) Open) []Open {
	out := make([]Open, len(rows))
	for i := range rows {
		out[i] = open(&rows[i])
	}

	return out
}

// MonthCheck returns what is open of some days before a day, which is the first of a month when a month ends. From is
// the first of them, or nil for no bound.
type MonthCheck func(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]Open, error)

// MonthChecks are the checks of several nouns.
type MonthChecks []MonthCheck

// JoinMonthChecks returns the checks that nouns declare, in their order.
func JoinMonthChecks(nouns ...Part) (all MonthChecks) {
	for i := range nouns {
		if nouns[i].MonthEnd != nil {
			all = append(all, nouns[i].MonthEnd)
		}
	}

	return all
}

// Find returns all that is open, in the order of the steps.
func (all MonthChecks) Find(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]Open, error) {
	var out []Open

	for _, check := range all {
		found, err := check(ctx, tx, from, before)
		if err != nil {
			return nil, err
		}

		out = append(out, found...)
	}

	order := Steps()

	slices.SortStableFunc(out, func(a, b Open) int {
		return slices.Index(order, a.Step) - slices.Index(order, b.Step)
	})

	return out, nil
}
