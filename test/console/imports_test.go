package console_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestImports brings files in by the console. All parts share one service with workers, and each has an office of its own.
func TestImports(t *testing.T) {
	t.Parallel()

	chrome, s := chromium(t), serve(t)
	s.work(t)

	for _, d := range []device{desk, phone} {
		t.Run("bank/"+d.name, func(t *testing.T) {
			t.Parallel()
			testBankFile(open(t, chrome, s, d), s.office(t, "Seaside Stays"))
		})
		t.Run("columns/"+d.name, func(t *testing.T) {
			t.Parallel()
			testUnclearColumns(open(t, chrome, s, d), s.office(t, "Seaside Stays"))
		})
	}

	t.Run("questions", func(t *testing.T) {
		t.Parallel()
		testQuestions(open(t, chrome, s, desk), s.office(t, "Seaside Stays"))
	})
	t.Run("paging", func(t *testing.T) {
		t.Parallel()
		testPages(open(t, chrome, s, desk), s.office(t, "Seaside Stays"))
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		idle := serve(t) // nothing works there, so that the file stays unread
		testCancel(open(t, chrome, idle, phone), idle.office(t, "Seaside Stays"))
	})
	t.Run("headers", func(t *testing.T) {
		t.Parallel()
		testUnknownHeaders(open(t, chrome, s, desk), s.office(t, "Seaside Stays"))
	})
	t.Run("dependents", func(t *testing.T) {
		t.Parallel()
		testDependents(open(t, chrome, s, desk), s.office(t, "Seaside Stays"))
	})
}

// bankFile is what a German bank gives to download, in its character set: the second row has a day that no month has.
const bankFile = "Konto;DE02120300000000202051\r\n\r\nBuchungstag;Verwendungszweck;Betrag\r\n" +
	"13.02.2026;Miete M\xfcller <b>;1.250,00\r\n31.02.2026;Strom;-80,50\r\n16.02.2026;Geb\xfchr;-4,90\r\n"

// choose puts a file into the form of imports.
func (p *tab) choose(kind, name, content string) {
	p.t.Helper()

	file := filepath.Join(p.t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}

	p.fill("import-kind", kind)
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#import-file"), []string{file}))
}

// bankFile uploads the file of the bank with its character set.
func (p *tab) bankFile() {
	p.t.Helper()
	p.choose("bank-records", "umsatz.csv", bankFile)
	p.bankAccount("1000")
	p.click("Advanced")
	p.fill("import-encoding", "windows-1252")
	p.click("Upload")
}

// bankAccount chooses the bank account with a code.
func (p *tab) bankAccount(code string) {
	p.t.Helper()
	p.until(`document.querySelectorAll("#import-account option").length > 1`)
	p.fill("import-account", evaluate[string](p, `[...document.querySelectorAll("#import-account option")].find((o) => o.text.startsWith(`+quoted(code)+`)).value`))
}

// records returns how many bank records the office has.
func (o *office) records() int {
	o.t.Helper()

	rows, _ := o.call("GET", "/bank-records?limit=250", nil, 200)["data"].(array)

	return len(rows)
}

// testBankFile: a faulty row is corrected in place and the file is imported, imported again beside what is here, and
// the first import is undone.
func testBankFile(p *tab, o *office) {
	p.signIn(o.key)
	p.click("Imports")
	p.sees("Nothing was imported yet.")
	p.click("Upload")
	p.sees("Choose a file.")
	p.until(`document.activeElement.id === "import-file"`)
	p.fill("import-kind", "bank-records")
	p.checks("form")
	p.click("Download an example file")

	if file := p.downloaded("bank-records-template.csv"); !bytes.Contains(file, []byte("date,valueDate")) {
		p.t.Errorf("the example file is %s", file)
	}

	p.choose("bank-records", "umsatz.csv", bankFile)
	p.bankAccount("1000")
	p.click("Upload")
	p.sees("The character set is not known")
	p.checks("unreadable")
	p.click("‹ Imports")
	watchShift(p)
	p.bankFile()

	// The row says what is wrong at its cell, and is judged again when it is saved.
	p.sees("windows-1252")
	p.sees("This is not a date")
	p.until(`document.querySelector(".tabs [aria-pressed=true]").textContent === "Faulty 1"`)
	p.checks("preview")

	if moved := evaluate[float64](p, `window.shift`); moved > 0.1 {
		p.t.Errorf("what is shown moves by %g while a file is read", moved)
	}

	p.fill("cell-2-1", "30.02.2026")
	evaluate[bool](p, `window.cell = document.activeElement; true`)
	p.press(kb.Enter)
	p.until(`document.activeElement !== window.cell && document.activeElement.matches("#cell-2-1[aria-invalid=true]") && document.activeElement.value === "30.02.2026"`)
	p.fill("cell-2-1", "15.02.2026")
	p.click("Save")
	p.until(`document.querySelector(".tabs [aria-pressed=true]").textContent === "Faulty 0"`)
	p.until(`document.activeElement.matches(".verdict") && document.activeElement.innerText.includes("Valid")`)

	p.click("All 3")
	p.sees("Miete Müller <b>")
	p.click("Import 3 rows")
	p.until(`/Created\s+3/.test(document.querySelector("#imports dl")?.innerText)`)
	p.until(`document.activeElement.id === "imports-title"`)
	p.checks("imported")

	if n := o.records(); n != 3 {
		p.t.Errorf("%d bank records", n)
	}

	p.click("Result as CSV")

	if file := p.downloaded(".csv"); !bytes.Contains(file, []byte("created")) || !bytes.Contains(file, []byte("15.02.2026")) {
		p.t.Errorf("the result is %s", file)
	}

	first := evaluate[string](p, `location.hash`)
	testSameFile(p, o)
	evaluate[bool](p, `location.hash = `+quoted(first)+`; true`)
	p.sees("umsatz.csv")
	p.click("Undo")
	p.sees("Undo this import?")
	p.checks("question")
	p.click("Leave it")
	p.until(`!document.querySelector("dialog") && document.activeElement.textContent === "Undo"`)
	p.click("Undo")
	p.click("Undo the import")
	p.until(`/Undone\s+3/.test(document.querySelector("#imports dl")?.innerText)`)

	if n := o.records(); n != 3 {
		p.t.Errorf("%d bank records after the import was undone", n)
	}

	p.click("‹ Imports")
	p.until(`document.querySelectorAll("#imports tbody tr").length === 3`)
	p.checks("list")
}

// watchShift notes by how much anything moves from now on without the user having done something.
func watchShift(p *tab) {
	p.t.Helper()
	evaluate[bool](p, `window.shift = 0; new PerformanceObserver((l) => l.getEntries().forEach((e) => { if (!e.hadRecentInput) window.shift += e.value; })).observe({ type: "layout-shift" }); true`)
}

// testSameFile: the file is uploaded once more as the bank gave it, and its two good rows are booked again.
func testSameFile(p *tab, o *office) {
	p.t.Helper()
	p.click("‹ Imports")
	p.bankFile()
	p.sees("This very file was imported before")
	p.refused = true
	p.do(chromedp.Click(chromedp.CSS("#imports form[aria-label=Import] .main")))
	p.sees("The preview has rows that are faulty or to be decided.")
	p.fill("import-known", "keep")
	p.sees("Leave out 1 row that is faulty")
	p.do(chromedp.Click(chromedp.CSS("#import-acceptIssues")))
	p.checks("again")
	p.do(chromedp.Click(chromedp.CSS("#imports form[aria-label=Import] .main")))
	p.until(`/Created\s+2/.test(document.querySelector("#imports dl")?.innerText)`)
	p.until(`document.querySelector(".tabs [aria-pressed=true]").textContent === "Faulty 1"`)
	p.fill("cell-2-1", "15.02.2026")
	p.press(kb.Enter)
	p.click("Import the rest")
	p.until(`/Created\s+3/.test(document.querySelector("#imports dl")?.innerText)`)

	if n := o.records(); n != 6 {
		p.t.Errorf("%d bank records after the file was imported twice", n)
	}
}

// testUnclearColumns: dates that read both ways are not guessed, and a column that no header explains is chosen by hand.
func testUnclearColumns(p *tab, o *office) {
	p.signIn(o.key)
	p.click("Imports")
	p.choose("bank-records", "movements.csv", "Date,Amount,Remark\n03/02/2026,10.50,Rent\n05/04/2026,-3.25,Soap\n")
	p.bankAccount("1000")
	p.click("Upload")
	p.sees("Day and month are unclear")
	p.sees("This column is not read")
	p.until(`document.querySelector("[aria-label='How Date is written']")?.getAttribute("aria-invalid") === "true"`)
	p.checks("unclear")
	p.set("How Date is written", "dmy")
	p.set("What Remark holds", "description")
	p.sees("What the bank writes")

	before := evaluate[string](p, `location.hash`)
	p.click("Read again")
	p.until(`location.hash !== ` + quoted(before))
	p.click("Valid 2")
	p.sees("headers in line 1")
	p.until(`document.querySelector(".rows table").textContent.includes("Soap")`)
	p.click("Import 2 rows")
	p.until(`/Created\s+2/.test(document.querySelector("#imports dl")?.innerText)`)

	rows, _ := o.call("GET", "/bank-records?sort=date", nil, 200)["data"].(array)
	if first, _ := rows[0].(object); first["date"] != "2026-02-03" || first["description"] != "Rent" {
		p.t.Errorf("the first record is %v", first)
	}
}

// set chooses a value of the select with a label.
func (p *tab) set(label, value string) {
	p.t.Helper()

	field := `document.querySelector(` + quoted(`select[aria-label="`+label+`"]`) + `)`
	p.until(field + `?.checkVisibility()`)
	evaluate[bool](p, `{ const e = `+field+`; e.value = `+quoted(value)+`; e.dispatchEvent(new Event("change", { bubbles: true })); true }`)
}

// testQuestions: a movement that may be here already is imported anyway, another one is left out.
func testQuestions(p *tab, o *office) {
	account := ""

	rows, _ := o.call("GET", "/accounts?codes=1000", nil, 200)["data"].(array)
	if one, is := rows[0].(object); is {
		account, _ = one["id"].(string)
	}

	for _, day := range []string{"2026-02-03", "2026-02-05"} {
		o.call("POST", "/bank-records/batch", object{"data": array{object{
			"accountId": account, "date": day, "description": "Payout", "amount": 1000, "source": "csv",
		}}}, 201)
	}

	p.signIn(o.key)
	p.click("Imports")
	p.choose("bank-records", "bank.csv", "Date,Description,Amount\n2026-02-03,Other text,10.00\n2026-02-05,Another text,10.00\n")
	p.bankAccount("1000")
	p.click("Upload")
	p.sees("This may be here already")
	p.until(`document.querySelector(".tabs [aria-pressed=true]").textContent === "To decide 2"`)
	p.click("Import anyway")
	p.until(`document.querySelector(".rows tbody tr:first-child [aria-pressed=true]")?.textContent === "Import anyway"`)
	evaluate[bool](p, `[...document.querySelectorAll(".rows tbody tr:last-child button")].find((b) => b.textContent === "Leave out").click(); true`)
	p.until(`document.querySelector(".rows tbody tr:last-child [aria-pressed=true]")?.textContent === "Leave out"`)
	p.checks("decided")
	p.do(chromedp.Click(chromedp.CSS("#imports form[aria-label=Import] .main")))
	p.until(`/Created\s+1\s+Skipped\s+1/.test(document.querySelector("#imports dl")?.innerText)`)

	if n := o.records(); n != 3 {
		p.t.Errorf("%d bank records", n)
	}
}

// testDependents: an owner with a house keeps the import from being undone, and is named.
func testDependents(p *tab, o *office) {
	p.signIn(o.key)
	p.click("Imports")
	p.choose("contacts", "owners.csv", "Name,Email\nAnn Miller,ann@example.com\n"+`"`+strings.ReplaceAll(hostile, `"`, `""`)+`"`+",\n")
	p.click("Upload")
	p.click("Import 2 rows")
	p.until(`/Created\s+2/.test(document.querySelector("#imports dl")?.innerText)`)

	rows, _ := o.call("GET", "/contacts?search=Ann", nil, 200)["data"].(array)
	owner, _ := rows[0].(object)["id"].(string)
	o.call("POST", "/listings", object{"name": "House", "initialOwnership": object{"members": array{object{"contactId": owner, "split": 100000}}}}, 201)

	p.click("Undo")
	p.click("Undo the import")
	p.sees("Nothing was undone")
	p.sees("In use: ")
	p.until(`document.querySelector('#imports .problem a[href="#trail/contact/` + owner + `"]')`)
	p.checks("dependents")

	if evaluate[bool](p, `"hit" in window`) {
		p.t.Error("a name became markup")
	}
}

// testPages: rows that were corrected are no longer on the pages of faulty ones, and no row is left out because of that.
func testPages(p *tab, o *office) {
	const faulty = 27

	text := strings.Repeat("Somebody,nothing\n", faulty)

	p.signIn(o.key)
	p.click("Imports")
	p.choose("contacts", "people.csv", "Name,Type\n"+text)
	p.click("Upload")
	p.sees("This word is not known here")
	p.fill("cell-1-2", "owner")
	p.press(kb.Enter)
	p.until(`document.querySelector(".tabs [aria-pressed=true]").textContent === "Faulty 26"`)
	p.click("Load more")
	p.until(`document.querySelectorAll(".rows tbody tr").length === 27`)
	p.until(`!document.querySelector(".rows > button")?.checkVisibility()`)
}

// testCancel: a file that is dropped on the form and not read yet is read no further.
func testCancel(p *tab, o *office) {
	p.signIn(o.key)
	p.click("Imports")
	p.fill("import-kind", "contacts")
	evaluate[bool](p, `{
		const data = new DataTransfer();
		data.items.add(new File(["Name\nAnn\n"], "dropped.csv", { type: "text/csv" }));
		document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
	} true`)
	p.click("Upload")
	p.sees("dropped.csv")
	p.sees("Reading")
	p.until(`document.querySelector("#imports progress")?.checkVisibility()`)
	p.checks("reading")
	p.click("Cancel")
	p.sees("Canceled")
	p.until(`!document.querySelector("#imports progress") && document.activeElement.id === "imports-title"`)

	operation, _ := o.call("GET", "/operations", nil, 200)["items"].(array)
	if one, is := operation[0].(object); !is || one["status"] != "failed" {
		p.t.Errorf("the operation is %v", operation[0])
	}
}

// testUnknownHeaders: a file with headers that mean nothing to the service is read once a person says what they hold.
func testUnknownHeaders(p *tab, o *office) {
	p.signIn(o.key)
	p.click("Imports")
	p.choose("contacts", "people.csv", "Foo,Bar\nAnn Miller,Key West\n")
	p.click("Upload")
	p.sees("No column has what the import needs")
	p.checks("unknown")
	p.set("What Foo holds", "name")
	p.set("What Bar holds", "city")
	p.click("Read again")
	p.click("Import 1 row")
	p.until(`/Created\s+1/.test(document.querySelector("#imports dl")?.innerText)`)

	rows, _ := o.call("GET", "/contacts", nil, 200)["data"].(array)
	if first, _ := rows[0].(object); len(rows) != 1 || first["name"] != "Ann Miller" {
		p.t.Errorf("the contacts are %v", rows)
	}
}
