// Package console_test drives the console in a headless Chromium against the whole service, as a person would.
package console_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestConsole goes through the console. All parts share one browser and one service, and each has an office of its own.
func TestConsole(t *testing.T) {
	t.Parallel()

	chrome, s := chromium(t), serve(t)
	for _, d := range []device{desk, phone} {
		t.Run("operations/"+d.name, func(t *testing.T) {
			t.Parallel()
			alone := serve(t) // its worker would work for the others
			testOperations(open(t, chrome, alone, d), alone.office(t, "Seaside Stays"))
		})
		t.Run("exports/"+d.name, func(t *testing.T) {
			t.Parallel()
			testExports(open(t, chrome, s, d), s.office(t, "Seaside Stays"))
		})
		t.Run("statements/"+d.name, func(t *testing.T) {
			t.Parallel()
			testStatements(open(t, chrome, s, d), s.office(t, "Team "+hostile))
		})
	}

	for _, d := range []device{desk, phone} {
		t.Run("webhooks/"+d.name, func(t *testing.T) {
			t.Parallel()
			alone := serve(t)
			alone.work(t)
			testWebhooks(open(t, chrome, alone, d), alone.office(t, "Seaside Stays"))
		})
	}

	t.Run("keyboard", func(t *testing.T) {
		t.Parallel()
		testKeyboard(open(t, chrome, s, desk), s.office(t, "Seaside Stays"))
	})
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		testSession(open(t, chrome, s, desk), s.office(t, "Seaside Stays"))
	})
	t.Run("owner", func(t *testing.T) {
		t.Parallel()
		testOwnerPage(open(t, chrome, s, phone), s.office(t, "Seaside Stays"))
	})
	t.Run("teams", func(t *testing.T) {
		t.Parallel()
		one, two := s.office(t, "Alpha Stays"), s.office(t, "Beta Stays")
		two.settled(1, "")
		testTeams(open(t, chrome, s, desk), s.keyOf(t, one, two))
	})
}

// testOperations: an export goes from queued over running to completed and its file is fetched, and another one fails.
func testOperations(p *tab, o *office) {
	p.signIn(o.key)
	p.sees("Nothing has been started yet.")
	p.checks("empty")
	o.settled(30, "")
	o.settled(1, "csvPreviewFailed")
	o.call("POST", "/transactions/csv", object{}, 202)
	p.click("Exports")
	p.click("Operations")
	p.sees("CSV preview failed.")
	p.sees("csvPreviewFailed")
	p.sees("Queued")
	p.sees("1 queued, 30 completed, 1 failed")

	row := `document.querySelector("#operations-list tbody tr")`
	evaluate[bool](p, `window.row = `+row+`; true`)
	o.advance(30, 120)
	p.sees("30 of 120")
	p.checks("running")
	evaluate[bool](p, `window.shift = 0; new PerformanceObserver((l) => l.getEntries().forEach((e) => { window.shift += e.value; })).observe({ type: "layout-shift" }); true`)
	o.advance(90, 120)
	p.comeBack()
	p.sees("90 of 120")

	if moved := evaluate[float64](p, `window.shift`); moved > 0 {
		p.t.Errorf("an update moves what is shown by %g", moved)
	}

	p.click("Load more")
	p.until(`document.querySelectorAll("#operations-list tbody tr").length === 32`)
	p.until(`document.activeElement.matches("#operations-list tr")`)

	o.work(p.t)
	p.wait("a file", func() bool {
		p.comeBack()
		return evaluate[bool](p, `document.body.innerText.includes(".csv (")`)
	})
	p.until(`window.row === ` + row) // it was changed in place
	p.click("transactions-")

	if file := p.downloaded(".csv"); !bytes.HasPrefix(file, []byte("\xef\xbb\xbfid,")) && !bytes.HasPrefix(file, []byte("id,")) {
		p.t.Errorf("the file begins with %q", file[:min(40, len(file))])
	}

	evaluate[bool](p, button("transactions-")+`.focus(); window.focused = document.activeElement; true`)
	looks := p.requests("GET /operations?")
	p.comeBack()
	p.wait("another look", func() bool { return p.requests("GET /operations?") > looks })
	p.until(`document.activeElement === window.focused`)
	p.checks("done")
	p.fill("operation-status", "failed")
	p.until(`document.querySelectorAll("#operations-list tbody tr").length === 1`)
	p.fill("operation-type", "export")
	p.sees("No operation matches these filters.")
}

// comeBack is the user who returns from another tab, which makes the page look at once.
func (p *tab) comeBack() {
	p.t.Helper()
	evaluate[bool](p, `document.dispatchEvent(new Event("visibilitychange"))`)
}

// testExports: both ways of asking, a refusal at a field, one that has none, and a selection that is too large to wait
// for.
func testExports(p *tab, o *office) {
	o.books()
	p.signIn(o.key)
	p.click("Exports")
	p.fill("export", "TransactionsCSV")
	p.sees("More filters")
	p.checks("form")
	p.fill("field-dateRange", "2026-13")
	p.refused = true
	p.click("Download now")
	p.until(`document.getElementById("field-dateRange").getAttribute("aria-invalid") === "true" && document.activeElement.id === "field-dateRange"`)
	p.until(`document.getElementById("field-dateRange-problem").checkVisibility() && document.getElementById("field-dateRange-problem").textContent.length > 5`)
	p.sees("BAD_REQUEST")
	p.sees("request ")
	p.checks("refused")
	p.click("Run in background")
	p.until(`document.getElementById("field-dateRange").getAttribute("aria-invalid") === "true"`)
	p.fill("field-dateRange", "2026-01")
	p.until(`!document.getElementById("field-dateRange").hasAttribute("aria-invalid")`)
	p.click("Download now")
	p.sees("The download has started.")

	if file := p.downloaded(".csv"); !bytes.Contains(file, []byte("1234.56")) {
		p.t.Errorf("the file is %s", file)
	}

	p.click("Run in background")
	p.sees("Started in the background.")
	p.click("Follow it under Operations")
	p.sees("Queued")
	p.until(`document.querySelector("#operations-list tbody tr")?.textContent.includes("Transactions as CSV")`)
	p.click("Exports")
	p.fill("export", evaluate[string](p, `[...document.querySelectorAll("#export option")].find((o) => o.textContent.startsWith("Statements behind")).value`))
	p.until(`document.getElementById("field-contactId")`)
	p.click("Download now")
	p.until(`document.activeElement.id === "field-contactId" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	p.sees("Enter a value.")
	p.fill("export", "StatementsPDFBatch")
	p.until(`document.querySelector("#export-form form").getAttribute("aria-label").includes("ZIP")`)
	p.fill("field-month", "2026-01")
	p.click("Download now")
	p.sees("This is too much to wait for.")
	p.checks("too-large")
	p.click("Run it in the background")
	p.sees("Started in the background.")
	p.fill("field-month", "2031-01")
	p.click("Run in background")
	p.sees("selectionEmpty")

	if n := p.requests("POST /statements/pdf/batch"); n != 2 {
		p.t.Errorf("%d requests for the batch", n)
	}
}

// testStatements: the list of a month, a statement of a listing with a hostile name, and its PDF.
func testStatements(p *tab, o *office) {
	o.books()
	p.signIn(o.key)
	p.click("Statements")
	p.fill("month", "2026-01")
	p.sees("Beach House")
	p.sees("Published")
	p.sees(hostile)
	p.sees("$1,234.56")
	p.checks("list")
	p.click("Next month")
	p.until(`location.hash === "#statements/2026-02"`)
	p.sees("Draft")
	p.click("Previous month")
	p.sees("Published")
	p.click(hostile)
	p.until(`document.querySelector("#statement h1")?.textContent === ` + quoted(hostile))
	p.sees("Available to the owners")
	p.sees("$617.28")
	p.until(`document.activeElement === document.querySelector("#statement h1")`)
	p.checks("statement")
	// Amounts that no table shows are shown by their entries.
	evaluate[bool](p, `import("/console/statement.js").then((m) => {
		const line = (section, description) => ({ section, description, date: "2026-01-02", total: 100, account: { name: "Account" } });
		const table = { kind: "netRevenue", name: "Stays", columns: [{ name: "Sum" }], rows: [{ cells: [{ amount: 100 }] }], totals: [{ amount: 100 }] };
		const s = { currency: "usd", tables: [table, { ...table, kind: "other", rows: [] }], lines: [line("netRevenue", "In"), line("expenses", "Out"), line("payouts", "Paid")] };
		const text = (s) => m.sections(s).flat(9).filter(Boolean).map((e) => e.textContent).join();
		window.told = [text(s), text({ ...s, tables: [] })];
	}); true`)
	p.until(`window.told && /Stays.*OutAccount/.test(told[0]) && !/InAccount|PaidAccount/.test(told[0]) && /InAccount.*OutAccount.*PaidAccount/.test(told[1])`)
	p.click("PDF")

	if file := p.downloaded(".pdf"); !bytes.HasPrefix(file, []byte("%PDF-")) {
		p.t.Errorf("the file begins with %q", file[:min(8, len(file))])
	}

	if evaluate[bool](p, `"hit" in window`) || evaluate[int](p, `document.querySelectorAll("main img, main script").length`) != 0 {
		p.t.Error("a name became markup")
	}

	p.click("‹ Statements")
	p.until(`location.hash === "#statements/2026-01"`)
	p.click("Sign out")
	p.sees("API key")

	if left := evaluate[string](p, `JSON.stringify(sessionStorage) + document.body.textContent + location.href`); strings.Contains(left, o.key) || strings.Contains(left, "Beach House") {
		p.t.Errorf("signing out leaves %s", left)
	}
}

// testKeyboard signs in, goes to a place and out again without a mouse.
func testKeyboard(p *tab, o *office) {
	p.refused = true
	p.until(`document.getElementById("key").checkVisibility()`)
	p.tabTo("skip")
	p.tabTo("key")
	p.press("sk_us_nonsense" + kb.Enter)
	p.sees("The service does not know this key")
	p.until(`document.activeElement.id === "key" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	p.checks("wrong-key")
	p.press(o.key)
	p.tabTo("stay")
	p.press(" ")
	p.tabTo("sign-in-button")
	p.press(kb.Enter)
	p.until(`document.activeElement.id === "operations-title"`)

	if evaluate[string](p, `sessionStorage.getItem("stayledger.key")`) != o.key {
		p.t.Error("the key is not kept for the tab")
	}

	p.do(chromedp.Reload())
	p.sees("Nothing has been started yet.")
	p.tabTo("skip")
	p.press(kb.Enter)
	p.until(`document.activeElement.id === "main"`)
	evaluate[bool](p, `document.activeElement.blur(); true`)
	p.tabTo("sign-out")
	p.press(kb.Enter)
	p.until(`document.activeElement.id === "key" && sessionStorage.length === 0 && document.getElementById("key").value === ""`)
}

// tabTo moves the focus on until it is on an element, which must show that it has it.
func (p *tab) tabTo(id string) {
	p.t.Helper()

	for range 20 {
		p.press(kb.Tab)

		if evaluate[string](p, `document.activeElement.id`) == id {
			if !evaluate[bool](p, `(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 })()`) {
				p.t.Errorf("the focus on %s does not show", id)
			}

			return
		}
	}

	p.t.Fatalf("the focus never reaches %s", id)
}

// testSession: a key that is not kept is gone with a reload, never in an address, and one that is revoked ends the
// session.
func testSession(p *tab, o *office) {
	p.click("Sign in")
	p.sees("Enter the key.")
	p.checks("sign-in")
	p.fill("key", "a b")
	p.click("Sign in")
	p.sees("This is not a key")
	p.signIn(o.key)
	p.sees("Nothing has been started yet.")

	if evaluate[int](p, `sessionStorage.length + localStorage.length + document.cookie.length`) != 0 {
		p.t.Error("the key is kept without having been asked for")
	}

	p.do(chromedp.Reload())
	p.until(`document.getElementById("key")?.checkVisibility()`)
	p.signIn(o.key)
	p.sees("Nothing has been started yet.")
	p.refused = true
	p.block(o.base + "/operations*")
	p.comeBack()
	p.sees("The service cannot be reached.")
	p.block()
	p.comeBack()
	p.sees("● Live")
	evaluate[bool](p, `location.hash = "#%zz"; true`)
	p.sees("Nothing has been started yet.")
	testAnotherKey(p, o)
	o.revoke()
	p.click("Exports")
	p.click("Statements")
	p.wait("the end of the session", func() bool {
		if evaluate[bool](p, `document.body.innerText.includes("The key is no longer valid")`) {
			return true
		}

		evaluate[bool](p, `location.hash = "#operations"; location.hash = "#statements"; true`)

		return false
	})
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, one := range p.asked {
		if strings.Contains(one, o.key) {
			p.t.Errorf("the key is in an address: %s", one)
		}
	}
}

// testAnotherKey: a key that was kept for the tab is gone once another signs in that is not to be kept.
func testAnotherKey(p *tab, o *office) {
	evaluate[bool](p, `sessionStorage.setItem("stayledger.key", "sk_us_former"); true`)
	p.block(o.base + "/teams*")
	p.do(chromedp.Reload())
	p.sees("The service cannot be reached.")
	p.block()
	evaluate[bool](p, `document.getElementById("stay").checked = false; true`)
	p.signIn(o.key)
	p.sees("Nothing has been started yet.")

	if kept := evaluate[string](p, `JSON.stringify(sessionStorage)`); kept != "{}" {
		p.t.Errorf("kept for the tab: %s", kept)
	}
}

// testOwnerPage: the page that an owner's link opens shows the statement with the console's functions.
func testOwnerPage(p *tab, o *office) {
	o.books()
	statement, _ := o.call("GET", "/statements?month=2026-01&sort=listing&limit=1", nil, 200)["data"].(array)[0].(object)
	contact := statement["shares"].(array)[0].(object)["contactId"]
	link, _ := o.call("POST", "/statements/"+statement["id"].(string)+"/owner-links", object{"contactId": contact}, 201)["url"].(string)
	p.do(chromedp.Navigate(link))
	p.until(`document.querySelector("h1")?.textContent === ` + quoted(hostile))
	p.sees("$1,234.56")
	p.sees("(you)")
	p.sees("Your statements")
	p.keep("statement")

	if evaluate[bool](p, `"hit" in window`) {
		p.t.Error("a name became markup")
	}

	if wide := evaluate[string](p, `[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 &&
		!e.closest(".scroll, .unseen")).map((e) => e.outerHTML).join()`); wide != "" {
		p.t.Errorf("beyond the edge: %s", wide)
	}
}

// testTeams: a key of two teams asks which.
func testTeams(p *tab, key string) {
	p.signIn(key)
	p.sees("This key reaches several teams.")
	p.checks("choose")
	p.click("Continue")
	p.sees("Nothing has been started yet.")
	p.until(`document.querySelector("#team option:checked").textContent === "Alpha Stays"`)
	evaluate[bool](p, `{ const e = document.getElementById("team"); e.selectedIndex = 1; e.dispatchEvent(new Event("change")); true }`)
	p.sees("Transaction journal refresh")
	p.checks("team")
}

// testWebhooks: a webhook is tested, what was sent is shown and sent again, and its history tells of it.
func testWebhooks(p *tab, o *office) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, hostile) }))
	p.t.Cleanup(receiver.Close)

	p.signIn(o.key)
	p.click("Webhooks")
	p.sees("The team has no webhooks.")

	made := o.call("POST", "/webhooks", object{"url": receiver.URL + "/hook", "eventTypes": array{"audit.event.changed"}, "description": hostile}, 201)
	hook, _ := made["id"].(string)

	p.click("History")
	p.sees("Of any record")
	p.click("Webhooks")
	p.sees(receiver.URL + "/hook")
	p.sees("Pending")
	p.checks("webhooks")
	p.click(receiver.URL + "/hook")
	p.sees("Nothing was sent yet.")
	p.click("Send a test")
	p.sees("Started: operation")
	p.wait("the test", func() bool {
		p.click("Refresh")
		return evaluate[bool](p, `document.body.innerText.includes("Succeeded")`)
	})
	p.until(`!document.querySelector("#webhooks [aria-disabled=true]")`) // what is shown stays
	p.sees("Active")
	p.click("webhook.test")
	p.sees(`"webhookId": "` + hook + `"`)
	p.sees(hostile)
	p.checks("webhook")
	p.click("Send again")
	p.until(`document.querySelector("#webhooks details[open] .refusal")?.textContent.startsWith("Started: operation")`)
	p.click("History")
	p.sees("Of any record")
	evaluate[bool](p, `location.hash = "#trail/webhook/`+hook+`"; true`)
	p.sees("Updated webhook")
	p.sees("verifiedAt")
	p.sees("Created webhook")
	p.checks("history")
	p.fill("trail-type", "contact")
	p.fill("trail-id", o.id.String())
	p.click("Show history")
	p.sees("The trail has nothing of this record.")
}
