package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"stayledger/platform/money"
	"stayledger/web"
)

// The policy allows the page's own style and script and nothing else, so the page must hold no other: no attribute with
// code, no address elsewhere.
func TestTheOwnerPageIsWhatItsPolicyAllows(t *testing.T) {
	t.Parallel()

	page := web.Owner()

	html := string(page.HTML)
	for directive, form := range map[string]string{"style-src": `(?s)<style>(.*?)</style>`, "script-src": `(?s)<script type="module">(.*?)</script>`} {
		found := regexp.MustCompile(form).FindAllStringSubmatch(html, -1)
		if len(found) != 1 || len(found[0][1]) < 500 {
			t.Fatalf("%s: %d texts", directive, len(found))
		}

		sum := sha256.Sum256([]byte(found[0][1]))
		if want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(page.Policy, want+";") {
			t.Errorf("the policy lacks %s: %s", want, page.Policy)
		}
	}

	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(page.Policy, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}

	if strings.Contains(page.Policy, "unsafe") || strings.Contains(html, "{{") {
		t.Errorf("policy %s", page.Policy)
	}

	if found := regexp.MustCompile(`(?i)https?://|//[a-z]+\.|\son[a-z]+="|\sstyle="|innerHTML|document\.write|localStorage|document\.cookie|@import|(?m)^(?:export|import) `).FindString(html); found != "" {
		t.Errorf("the page holds %q", found)
	}
}

// No file of the console holds code or style in markup, a way to make markup of text, an address elsewhere, or a note
// to the log.
func TestTheConsoleHoldsNothingThatItsPolicyRefuses(t *testing.T) {
	t.Parallel()

	assets, err := web.Console()
	if err != nil {
		t.Fatal(err)
	}

	forbidden := regexp.MustCompile(`(?i)https?://|\son[a-z]+="|\sstyle="|<style|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|localStorage|document\.cookie|@import|console\.(log|error|warn)`)
	tags := map[string]bool{}

	for _, a := range assets {
		if found := forbidden.Find(a.Body); found != nil {
			t.Errorf("%s holds %q", a.Path, found)
		}

		if !strings.HasPrefix(a.Path, "/console") || a.ContentType == "" || tags[a.Tag] {
			t.Errorf("%s is served as %q with the tag %q", a.Path, a.ContentType, a.Tag)
		}

		tags[a.Tag] = true
	}

	if len(assets) < 9 || strings.Contains(web.Policy, "unsafe") {
		t.Errorf("%d files under %s", len(assets), web.Policy)
	}
}

// Only the pages of a session's origins can show it, and nothing that it loads holds what its policy refuses.
func TestAnEmbeddedPageIsShownByItsOriginsAlone(t *testing.T) {
	t.Parallel()

	for ancestors, origins := range map[string][]string{
		"'none'": nil, "https://a.example https://b.example:8443": {"https://a.example", "https://b.example:8443"},
	} {
		page := web.EmbedPage(origins)
		if !strings.Contains(page.Policy, "; frame-ancestors "+ancestors+"; ") || strings.Count(page.Policy, "frame-ancestors") != 1 {
			t.Errorf("%q are allowed by %s", origins, page.Policy)
		}

		if !strings.Contains(string(page.HTML), `<meta name="origins" content="`+strings.Join(origins, " ")+`">`) {
			t.Errorf("the page does not say %q: %s", origins, page.HTML)
		}
	}

	forbidden := regexp.MustCompile(`(?i)https?://|\son[a-z]+="|\sstyle="|<style|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|localStorage|sessionStorage|document\.cookie|@import|console\.(log|error|warn)|postMessage\([^)]*"\*"`)
	for _, a := range append(web.EmbedAssets(), web.Asset{Path: "page", Body: web.EmbedPage(nil).HTML}) {
		if found := forbidden.Find(a.Body); found != nil {
			t.Errorf("%s holds %q", a.Path, found)
		}
	}
}

// The browser's own table of places is that of CLDR, which differs from ISO 4217 for some currencies.
func TestThePagesKnowThePlacesOfCurrencies(t *testing.T) {
	t.Parallel()

	script := string(web.Owner().HTML)

	listed := regexp.MustCompile(`const digits = \{ 0: "([A-Z ]+)", 3: "([A-Z ]+)" \};`).FindStringSubmatch(script)
	if listed == nil {
		t.Fatal("no table of digits")
	}

	want := map[int][]string{}

	for _, c := range money.Currencies() {
		if places := c.MinorDigits(); places != 2 {
			want[places] = append(want[places], c.Code())
		}
	}

	if len(want) != 2 || strings.Join(want[0], " ") != listed[1] || strings.Join(want[3], " ") != listed[2] {
		t.Errorf("the pages have %q, ISO 4217 %v", listed[1:], want)
	}
}
