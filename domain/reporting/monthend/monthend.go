// Package monthend says what is open of a month, in the order in which people close it. It keeps no data: each noun
// says what is open of its own records, and closing the books asks the same.
//
// The page docs/decisions/monthend.md says what the contract leaves open and how it is answered here.
package monthend

import (
	"context"
	"net/http"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// Part returns the endpoint over the checks of all nouns.
func Part(checks parts.MonthChecks) parts.Part {
	h := handler{checks}

	return parts.Part{Endpoints: api.RequireBooks([]api.Endpoint{api.Read(api.Endpoint{
		Method: http.MethodGet, Path: "/month-end", ID: "getMonthEnd", Tag: "Reports", Summary: "Show what is open of a month",
		Doc: "Without month it is the last one that is over. The steps are in the order in which people take them, each " +
			"with what is open, its amount, and the list behind it. " +
			"Closing the books shows the same in issues.",
		Scopes: []string{"reports:read"},
	}, h.monthEnd)})}
}

// The schemas are named after the end of a month in two words.
var (
	_ = api.PublishUnder[MonthEnd]("MonthEnd")
	_ = api.PublishAs[parts.Step]("MonthEndStepName")
)

type handler struct{ checks parts.MonthChecks }

// Status says how far a step is.
type Status string

// The statuses.
const (
	Done Status = "done"
	// OpenNow has something that is open.
	OpenNow Status = "open"
	// Waiting has nothing of its own that is open, but statements have not come to it.
	Waiting Status = "waiting"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Done), string(OpenNow), string(Waiting)} }

// MonthEnd is what is open of a month.
type MonthEnd struct {
	Month   day.Month `json:"month"`
	LastDay day.Day   `json:"lastDay"`
	IsOver  bool      `json:"isOver" doc:"Whether the last day has passed where the team is."`
	IsDone  bool      `json:"isDone" doc:"Whether each step is done, the books closed among them."`
	Steps   []Step    `json:"steps" doc:"All steps, in order."`
}

// Step is a step of the end of a month.
type Step struct {
	Step    parts.Step   `json:"step" doc:"Its name."`
	Status  Status       `json:"status" doc:"waiting: nothing of its own is open, but statements have not come to it."`
	Count   int64        `json:"count" doc:"Of the records that are open."`
	Amounts []Amount     `json:"amounts" doc:"Of what is open, by currency. Empty for records without an amount, and for trustReconciled, whose findings are of different kinds."`
	Blocks  []parts.Step `json:"blocks" doc:"Steps that cannot be taken while it is open."`
	Items   []Item       `json:"items" doc:"What is open by kind and currency."`
}

// Amount is an amount in a currency.
type Amount struct {
	Currency  string      `json:"currency"`
	CentTotal money.Cents `json:"centTotal" doc:"Cents."`
}

// Item is what is open of one kind and currency.
type Item struct {
	Code      string           `json:"code" doc:"Stable name, as in the issues of a closing of the books."`
	Severity  finding.Severity `json:"severity"`
	Message   string           `json:"message" doc:"The sentence of the code."`
	Count     int64            `json:"count"`
	Currency  *string          `json:"currency" doc:"Null for records without an amount."`
	CentTotal *money.Cents     `json:"centTotal" doc:"Cents: what owners get of statements, payouts and late changes, else the amount of the records. Null for records without an amount."`
	List      string           `json:"list" doc:"Path and query of a request that lists them: 100 at most where it names ids."`
}

type input struct {
	Month *day.Month `query:"month" doc:"YYYY-MM."`
}

// monthEnd answers with what is open of a month.
func (h handler) monthEnd(ctx context.Context, tx *db.Tx, in *input) (*MonthEnd, error) {
	month := tx.Today().Month().Prev()
	if in.Month != nil {
		month = *in.Month
	}

	first, before := month.First(), month.Next().First()

	open, err := h.checks.Find(ctx, tx, &first, before)
	if err != nil {
		return nil, err
	}

	out := &MonthEnd{Month: month, LastDay: month.Last(), IsOver: !tx.Today().Before(before), Steps: arrange(open)}
	out.IsDone = !slices.ContainsFunc(out.Steps, func(s Step) bool { return s.Status != Done })

	return out, nil
}

// awaits are the steps that statements go through before they come to a step.
var awaits = map[parts.Step][]parts.Step{
	parts.StatementsPublished: {parts.StatementsReviewed},
	parts.OwnersPaid:          {parts.StatementsReviewed, parts.StatementsPublished},
}

// arrange returns all steps with what is open of each.
func arrange(open []parts.Open) []Step {
	isOpen := func(step parts.Step) bool {
		return slices.ContainsFunc(open, func(o parts.Open) bool { return o.Step == step })
	}

	var steps []Step

	for _, name := range parts.Steps() {
		s := Step{Step: name, Status: Done, Amounts: []Amount{}, Blocks: []parts.Step{}, Items: []Item{}}
		if slices.ContainsFunc(awaits[name], isOpen) {
			s.Status = Waiting
		}

		for i := range open {
			if o := &open[i]; o.Step == name {
				s.add(o)
			}
		}

		steps = append(steps, s)
	}

	return steps
}

// add adds something that is open to its step.
func (s *Step) add(o *parts.Open) {
	s.Status = OpenNow
	s.Count += o.Count

	item := Item{Code: o.Code, Severity: o.Severity, Message: o.Message, Count: o.Count, List: o.List}
	if o.Currency != "" {
		item.Currency, item.CentTotal = &o.Currency, &o.Cents
	}

	// Findings of the trust are of different kinds, and their sum says nothing.
	if o.Currency != "" && o.Step != parts.TrustReconciled {
		at := slices.IndexFunc(s.Amounts, func(a Amount) bool { return a.Currency == o.Currency })
		if at < 0 {
			at, s.Amounts = len(s.Amounts), append(s.Amounts, Amount{Currency: o.Currency})
		}

		s.Amounts[at].CentTotal += o.Cents
	}

	s.Items = append(s.Items, item)

	for _, b := range o.Blocks {
		if !slices.Contains(s.Blocks, b) {
			s.Blocks = append(s.Blocks, b)
		}
	}
}
