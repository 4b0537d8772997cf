package app_test

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"stayledger/app"
	"stayledger/web/reference"
)

// readSite prepares the pages of the service's own description.
var readSite = sync.OnceValues(func() (*reference.Site, error) {
	d, err := app.Describe()
	if err != nil {
		return nil, err
	}

	return reference.New(d.JSON)
})

func site(t *testing.T) *reference.Site {
	t.Helper()

	s, err := readSite()
	if err != nil {
		t.Fatal(err)
	}

	return s
}

// found returns the addresses of the pages that a query finds, the best first, without places in them.
func found(t *testing.T, query string) []string {
	t.Helper()

	asset, _, err := site(t).Search("/docs/search", query)
	if err != nil {
		t.Fatal(err)
	}

	var addresses []string
	for _, hit := range regexp.MustCompile(`<li><a href="([^"#]*)[^"]*">[^<]*</a>\n<p class="soft">`).FindAllStringSubmatch(string(asset.Body), -1) {
		addresses = append(addresses, html.UnescapeString(hit[1]))
	}

	return addresses
}

// A page is found by the words that people of the trade have for its subject.
func TestWordsOfTheTradeFindTheirPage(t *testing.T) {
	t.Parallel()

	for _, row := range []struct {
		query, address string
		within         int // the page is among so many
	}{
		{"1099", "/docs/operations/getInformationReturns", 3},
		{"1099", "/docs/guides/concepts", 1},
		{"month end", "/docs/guides/close-a-month", 1},
		{"refund", "/docs/guides/concepts", 1},
		{"chargeback", "/docs/guides/concepts", 1},
		{"deposit", "/docs/guides/concepts", 1},
		{"escrow", "/docs/guides/concepts", 1},
		{"commission", "/docs/guides/concepts", 1},
		{"bank feed", "/docs/guides/bank-feeds", 1},
		{"invite", "/docs/guides/people-and-keys", 1},
		{"sandbox", "/docs/guides/connect-a-system", 1},
		{"payout", "/docs/operations/previewStatementPayouts", 1},
		{"owner statement", "/docs/guides/close-a-month", 1},
		{"reconcile", "/docs/guides/reconcile-a-bank", 1},
		{"lock", "/docs/guides/concepts", 3},
		{"cutover", "/docs/guides/cutover", 1},
		{"webhook", "/docs/guides/webhooks", 1},
		{"tax", "/docs/guides/concepts", 1},
		{"import", "/docs/guides/first-hour", 1},
		{"reserve", "/docs/guides/concepts", 1},
		{"split", "/docs/guides/concepts", 1},
	} {
		addresses := found(t, row.query)
		if at := slices.Index(addresses, row.address); at < 0 || at >= row.within {
			t.Errorf("%q finds %s at place %d: %v", row.query, row.address, at, addresses[:min(5, len(addresses))])
		}
	}
}

// Every address that a page names is on the site, with its place in the page, in the Markdown of the page, too.
func TestEveryLinkOfTheSiteLeadsSomewhere(t *testing.T) {
	t.Parallel()
	s := site(t)

	texts, places := map[string]string{}, map[string]map[string]bool{}
	read := func(address string) (string, map[string]bool) {
		if text, isKnown := texts[address]; isKnown {
			return text, places[address]
		}

		asset, isThere, err := s.Asset(address)
		if address == "/docs/search" {
			asset, isThere, err = s.Search(address, "refund of a stay")
		}

		if err != nil {
			t.Fatal(err)
		}

		texts[address] = string(asset.Body)

		if isThere {
			places[address] = map[string]bool{"": true}
			for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(string(asset.Body), -1) {
				places[address][html.UnescapeString(id[1])] = true
			}
		}

		return texts[address], places[address]
	}

	elsewhere := regexp.MustCompile(`^(/(openapi\.json|openapi\.yaml|openapi-3\.0\.json|console)$|https?:)`)
	links := regexp.MustCompile(`(?:href|src|action)="([^"]*)"|\]\((/[^)\s]*|#[^)\s]*|[a-z][a-z0-9/-]*\.[a-z]+[^)\s]*)\)`)
	checked := 0

	for _, from := range append(s.Addresses(), "/llms.txt") {
		text, _ := read(from)
		pages := map[string]string{from: text}

		if markdown := from + ".md"; strings.Contains(text, fmt.Sprintf("href=%q", markdown)) {
			pages[markdown], _ = read(markdown)
		}

		for page, text := range pages {
			for _, link := range links.FindAllStringSubmatch(text, -1) {
				address, place, _ := strings.Cut(html.UnescapeString(link[1]+link[2]), "#")
				address, _, _ = strings.Cut(address, "?")

				if elsewhere.MatchString(address) || address == "" && place == "" {
					continue
				}

				checked++

				switch {
				case address == "":
					address = from
				case !strings.HasPrefix(address, "/"):
					address = page[:strings.LastIndex(page, "/")+1] + address
				}

				// Places in Markdown are those of the page.
				if strings.HasSuffix(address, ".md") {
					if _, isThere := read(address); isThere == nil {
						t.Errorf("%s leads to %s, which is not there", page, address)
					}

					address = strings.TrimSuffix(address, ".md")
				}

				if _, isThere := read(address); !isThere[place] {
					t.Errorf("%s leads to %s, which has no %q", page, address, place)
				}
			}
		}
	}

	if checked < 5000 {
		t.Errorf("%d links", checked)
	}
}
