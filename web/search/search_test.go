package search_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"stayledger/web/search"
)

var index = search.New([]search.Page{
	{Address: "/trust", Title: "Trust accounts", Weight: 1, Sections: []search.Section{{Text: "Money of guests."}, {ID: "close", Heading: "Closing", Text: "The last day of a month."}}},
	{Address: "/stays", Title: "List reservations", Weight: 1, Sections: []search.Section{{Text: "Stays, by bankRecordId."}}, Names: []search.Name{{Kind: "field", Text: "bankRecordId"}}},
	{Address: "/reserves", Title: "Reserves", Weight: 1, Sections: []search.Section{{Text: strings.Repeat("é ü … ", 300) + "kept for repairs" + strings.Repeat(" ñ", 300)}}},
})

func TestPagesAreFoundByTheirWords(t *testing.T) {
	t.Parallel()

	for _, row := range []struct{ query, want string }{
		{"trusts", "/trust"},
		{"escrow", "/trust"},
		{"month end", "/trust#close"},
		{"reservation", "/stays"},
		{"reserve", "/reserves"},
		{"bankrecordid", "/stays"},
		{"record", "/stays"},
		{"ecordI", "/stays"},
		{"repair", "/reserves"},
		{"the", "/trust#close"},
		{"nothing like that", ""},
		{"", ""},
	} {
		found := index.Find(row.query, 1)
		if len(found) == 0 && row.want != "" || len(found) > 0 && found[0].Address != row.want {
			t.Errorf("%q finds %+v, not %s", row.query, found, row.want)
		}
	}
}

// A snippet is short and whole text, whatever the text is.
func TestSnippetsAreShort(t *testing.T) {
	t.Parallel()

	var (
		marked  bool
		snippet strings.Builder
	)

	for _, p := range index.Find("repairs", 1)[0].Snippet {
		marked = marked || p.Marked && p.Text == "repairs"

		snippet.WriteString(p.Text)
	}

	text := snippet.String()
	if !marked || len(text) > 220 || !utf8.ValidString(text) {
		t.Errorf("%q", text)
	}
}
