package reference

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// The address of the changelog.
const changelogPath = "/changelog"

// changeKinds are the parts of a day of the changelog, as readers look for them. Each has the headings under which the
// file has its entries; days from before there were headings have changes of the contract alone.
var changeKinds = []struct{ title, parts string }{
	{"Contract", " Breaks Additions Repairs "},
	{"Operation", " Operation "},
	{"Tuning", " Tuning "},
}

var (
	dayHeading  = regexp.MustCompile(`(?m)^## `)
	partHeading = regexp.MustCompile(`(?m)^### `)
)

// renderChangelog renders the changelog for people: by day, with what callers see, what operators see and what only got
// faster apart.
func (s *Site) renderChangelog(source string) ([]byte, error) {
	var out bytes.Buffer

	for _, day := range dayHeading.Split(source, -1)[1:] {
		date, rest, _ := strings.Cut(day, "\n")
		parts := partHeading.Split(rest, -1)

		fmt.Fprintf(&out, "## %s\n\n", date)

		for i, kind := range changeKinds {
			var text strings.Builder
			if i == 0 {
				text.WriteString(parts[0])
			}

			for _, part := range parts[1:] {
				name, entries, _ := strings.Cut(part, "\n")
				switch {
				case !strings.Contains(kind.parts, " "+name+" "):
				case name == kind.title:
					text.WriteString(entries)
				default:
					fmt.Fprintf(&text, "\n#### %s\n\n%s", name, entries)
				}
			}

			if strings.TrimSpace(text.String()) != "" {
				fmt.Fprintf(&out, "\n### %s\n\n%s\n", kind.title, text.String())
			}
		}
	}

	return s.renderMarkdown(out.Bytes(), homePath)
}
