package console_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var narrow = device{name: "narrow", width: 360, height: 780}

// TestReference reads the reference in a browser. A tab reports what its policy refuses, errors of its console and
// requests that leave the service.
func TestReference(t *testing.T) {
	t.Parallel()

	chrome, s := chromium(t), serve(t)
	for _, d := range []device{desk, narrow} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, chrome, s, d)
			testDeepLinks(p)
			testSearch(p)
			testLanguages(p)

			for name, path := range map[string]string{
				"overview": "/docs", "create": "/docs/operations/createTransaction", "list": "/docs/operations/listTransactions", "errors": "/docs/chapters/errors", "issues": "/docs/chapters/issues", "start": "/docs/chapters/start",
				"guide": "/docs/guides/webhooks", "files": "/docs/guides/first-hour", "changelog": "/changelog", "found": "/docs/search?q=refund", "nothing": "/docs/search?q=xyzzy",
			} {
				p.reads(path)
				p.checks(name)
			}

			if d == narrow {
				p.click("Contents")
				p.until(`document.querySelector(".contents a[href='/docs/chapters/errors']").checkVisibility()`)
				p.checks("contents")
			}
		})
	}
}

// reads opens a page of the reference and waits until its script has run.
func (p *tab) reads(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.base + path))
	p.until(`document.getElementById("search")?.role === "combobox"`)
}

// testDeepLinks: the fragment of a link to an operation leads to its page, in the form of today and in that which
// errors carry.
func testDeepLinks(p *tab) {
	for link, heading := range map[string]string{"/docs#/createTransaction": "Create a transaction", "/docs#listAccounts": "List the chart of accounts"} {
		p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.base+link))
		p.until(`document.querySelector("h1")?.textContent === ` + quoted(heading))
	}

	p.reads("/docs/chapters/errors#booksClosed")
	p.until(`document.querySelector("tr:target").getBoundingClientRect().top < innerHeight`)
}

// testSearch finds operations by path and by field, and a reason, with the keyboard alone.
func testSearch(p *tab) {
	for _, one := range []struct{ typed, path string }{
		{"POST contacts batch", "/docs/operations/batchContacts"},
		{"idempotency", "/docs/chapters/idempotency"},
		{"booksClosed", "/docs/chapters/errors"},
		{"exportTrialBalanceCSV", "/docs/operations/exportTrialBalanceCSV"},
	} {
		p.reads("/docs")
		p.types(one.typed)
		p.until(`document.getElementById("found").checkVisibility() && document.querySelector("#found [aria-selected=true]")`)

		if one.typed == "booksClosed" {
			p.checks("search")
		}

		p.press(kb.Enter)
		p.until(`location.pathname === ` + quoted(one.path))
	}

	p.reads("/docs")
	p.types("fundingBalanceOfNobody")
	p.sees("Nothing is found.")
	p.press(kb.Escape)
	p.until(`!document.getElementById("found").checkVisibility()`)
	p.fill("search", "centTotal")
	p.sees("field centTotal")
	selected := evaluate[string](p, `document.querySelector("#found [aria-selected=true]").id`)
	p.press(kb.ArrowDown)
	p.until(`document.querySelector("#found [aria-selected=true]").id !== ` + quoted(selected))
}

// types goes to the search by its key and types there. The browser of a test puts the key into the field too, where one
// of a person does not.
func (p *tab) types(text string) {
	p.t.Helper()
	p.press("/")
	p.until(`document.activeElement.id === "search"`)
	evaluate[bool](p, `document.activeElement.select(); true`)
	p.press(text)
}

// testLanguages: the language of the examples is chosen by mouse or keyboard and stays for the next page.
func testLanguages(p *tab) {
	p.reads("/docs/operations/createContact")
	p.sees(`curl "$STAYLEDGER_URL/contacts"`)
	p.click("TypeScript")
	p.sees("await fetch(")
	p.press(kb.ArrowLeft)
	p.sees("http.NewRequest(")
	p.reads("/docs/operations/listContacts")
	p.sees(`http.NewRequest("GET"`)

	if evaluate[bool](p, `document.body.innerText.includes("curl \"")`) {
		p.t.Error("two languages are shown at once")
	}

	evaluate[bool](p, `sessionStorage.clear(); true`)
}

// What a reader waits for is light: a page with all that it needs, and what the search looks in when somebody searches.
func TestReferenceIsServedWithValidatorsAndAPolicy(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site := s.site(t)

	type sent struct {
		status int
		header http.Header
	}

	plain := func(path, tag string) (sent, int) {
		answer := s.fetch(t, path, tag)
		defer func() { _ = answer.Body.Close() }()

		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}

		return sent{answer.StatusCode, answer.Header}, len(body)
	}
	for path, limit := range map[string]int{
		"/docs": 110_000, "/docs/operations/createTransaction": 150_000, "/docs/chapters/errors": 110_000, "/docs/chapters/issues": 110_000, site.Style(): 12_000, site.Script(): 10_000, "/docs/search.json?q=refund": 20_000, "/docs/search?q=refund": 60_000, "/docs/guides/webhooks": 60_000, "/changelog": 150_000,
	} {
		fresh, size := plain(path, "")

		policy := fresh.header.Get("Content-Security-Policy")
		if fresh.status != 200 || fresh.header.Get("X-Content-Type-Options") != "nosniff" || fresh.header.Get("Referrer-Policy") != "no-referrer" || strings.Contains(policy, "unsafe") ||
			!strings.Contains(policy, "default-src 'none';") || !strings.Contains(policy, "trusted-types 'none'") || !strings.Contains(fresh.header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: %d %v", path, fresh.status, fresh.header)
		}

		want := "no-cache"
		if strings.Contains(path, "?v=") {
			want = "public, max-age=31536000, immutable"
		}

		if got := fresh.header.Get("Cache-Control"); got != want {
			t.Errorf("%s is cached as %q", path, got)
		}

		if size > limit {
			t.Errorf("%s weighs %d bytes", path, size)
		}

		if again, _ := plain(path, fresh.header.Get("ETag")); again.status != http.StatusNotModified {
			t.Errorf("%s: %d for what the browser has", path, again.status)
		}
	}

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/docs", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}

	r.Header.Set("Accept-Encoding", "gzip")

	packed, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}

	_ = packed.Body.Close()
	if got := packed.Header.Get("Content-Encoding"); got != "gzip" {
		t.Errorf("the overview is sent as %q", got)
	}

	for _, path := range []string{"/docs/operations/nothing", "/docs/chapters/nothing", "/docs/x"} {
		if missing, size := plain(path, ""); missing.status != http.StatusNotFound || size < 1000 || missing.header.Get("ETag") != "" {
			t.Errorf("%s: %d %s", path, missing.status, fmt.Sprint(missing.header))
		}
	}
}
