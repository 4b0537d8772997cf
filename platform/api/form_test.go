package api_test

import (
	"errors"
	"testing"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// A form refuses what the edge refuses of a body.
func TestAFormIsAsStrictAsTheEdge(t *testing.T) {
	t.Parallel()

	type input struct {
		Name   *string         `json:"name,omitempty" minLength:"2" maxLength:"5"`
		Kind   kind            `json:"kind,omitempty"`
		Note   api.Opt[string] `json:"note,omitzero" maxLength:"3"`
		On     *day.Day        `json:"on,omitempty"`
		Amount int64           `json:"amount" minimum:"0" maximum:"9"`
	}

	form := api.NewForm[input]()

	today, err := day.Parse("2026-01-15")
	if err != nil {
		t.Fatal(err)
	}

	for text, want := range map[string]apierr.IssueCode{
		`{"amount":1}`: "", `{"amount":1,"name":"Ada","kind":"big","note":null,"on":"2026-01-01"}`: "",
		`{}`: apierr.IssueRequired, `{"amount":10}`: apierr.IssueRange, `{"amount":1,"name":"A"}`: apierr.IssueLength,
		`{"amount":1,"kind":"huge"}`: apierr.IssueEnum, `{"amount":1,"size":2}`: apierr.IssueUnknownField, `{"amount":1,"note":"long"}`: apierr.IssueLength,
		`{"amount":1,"name":null}`: apierr.IssueString, `{"amount":1,"on":"2026-02-30"}`: apierr.IssueDate,
	} {
		var in input

		err := form.Decode([]byte(text), today, &in)

		refusal, _ := errors.AsType[*apierr.Error](err)

		var got apierr.IssueCode
		if refusal != nil && len(refusal.Issues()) > 0 {
			got = refusal.Issues()[0].Code
		}

		if got != want || (want == "") != (err == nil) {
			t.Errorf("%s: %v with the issue %q, want %q", text, err, got, want)
		}
	}
}

// kind is an enumeration.
type kind string

// Enum lists the kinds.
func (kind) Enum() []string { return []string{"big", "small"} }
