package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apierr"
)

// A list of free texts is one CSV record, and adds up over the parameters of its name. Decided on 2026-11-25.
func TestListsOfFreeTextsAreCSVRecords(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, test := range []struct{ values, want []string }{
		{[]string{`a`}, []string{"a"}},
		{[]string{`a,b`}, []string{"a", "b"}},
		{[]string{`"INV 12,3"`}, []string{"INV 12,3"}},
		{[]string{`"INV 12,3",b`}, []string{"INV 12,3", "b"}},
		{[]string{`a,"b"`}, []string{"a", "b"}},
		{[]string{`"12"" pipe"`}, []string{`12" pipe`}},
		{[]string{`""""`}, []string{`"`}},
		{[]string{"\"two\r\nlines\""}, []string{"two\r\nlines"}},
		{[]string{` a , b `}, []string{" a ", " b "}},
		{[]string{`'a',#b;|`}, []string{"'a'", "#b;|"}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{`"a,b"`, "c,d", "e"}, []string{"a,b", "c", "d", "e"}},
		{[]string{"a", "a"}, []string{"a", "a"}},
	} {
		r := x.Get("/toys?" + url.Values{"names": test.values}.Encode()).Want(200)

		got := make([]string, r.Len("names"))
		for i := range got {
			got[i] = r.String("names." + string(rune('0'+i)))
		}

		if !slices.Equal(got, test.want) {
			t.Errorf("%q is read as %q, want %q", test.values, got, test.want)
		}
	}
}

// A value with a quotation mark is put in quotation marks, and each parameter is a record by itself. Decided on
// 2026-11-25.
func TestMalformedRecordsAreRefused(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, values := range [][]string{
		{`"`},
		{`"a`},
		{`"a""`},
		{`a,"b`},
		{`a"`},
		{`12" pipe`},
		{`"a"b`},
		{`"a" ,b`},
		{` "a"`},
		{`""`},
		{`a,""`},
		{"a,"},
		{"a,,b"},
		{","},
		{"a\nb"},
		{"a\r"},
		{`"a`, `b"`},
		{`a`, `"b`},
		{`"b`, `a`},
		{"a,", "b"},
	} {
		r := x.Get("/toys?"+url.Values{"names": values}.Encode()).WantError(apierr.CodeBadRequest, "").WantIssue("malformed", "names")
		if r.String("issues.0.schema") != "query" {
			t.Errorf("%q: %s", values, r.Body)
		}
	}

	x.Get("/toys?names=a&names=").WantError(apierr.CodeBadRequest, "").WantIssue("emptyParameter", "names")
	x.Get("/toys?names=a&names=%00").WantError(apierr.CodeBadRequest, "").WantIssue("malformedQuery", "names")

	many := strings.Repeat("a,", 999) + "a"
	x.Get("/toys?names=" + many).Want(200)
	x.Get("/toys?names="+many+"&names=a").WantError(apierr.CodeBadRequest, "").WantIssue("items", "names")
	x.Get("/toys?names=%22" + many + "%22&names=a").Want(200)
}
