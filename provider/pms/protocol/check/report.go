package check

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"stayledger/provider/pms"
)

// Outcome says whether a rule holds.
type Outcome string

// The outcomes.
const (
	OK    Outcome = "ok"
	Wrong Outcome = "wrong"
	// NotOffered is something that a server can leave out.
	NotOffered Outcome = "notOffered"
	// NotChecked could not be found out, or was not asked for; the note says why.
	NotChecked Outcome = "notChecked"
)

// Finding is one thing that is wrong. It has texts of the server, without control characters and cut.
type Finding struct {
	Request string `json:"request"`         // method and path
	Row     string `json:"row,omitempty"`   // id of a listing or a reservation
	Field   string `json:"field,omitempty"` // such as lines.0.amount
	Fault   string `json:"fault"`
}

// String returns the finding in one line.
func (f Finding) String() string {
	out := f.Request
	if f.Row != "" {
		out += ", row " + f.Row
	}

	if f.Field != "" {
		out += ", " + f.Field
	}

	return out + ": " + f.Fault
}

// Result says whether a rule holds.
type Result struct {
	Rule

	Outcome Outcome `json:"outcome"`
	Note    string  `json:"note,omitempty"`
	// Count is how many things are wrong, and Findings the first of them.
	Count    int       `json:"count,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// Report has a result for each of Rules, in their order.
type Report struct {
	Results []Result `json:"rules"`
}

// Wrong returns the ids of the rules that do not hold.
func (r *Report) Wrong() []string {
	var ids []string

	for i := range r.Results {
		if r.Results[i].Outcome == Wrong {
			ids = append(ids, r.Results[i].ID)
		}
	}

	return ids
}

// The bounds of a report.
const (
	maxFindings = 5   // of a rule
	maxRequest  = 120 // characters
	maxWord     = 80  // characters of an id, a field or a fault
)

// newReport returns a report in which nothing was found out.
func newReport() *Report {
	out := &Report{Results: make([]Result, len(Rules))}
	for i, rule := range Rules {
		out.Results[i] = Result{Rule: rule, Outcome: NotChecked}
	}

	return out
}

// at returns the result of a rule.
func (r *Report) at(rule string) *Result {
	for i := range r.Results {
		if r.Results[i].ID == rule {
			return &r.Results[i]
		}
	}

	panic("check: there is no rule " + rule)
}

// pass says that rules hold, unless something was found before.
func (r *Report) pass(rules ...string) {
	for _, rule := range rules {
		if result := r.at(rule); result.Outcome == NotChecked && result.Note == "" {
			result.Outcome = OK
		}
	}
}

// note says why rules are not offered or not checked, unless one was found not to hold.
func (r *Report) note(outcome Outcome, why string, rules ...string) {
	for _, rule := range rules {
		if result := r.at(rule); result.Outcome != Wrong {
			result.Outcome, result.Note = outcome, why
		}
	}
}

// fail says that a rule does not hold.
func (r *Report) fail(rule string, f Finding) {
	result := r.at(rule)
	result.Outcome, result.Note = Wrong, ""

	if result.Count++; len(result.Findings) < maxFindings {
		result.Findings = append(result.Findings, Finding{
			Request: clean(f.Request, maxRequest), Row: clean(f.Row, maxWord), Field: clean(f.Field, maxWord),
			Fault: clean(f.Fault, maxWord),
		})
	}
}

// clean returns a text of a server without characters that a terminal would act on, cut to so many characters.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}

		return r
	}, pms.Text(s))

	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}

	return s
}

// describe returns what an error of a call says.
func describe(err error) string {
	e, is := errors.AsType[*pms.Error](err)
	if is && e.Status != 0 {
		return fmt.Sprintf("status %d", e.Status)
	}

	return strings.TrimPrefix(err.Error(), pms.ErrAnswer.Error()+": ")
}
