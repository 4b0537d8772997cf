package rule

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/bank"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// PreviewRequest says which rules are to be looked at, and with which bank records.
type PreviewRequest struct {
	Rule                    *Create  `json:"rule,omitempty" doc:"A rule that is not stored."`
	BankRuleIDs             []id.ID  `json:"bankRuleIds,omitempty" maxItems:"100" doc:"Stored rules, active or not; not together with rule."`
	AccountIDs              []id.ID  `json:"accountIds,omitempty" maxItems:"100" doc:"Only records of these bank accounts; absent or empty means all."`
	DateRange               day.Span `json:"dateRange" doc:"Dates of the records: YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	IsDateRangeEndInclusive *bool    `json:"isDateRangeEndInclusive,omitempty" doc:"Whether the last day of the range counts; absent means that it does."`
}

// Resolve refuses a rule together with stored ones.
func (b *PreviewRequest) Resolve() []apierr.Issue {
	if b.Rule != nil && len(b.BankRuleIDs) > 0 {
		return []apierr.Issue{apierr.IssueContradiction.InBody("bankRuleIds")}
	}

	return nil
}

// Preview is a page of open bank records with the transactions that rules would book.
type Preview struct {
	Data        []Match         `json:"data" doc:"Records that a rule takes, the newest first."`
	Pagination  page.Pagination `json:"pagination"`
	Rules       []PreviewRule   `json:"rules" doc:"The rules that take records or have issues, in the order in which they take records."`
	OpenRecords int             `json:"openRecords" doc:"How many open records were looked at."`
	Cut         bool            `json:"cut" doc:"Whether there are older open records that were not looked at."`
}

// PreviewRule is a rule of a preview.
type PreviewRule struct {
	BankRuleID *id.ID            `json:"bankRuleId" doc:"Null for the rule of the body."`
	Name       string            `json:"name"`
	Records    int               `json:"records" doc:"How many of the open records the rule takes."`
	Issues     []finding.Finding `json:"issues" doc:"What keeps the rule from booking."`
}

// Match is a record that a rule takes.
type Match struct {
	BankRecord       MatchedRecord       `json:"bankRecord" doc:"The open record."`
	Matches          []MatchedRule       `json:"matches" doc:"The rules that the record meets; the first of them takes it."`
	IsAutoApplicable bool                `json:"isAutoApplicable" doc:"Whether the transaction would be made without a person."`
	Reason           *Reason             `json:"reason" doc:"Why nothing would be booked; null when something would be."`
	Transaction      *transaction.Create `json:"transaction" doc:"What would be booked; its lines add up to the record. Null when there is a reason."`
}

// MatchedRecord is a bank record in a preview.
type MatchedRecord struct {
	ID          id.ID       `json:"id"`
	UniqueRef   string      `json:"uniqueRef" doc:"Empty when there is none."`
	Date        day.Day     `json:"date"`
	Description string      `json:"description"`
	AccountID   id.ID       `json:"accountId"`
	Amount      money.Cents `json:"amount" doc:"Cents: positive into the account, negative out of it."`
	Currency    string      `json:"currency" doc:"ISO 4217 in lower case."`
}

// MatchedRule is a rule that a record meets.
type MatchedRule struct {
	BankRuleID *id.ID `json:"bankRuleId" doc:"Null for the rule of the body."`
	Name       string `json:"name"`
	Conditions []int  `json:"conditions" doc:"The places of the conditions that hold, from 0."`
}

type previewInput struct {
	page.Params
	Body PreviewRequest
}

// preview returns what rules would book for open bank records. It books nothing.
func preview(ctx context.Context, tx *db.Tx, in *previewInput) (*Preview, error) {
	b := &in.Body

	p, err := newPreview(ctx, tx, b)
	if err != nil {
		return nil, err
	}

	if err := checkAccounts(ctx, tx, b.AccountIDs); err != nil {
		return nil, err
	}

	// Rules with faults take part only as far as they can.
	engine, err := Compile(p.usable())
	if err != nil {
		return nil, err
	}

	// Read one record more than are looked at, to know whether there are more.
	most := p.maxRecords()
	days := bank.Days{Range: b.DateRange.Range(b.IsDateRangeEndInclusive), Accounts: b.AccountIDs}

	open, err := bank.ListOpen(ctx, tx, days, most+1)
	if err != nil {
		return nil, err
	}

	out := &Preview{Data: []Match{}, Rules: []PreviewRule{}, OpenRecords: min(len(open), most), Cut: len(open) > most}
	pass := engine.Pass()

	// Decide about all of them, because the rules are counted over all pages.
	taken, err := p.countTaken(ctx, pass, open[:out.OpenRecords])
	if err != nil {
		return nil, err
	}

	out.Pagination = in.Of(int64(len(taken)))
	first := min(in.Rows(), int64(len(taken)))

	shown, err := loadTaken(ctx, tx, taken[first:min(first+in.Limit, int64(len(taken)))])
	if err != nil {
		return nil, err
	}

	// Transactions of a page can have very many lines; then suggest a smaller page.
	lines, fits := 0, 0

	for i := range shown {
		m := p.match(pass, &shown[i])
		if m.Transaction != nil {
			lines += len(m.Transaction.Lines)
		}

		if lines <= page.MaxLines {
			fits++
		}

		out.Data = append(out.Data, m)
	}

	if lines > page.MaxLines {
		suggestion := map[string]any{"suggestedLimit": fits}

		return nil, apierr.BadRequest.At(apierr.IssueTooManyLines.InQuery("limit")).With(suggestion)
	}

	// Show the rules that matter: those that take a record and those with issues.
	for i := range p.rules {
		if r := &p.rules[i]; p.takes[r.ID] > 0 || len(r.Issues) > 0 {
			out.Rules = append(out.Rules, PreviewRule{p.publicID(r.ID), r.Name, p.takes[r.ID], r.Issues})
		}
	}

	return out, nil
}

// previewing are rules that are looked at.
type previewing struct {
	rules []Stored
	// unstored says that the only rule is that of the body.
	unstored bool
	broken   map[id.ID]bool
	takes    map[id.ID]int
}

// newPreview returns the rules that a request asks for, with their issues. It fails for a rule of the body that
// could not be stored, and for ids of no rule.
func newPreview(ctx context.Context, tx *db.Tx, b *PreviewRequest) (*previewing, error) {
	p := &previewing{unstored: b.Rule != nil, broken: map[id.ID]bool{}, takes: map[id.ID]int{}}

	var err error

	switch {
	case b.Rule != nil:
		p.rules = []Stored{{Rule: newRule(tx, b.Rule)}}
		err = checkRule(ctx, tx, nil, &p.rules[0].Rule, "rule")
	case len(b.BankRuleIDs) > 0:
		if p.rules, err = loadRules(ctx, tx, "r.id = any(@ids)", db.Args{"ids": b.BankRuleIDs}); err == nil {
			err = checkIDs("bankRuleIds", b.BankRuleIDs, func(v id.ID) apierr.IssueCode {
				if slices.ContainsFunc(p.rules, func(s Stored) bool { return s.ID == v }) {
					return ""
				}

				return apierr.IssueNotFound
			})
		}
	default:
		p.rules, err = loadRules(ctx, tx, "r.status = 'active'", nil)
	}

	if err != nil {
		return nil, err
	}

	// A rule with issues matches, but nothing is booked by itself.
	if err := completeRules(ctx, tx, p.rules); err != nil {
		return nil, err
	}

	for i := range p.rules {
		p.broken[p.rules[i].ID] = slices.ContainsFunc(p.rules[i].Issues, func(f finding.Finding) bool {
			return f.Severity == finding.Error
		})
	}

	return p, nil
}

// checkIDs refuses the ids of a list in which fault finds something.
func checkIDs(field string, ids []id.ID, fault func(id.ID) apierr.IssueCode) error {
	var issues []apierr.Issue

	for i, v := range ids {
		if code := fault(v); code != "" {
			issues = append(issues, code.InBody(field, i))
		}
	}

	if issues == nil {
		return nil
	}

	return apierr.BadRequest.At(issues...)
}

// checkAccounts refuses ids that are no bank account of the team.
func checkAccounts(ctx context.Context, tx *db.Tx, accounts []id.ID) error {
	n, err := loadNames(ctx, tx, &Rule{AccountIDs: accounts})
	if err != nil {
		return err
	}

	return checkIDs("accountIds", accounts, n.notBank)
}

// usable returns the rules that an engine can be made of, all of them active.
func (p *previewing) usable() []Rule {
	out := selectSound(p.rules)
	for i := range out {
		out[i].Status = Active
	}

	return out
}

// maxRecords is how many records a preview looks at.
const maxRecords = 10_000

// maxTests is how often a preview may compare a record with a condition: enough for maxRecords and two thousand
// conditions.
const maxTests = 20_000_000

// maxRecords returns how many records can be looked at: fewer with many conditions.
func (p *previewing) maxRecords() int {
	conditions := 1
	for i := range p.rules {
		conditions += len(p.rules[i].Conditions)
	}

	return min(maxRecords, maxTests/conditions)
}

// newRecord returns an open record as rules look at it.
func newRecord(o *bank.Open) Record {
	r := Record{
		ID:           o.ID,
		AccountID:    o.AccountID,
		Currency:     o.Currency,
		TeamCurrency: o.TeamCurrency,
		Date:         o.Date,
		Amount:       o.Amount,
		Description:  o.Description,
		Status:       bank.Active,
		Type:         bank.Movement,
	}
	if o.UniqueRef != nil {
		r.Reference = *o.UniqueRef
	}

	return r
}

// countTaken finds the records that the rules take, and counts them by rule.
func (p *previewing) countTaken(ctx context.Context, pass *Pass, open []bank.Open) (taken []bank.Open, err error) {
	for i := range open {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("preview bank rules: %w", err)
		}

		record := newRecord(&open[i])
		if r := pass.first(&record); r != nil {
			taken = append(taken, open[i])
			p.takes[r.ID]++
		}
	}

	return taken, nil
}

// publicID returns the id of a rule as callers know it: nil for the rule of the body.
func (p *previewing) publicID(rule id.ID) *id.ID {
	if p.unstored {
		return nil
	}

	return &rule
}

// match returns a record with the rules that it meets and what would be booked.
func (p *previewing) match(pass *Pass, r *Record) Match {
	d := pass.Decide(r)

	m := Match{
		BankRecord:       MatchedRecord{r.ID, r.Reference, r.Date, r.Description, r.AccountID, r.Amount, r.Currency},
		IsAutoApplicable: d.Auto() && !p.broken[d.Rule.ID], Transaction: d.Transaction,
	}
	if d.Reason != "" {
		m.Reason = &d.Reason
	}

	for _, met := range pass.Matching(r) {
		m.Matches = append(m.Matches, MatchedRule{p.publicID(met.ID), met.Name, met.Holding(r)})
	}

	return m
}
