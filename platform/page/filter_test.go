package page_test

import (
	"encoding/json"
	"strings"
	"testing"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

const (
	one = "018bcfe5-6800-7000-8000-000000000001"
	two = "018bcfe5-6800-7000-8000-000000000002"
)

func TestFilterItems(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][2]string{
		one: {one, one}, "!" + one: {"!" + one, "!" + one}, strings.ToUpper(one): {one, one},
		"null": {"", "null"}, "!null": {"", "!null"}, "unmapped": {"", "null"},
		"": {}, "!": {}, "!!" + one: {}, one + " ": {}, "none": {}, "Null": {},
	} {
		var (
			p page.Pick
			r page.Ref
		)

		if got := textOf(&p, text); got != want[0] {
			t.Errorf("the id %q is read as %q, want %q", text, got, want[0])
		}

		if got := textOf(&r, text); got != want[1] {
			t.Errorf("the reference %q is read as %q, want %q", text, got, want[1])
		}
	}
}

// textOf reads a text from JSON and writes it again; empty for one that is refused.
func textOf(v any, text string) string {
	quoted, _ := json.Marshal(text)
	if json.Unmarshal(quoted, v) != nil {
		return ""
	}

	written, _ := json.Marshal(v)

	return strings.Trim(string(written), `"`)
}

func TestConditionsOfFilters(t *testing.T) {
	t.Parallel()
	a, b := parse(t, one), parse(t, two)
	month, _ := day.ParseSpan("2026-01")
	yes, no := true, false

	for want, narrow := range map[string]func(q *page.Query){
		"":                           func(q *page.Query) { q.IDs("x = any(?)", nil) },
		"(x = any(@p0))":             func(q *page.Query) { q.IDs("x = any(?)", page.Only(a, b)) },
		"(x = any(@p0)) is not true": func(q *page.Query) { q.IDs("x = any(?)", page.IDs{{ID: a, Out: true}}) },
		"(x = any(@p0)), (x = any(@p1)) is not true":      func(q *page.Query) { q.IDs("x = any(?)", page.IDs{{ID: a}, {ID: b, Out: true}}) },
		"(x = any(@p0::uuid[]))":                          func(q *page.Query) { q.Refs("x", page.Refs{{ID: a}}) },
		"(x = any(@p0::uuid[]) or x is null)":             func(q *page.Query) { q.Refs("x", page.Refs{{ID: a}, {}}) },
		"(x = any(@p0::uuid[]) or x is null) is not true": func(q *page.Query) { q.Refs("x", page.Refs{{Out: true}}) },
		"y = @p0":                 func(q *page.Query) { q.Narrow("y = ?", "b"); q.Narrow("y = ?", "") },
		"a or b = @p0 or c = @p0": func(q *page.Query) { q.Narrow("a or b = ? or c = ?", 1) },
		"z":                       func(q *page.Query) { q.Whether("z", &yes); q.Whether("z", nil) },
		"(z) is not true":         func(q *page.Query) { q.Whether("z", &no) },
		"d >= @p0 and d < @p1":    func(q *page.Query) { q.Dates("d", page.Dates{DateRange: month}); q.Dates("d", page.Dates{}) },
		"(c between @p0 and @p1 or c between @p2 and @p3)":                       func(q *page.Query) { q.Amounts("c", money.Ranges{{Low: 1, High: 2}, {Low: 5, High: 5}}) },
		`(stayledger_fold(n) collate "C" like (select stayledger_pattern(@p0)))`: func(q *page.Query) { q.Search("x", "n"); q.Search("", "n") },
		"(n = any(@p0) or n is null and 'null' = any(@p0))":                      func(q *page.Query) { q.Texts("n", []string{"null"}) },
	} {
		var q page.Query
		narrow(&q)

		if got := strings.Join(q.Where, ", "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A month ends with its last day, which isDateRangeEndInclusive leaves out. Proves: PAG-34, PAG-35.
func TestTheLastDayOfARange(t *testing.T) {
	t.Parallel()

	month, _ := day.ParseSpan("2026-01")

	no := false
	for want, inclusive := range map[string]*bool{"2026-02-01": nil, "2026-01-31": &no} {
		var q page.Query
		q.Dates("d", page.Dates{DateRange: month, IsDateRangeEndInclusive: inclusive})

		if got := q.Args["p1"].(day.Day).String(); got != want { //nolint:forcetypeassert // Dates adds days
			t.Errorf("the range ends before %s, want %s", got, want)
		}
	}
}

func TestRefsHave(t *testing.T) {
	t.Parallel()

	a, b := parse(t, one), parse(t, two)
	for i, test := range []struct {
		refs page.Refs
		want [3]bool // a, b and none
	}{
		{nil, [3]bool{true, true, true}},
		{page.Refs{{ID: a}}, [3]bool{true, false, false}},
		{page.Refs{{}}, [3]bool{false, false, true}},
		{page.Refs{{ID: a, Out: true}}, [3]bool{false, true, true}},
		{page.Refs{{ID: a}, {ID: b}, {ID: b, Out: true}}, [3]bool{true, false, false}},
		{page.Refs{{ID: a}}.Invert(), [3]bool{false, true, true}},
	} {
		if got := [3]bool{test.refs.Has(a), test.refs.Has(b), test.refs.Has(id.Zero)}; got != test.want {
			t.Errorf("%d: %v, want %v", i, got, test.want)
		}
	}
}

func TestSortsAreListedOnce(t *testing.T) {
	t.Parallel()

	got := strings.Join(page.Sorts{{Name: "name", Expr: "n"}, {Name: "at", Expr: "a"}}.Enum(), " ")
	if got != "name -name at -at" {
		t.Errorf("got %s", got)
	}
}

func parse(t *testing.T, text string) id.ID {
	t.Helper()

	v, err := id.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return v
}
