package rule

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// LineInput is a line as the caller describes it.
type LineInput struct {
	SortOrder           *int                             `json:"sortOrder,omitempty" minimum:"0" maximum:"1000000" doc:"Absent: the place in the list."`
	SplitMode           SplitMode                        `json:"splitMode" doc:"fixed lines take their amounts first, percentage lines their parts of the amount left, and the remainder line the rest."`
	FixedCentAmount     api.Opt[money.Cents]             `json:"fixedCentAmount,omitzero" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents of a fixed line; a negative one is a deduction."`
	PercentageBps       api.Opt[money.Rate]              `json:"percentageBps,omitzero" minimum:"1" maximum:"100000" doc:"Parts per 100000 of a percentage line."`
	Assignment          api.Opt[account.Assignment]      `json:"assignment,omitzero" doc:"Names the account by its assignment."`
	AccountID           api.Opt[id.ID]                   `json:"accountId,omitzero" doc:"Needed without an assignment."`
	Party               api.Opt[ledger.Party]            `json:"party,omitzero" doc:"Absent: by account and listing."`
	ListingID           api.Opt[id.ID]                   `json:"listingId,omitzero"`
	TaxRateID           api.Opt[id.ID]                   `json:"taxRateId,omitzero" doc:"Expenses only."`
	TaxBehavior         api.Opt[transaction.TaxBehavior] `json:"taxBehavior,omitzero" enum:"included,excluded" doc:"Absent: excluded."`
	DescriptionOverride api.Opt[string]                  `json:"descriptionOverride,omitzero" minLength:"1" maxLength:"1000" doc:"Description of the transaction's line."`
	Markup              api.Opt[MarkupInput]             `json:"markup,omitzero" doc:"Expenses that an owner bears only."`
}

// MarkupInput is a markup as the caller describes it.
type MarkupInput struct {
	Amount      money.Cents                      `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991"`
	TaxRateID   api.Opt[id.ID]                   `json:"taxRateId,omitzero"`
	TaxBehavior api.Opt[transaction.TaxBehavior] `json:"taxBehavior,omitzero" enum:"included,excluded" doc:"Absent: excluded."`
}

// Create is the body of a new rule.
type Create struct {
	Name                string           `json:"name" minLength:"1" maxLength:"255"`
	Status              Status           `json:"status,omitempty" doc:"Absent: active."`
	Priority            int              `json:"priority,omitempty" minimum:"0" maximum:"1000000" doc:"The lowest comes first; of equal ones the older rule."`
	TransactionType     transaction.Type `json:"transactionType" enum:"deposit,expense" doc:"A deposit takes money in, an expense money out."`
	Mode                Mode             `json:"mode,omitempty" doc:"Absent: suggest."`
	MatchMode           MatchMode        `json:"matchMode,omitempty" doc:"Absent: all."`
	Conditions          []Condition      `json:"conditions" minItems:"1" maxItems:"50" doc:"What a record has to be like."`
	DescriptionOverride api.Opt[string]  `json:"descriptionOverride,omitzero" minLength:"1" maxLength:"1000" doc:"Description of the transaction; without one it has the record's."`
	UsePriorMonthEnd    bool             `json:"usePriorMonthEnd,omitempty" doc:"Expenses only."`
	VendorContactID     api.Opt[id.ID]   `json:"vendorContactId,omitzero" doc:"Contact of the transaction."`
	AccountIDs          []id.ID          `json:"accountIds,omitempty" maxItems:"100" doc:"Bank accounts; absent or empty means all."`
	Lines               []LineInput      `json:"lines" minItems:"1" maxItems:"100"`
}

// Update is the body of a changed rule; what is absent stays, null clears.
type Update struct {
	Name                *string           `json:"name,omitempty" minLength:"1" maxLength:"255"`
	Status              *Status           `json:"status,omitempty"`
	Priority            *int              `json:"priority,omitempty" minimum:"0" maximum:"1000000" doc:"The lowest comes first; of equal ones the older rule."`
	TransactionType     *transaction.Type `json:"transactionType,omitempty" enum:"deposit,expense" doc:"A deposit takes money in, an expense money out."`
	Mode                *Mode             `json:"mode,omitempty"`
	MatchMode           *MatchMode        `json:"matchMode,omitempty" doc:"Whether all conditions have to hold, or any of them is enough."`
	Conditions          *[]Condition      `json:"conditions,omitempty" minItems:"1" maxItems:"50" doc:"Replaces all conditions."`
	DescriptionOverride api.Opt[string]   `json:"descriptionOverride,omitzero" minLength:"1" maxLength:"1000" doc:"Description of the transaction; without one it has the record's."`
	UsePriorMonthEnd    *bool             `json:"usePriorMonthEnd,omitempty" doc:"Expenses only."`
	VendorContactID     api.Opt[id.ID]    `json:"vendorContactId,omitzero" doc:"Contact of the transaction."`
	AccountIDs          *[]id.ID          `json:"accountIds,omitempty" maxItems:"100" doc:"Replaces all accounts."`
	Lines               *[]LineInput      `json:"lines,omitempty" minItems:"1" maxItems:"100" doc:"Replaces all lines; one takes over the id of the line in its place."`
}

// newRule returns the rule that a body describes, in its first version.
func newRule(tx *db.Tx, b *Create) Rule {
	r := Rule{
		ID:                  tx.NewID(),
		Version:             1,
		Name:                b.Name,
		Status:              cmp.Or(b.Status, Active),
		Priority:            b.Priority,
		TransactionType:     b.TransactionType,
		Mode:                cmp.Or(b.Mode, Suggest),
		MatchMode:           cmp.Or(b.MatchMode, All),
		Conditions:          b.Conditions,
		DescriptionOverride: b.DescriptionOverride.Value,
		UsePriorMonthEnd:    b.UsePriorMonthEnd,
		VendorContactID:     b.VendorContactID.Value,
		AccountIDs:          append([]id.ID{}, b.AccountIDs...),
	}
	r.Lines = newLines(tx, b.Lines, nil)

	return r
}

// applyUpdate returns the rule with the changes of a body.
func applyUpdate(tx *db.Tx, r Rule, b *Update) Rule {
	setIfGiven(&r.Name, b.Name)
	setIfGiven(&r.Status, b.Status)
	setIfGiven(&r.Priority, b.Priority)
	setIfGiven(&r.TransactionType, b.TransactionType)
	setIfGiven(&r.Mode, b.Mode)
	setIfGiven(&r.MatchMode, b.MatchMode)
	setIfGiven(&r.Conditions, b.Conditions)
	setIfGiven(&r.UsePriorMonthEnd, b.UsePriorMonthEnd)
	setIfGiven(&r.AccountIDs, b.AccountIDs)

	r.DescriptionOverride = b.DescriptionOverride.Or(r.DescriptionOverride)

	r.VendorContactID = b.VendorContactID.Or(r.VendorContactID)
	if b.Lines != nil {
		r.Lines = newLines(tx, *b.Lines, r.Lines)
	}

	return r
}

// setIfGiven sets a field that the request gives.
func setIfGiven[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

// newLines returns the lines that a caller describes. They take over the ids of the lines at the same places before.
func newLines(tx *db.Tx, given []LineInput, old []Line) []Line {
	out := make([]Line, len(given))
	for i := range given {
		in := &given[i]
		l := Line{
			SortOrder:           i,
			SplitMode:           in.SplitMode,
			FixedCentAmount:     in.FixedCentAmount.Value,
			PercentageBps:       in.PercentageBps.Value,
			Assignment:          in.Assignment.Value,
			AccountID:           in.AccountID.Value,
			Party:               in.Party.Value,
			ListingID:           in.ListingID.Value,
			TaxRateID:           in.TaxRateID.Value,
			TaxBehavior:         in.TaxBehavior.Value,
			DescriptionOverride: in.DescriptionOverride.Value,
		}
		setIfGiven(&l.SortOrder, in.SortOrder)

		if m := in.Markup.Value; m != nil {
			l.Markup = &Markup{Amount: m.Amount, TaxRateID: m.TaxRateID.Value, TaxBehavior: m.TaxBehavior.Value}
		}

		// A line keeps its id over changes, as long as there is one at its place.
		if l.ID = tx.NewID(); i < len(old) {
			l.ID = old[i].ID
		}

		out[i] = l
	}

	slices.SortStableFunc(out, func(a, b Line) int { return cmp.Compare(a.SortOrder, b.SortOrder) })

	return out
}

// checkRule refuses a rule that Check refuses, or with references that it cannot use. Paths are below that of the rule
// in the body. References that were bad before the change may stay.
func checkRule(ctx context.Context, tx *db.Tx, before, after *Rule, at ...any) error {
	var issues []apierr.Issue
	for _, issue := range Check(after) {
		issues = append(issues, issue.Code.InBody(at, issue.Path))
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	var standing []lack

	// Look up the references of both versions at once.
	both := []*Rule{after}
	if before != nil {
		both = append(both, before)
	}

	n, err := loadNames(ctx, tx, both...)
	if err != nil {
		return err
	}

	if before != nil {
		standing = n.lacks(before)
	}

	// Only new faults count.
	for _, l := range n.lacks(after) {
		if !slices.ContainsFunc(standing, func(o lack) bool { return o.code == l.code && o.id == l.id }) {
			issues = append(issues, l.code.InBody(at, l.path))
		}
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// haveSameContent reports whether two rules say the same.
func haveSameContent(a, b *Rule) (bool, error) {
	one, err := json.Marshal(a)
	if err != nil {
		return false, fmt.Errorf("compare bank rules: %w", err)
	}

	other, err := json.Marshal(b)

	return string(one) == string(other), err
}

// saveChange stores a rule that was changed, as a new version when it says something else than before.
func (s *Stored) saveChange(ctx context.Context, tx *db.Tx, to Rule) error {
	unchanged, err := haveSameContent(&s.Rule, &to)
	if err != nil || unchanged {
		return err
	}

	before := s.Rule
	to.Version++

	s.Rule, s.UpdatedAt = to, day.At(tx.Now)
	if err := s.saveWithVersion(ctx, tx); err != nil {
		return err
	}

	note(tx, &before, &s.Rule)

	return nil
}
