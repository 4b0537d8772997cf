package e2e_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// books is the team of the journey: the standard chart, two owners, one listing, three fees.
type books struct {
	client
	accounts       map[string]string // id by code
	owners         [2]string
	listing        string
	database, data string
}

func initialized(t *testing.T) *books {
	t.Helper()
	database, data := emptyDatabase(t), t.TempDir()
	p := start(t, database, data, "serve")
	team := command(t, database, "team", "create", "Seaside Stays", "--start", "2026-01-01")
	b := &books{client: client{t: t, base: p.base, key: command(t, database, "key", "issue", "--team", team)}, accounts: map[string]string{}, database: database, data: data}

	operation := b.post("/team/init", map[string]any{"template": "standard"}).want(202)
	if got := b.settled(operation.text("operationId")).text("status"); got != "completed" {
		t.Fatalf("team initialization %s", got)
	}

	for _, a := range b.get("/accounts?limit=250").want(200).list("data") {
		b.accounts[fmt.Sprint(a["code"])] = fmt.Sprint(a["id"])
	}

	for i, name := range []string{"Anna Albers", "Ben Brandt"} {
		b.owners[i] = b.post("/contacts", map[string]any{"type": "owner", "name": name, "email": strings.ToLower(strings.Fields(name)[0]) + "@example.com"}).want(201).text("id")
	}

	b.listing = b.post("/listings", map[string]any{"name": "Beach House", "initialOwnership": map[string]any{
		"businessModel": "managed", "reserve": 20000,
		"members": []any{map[string]any{"contactId": b.owners[0], "split": 60000}, map[string]any{"contactId": b.owners[1], "split": 40000}},
	}}).want(201).text("id")
	b.put("/listings/"+b.listing+"/opening-balance", map[string]any{"amount": 30000}).want(200)

	for _, f := range []map[string]any{
		{"name": "Management commission", "type": "managementFee", "formula": "rent", "defaultRate": 20000, "debit": "5100", "credit": "4100"},
		{"name": "Cleaning", "type": "cleaningFee", "formula": "cleaningFee", "defaultRate": 100000, "debit": "5110", "credit": "4110"},
		{"name": "Merchant fee", "type": "merchantFee", "formula": "merchantFee", "defaultRate": 100000, "debit": "5120", "credit": "4120"},
	} {
		b.post("/recurring-fees", map[string]any{
			"name": f["name"], "type": f["type"], "formula": f["formula"], "rateType": "percentage", "defaultRate": f["defaultRate"],
			"debitParty": "owners", "creditParty": "manager", "debitAccountId": b.accounts[f["debit"].(string)], "creditAccountId": b.accounts[f["credit"].(string)],
			"listingSubscriptions": []any{map[string]any{"listingId": b.listing}},
		}).want(201)
	}

	return b
}

// stay books worked example A: the reservation and its two card payments.
func (b *books) stay() string {
	b.t.Helper()

	stay := b.post("/reservations", map[string]any{
		"listingId": b.listing, "status": "booked", "checkIn": "2026-01-29", "checkOut": "2026-02-03", "bookedAt": "2026-01-02",
		"guestName": "Grace Guest", "confirmationCode": "HMABC123", "bookingPlatform": "direct", "currency": "usd",
		"lines": []any{
			map[string]any{"type": "rent", "amount": 100000}, map[string]any{"type": "cleaningFee", "amount": 15000}, map[string]any{"type": "tax", "amount": 13800},
		},
	}).want(201).text("id")
	for _, date := range []string{"2026-01-05", "2026-01-22"} {
		b.post("/transactions", map[string]any{"type": "deposit", "date": date, "description": "Card payment", "lines": []any{
			map[string]any{"amount": 64400, "assignment": "accountsReceivable", "reservationId": stay},
			map[string]any{"amount": -1898, "assignment": "deposit_merchantFee", "reservationId": stay},
		}}).want(201)
	}

	return stay
}

// spend books expense F and the payout of January 10.
func (b *books) spend() {
	b.t.Helper()
	rate := b.post("/tax-rates", map[string]any{"name": "Sales tax", "basisPoints": 15000}).want(201).text("id")
	vendor := b.post("/contacts", map[string]any{"type": "vendor", "name": "Plumb & Sons"}).want(201).text("id")
	b.post("/transactions", map[string]any{
		"type": "expense", "date": "2026-01-15", "description": "Water heater", "contactId": vendor,
		"payment": map[string]any{"date": "2026-01-20"},
		"lines": []any{map[string]any{
			"amount": 10000, "accountId": b.accounts["5200"], "listingId": b.listing, "party": "owners",
			"appliedAmount": map[string]any{"taxRateId": rate, "taxBehavior": "excluded"},
			"markup":        map[string]any{"amount": 1000, "taxRateId": rate, "taxBehavior": "excluded"},
		}},
	}).want(201)
	b.post("/transactions", map[string]any{"type": "payout", "date": "2026-01-10", "description": "December payout", "lines": []any{
		map[string]any{"amount": 10000, "listingId": b.listing, "party": "owners"},
	}}).want(201)
}

// journal gives the entries between two days as "code party cents", sorted.
func (b *books) journal(from, to string) []string {
	b.t.Helper()

	var out []string

	for _, e := range b.get("/reports/journal-entries?limit=250&dateRange=" + from + "..." + to).want(200).list("data") {
		account, _ := e["account"].(map[string]any)

		party := ""
		if e["party"] != nil {
			party = " " + fmt.Sprint(e["party"])
		}

		out = append(out, fmt.Sprintf("%v%s %v", account["code"], party, e["centTotal"]))
	}

	slices.Sort(out)

	return out
}

func (b *books) wantJournal(from, to string, want ...string) {
	b.t.Helper()
	slices.Sort(want)

	if got := b.journal(from, to); !slices.Equal(got, want) {
		b.t.Errorf("journal %s to %s:\n got %q\nwant %q", from, to, got, want)
	}
}

// TestJourney walks worked examples A, F and J from a new team to the owners' documents.
//
// Proves: OPS-01, OPS-03, OPS-09, OPS-12, OPS-26..OPS-30, OPS-88, EXP-01..EXP-05, EXP-07..EXP-11, EXP-26, EXP-P07, EXP-P11, INIT-03, VER-01.
func TestJourney(t *testing.T) {
	t.Parallel()
	b := initialized(t)
	b.stay()
	b.spend()
	b.wantJournal("2025-12-31", "2025-12-31", "1000 30000", "2900 owners -30000")
	b.wantJournal("2026-01-05", "2026-01-05", "1000 62502", "5010 manager 1898", "2000 -64400")
	b.wantJournal("2026-01-10", "2026-01-10", "2400 owners 10000", "1000 -10000")
	b.wantJournal("2026-01-15", "2026-01-15", "5200 owners 10000", "5200 owners 1000", "5200 owners 1650", "2200 -10000", "4190 manager -1000", "2110 -1650")
	b.wantJournal("2026-01-20", "2026-01-20", "2200 10000", "1000 -10000")
	b.wantJournal("2026-01-22", "2026-01-22", "1000 62502", "5010 manager 1898", "2000 -64400")
	b.wantJournal("2026-01-29", "2026-01-29",
		"2000 128800", "4000 owners -100000", "4010 owners -15000", "2100 -13800",
		"5100 owners 20000", "4100 manager -20000", "5110 owners 15000", "4110 manager -15000", "5120 owners 3796", "4120 manager -3796")
	b.trialBalance()
	b.january(t)
}

func (b *books) trialBalance() {
	b.t.Helper()
	a := b.get("/reports/trial-balance?startDate=2026-01&endDate=2026-01").want(200)
	ending := map[string]string{}

	for _, row := range a.list("data") {
		account, _ := row["account"].(map[string]any)
		ending[fmt.Sprint(account["code"])] = fmt.Sprint(row["ending"])
	}

	for code, want := range map[string]string{
		"1000": "135004", "2100": "-13800", "2110": "-1650", "2900": "-30000", "2400": "10000", "4000": "-100000", "4010": "-15000", "5010": "3796",
		"4100": "-20000", "4110": "-15000", "4120": "-3796", "4190": "-1000", "5100": "20000", "5110": "15000", "5120": "3796", "5200": "12650",
	} {
		if ending[code] != want {
			b.t.Errorf("trial balance of %s: %s, want %s", code, ending[code], want)
		}
	}

	for _, code := range []string{"2000", "2200"} {
		if v, shown := ending[code]; shown && v != "0" {
			b.t.Errorf("trial balance of %s: %s, want 0", code, v)
		}
	}

	if a.text("totals.debit") != a.text("totals.credit") || a.text("totals.ending") != "0" {
		b.t.Errorf("trial balance does not balance: %s", a.body)
	}
}

func (b *books) january(t *testing.T) {
	t.Helper()

	statement := b.post("/statements", map[string]any{"month": "2026-01", "status": "published"}).want(201).text("data.0.id")

	a := b.get("/statements/" + statement).want(200)
	for field, want := range map[string]string{
		"status": "published", "financials.balanceStart": "30000", "financials.netRevenue": "76204", "financials.expenses": "-12650",
		"financials.netIncome": "63554", "financials.payouts": "-10000", "financials.balanceEnd": "83554", "financials.reserve": "20000",
		"financials.available": "63554", "shares.0.amount": "38132", "shares.1.amount": "25422", "startAt": "2026-01-01", "endAt": "2026-01-31",
	} {
		if got := a.text(field); got != want {
			t.Errorf("statement %s: %s, want %s", field, got, want)
		}
	}

	for figure, want := range map[string]int{"netRevenue": 76204, "expenses": -12650, "payouts": -10000} {
		b.drill(a.at("drilldowns."+figure+".filter"), figure, want)
	}

	for i, cents := range []int{38132, 25422} {
		b.post("/transactions", map[string]any{"type": "payout", "date": "2026-02-05", "contactId": b.owners[i], "lines": []any{
			map[string]any{"amount": cents, "listingId": b.listing, "contactId": b.owners[i], "ownerStatementId": statement},
		}}).want(201)
	}

	b.wantJournal("2026-02-05", "2026-02-05", "2400 owners 38132", "2400 owners 25422", "1000 -38132", "1000 -25422")

	if got := b.get("/statements/" + statement).text("payment.status"); got != "paid" {
		t.Errorf("payment status %s, want paid", got)
	}

	february := b.get("/statements?month=2026-02").want(200)
	if got := february.text("data.0.financials.balanceStart"); got != "83554" {
		t.Errorf("February starts at %s, want 83554", got)
	}

	b.documents(t, statement)
}

// drill sends a figure's filter to the journal entries: they add up to the figure, with the owner's sign.
func (b *books) drill(filter any, figure string, want int) {
	b.t.Helper()

	fields, _ := filter.(map[string]any)
	query := url.Values{}

	for name, value := range fields {
		if list, ok := value.([]any); ok {
			parts := make([]string, len(list))
			for i := range list {
				parts[i] = fmt.Sprint(list[i])
			}

			value = strings.Join(parts, ",")
		}

		query.Set(name, fmt.Sprint(value))
	}

	sum := 0

	for _, e := range b.get("/reports/journal-entries?limit=250&" + query.Encode()).want(200).list("data") {
		cents := 0
		if _, err := fmt.Sscan(fmt.Sprint(e["centTotal"]), &cents); err != nil {
			b.t.Fatal(err)
		}

		sum -= cents
	}

	if sum != want {
		b.t.Errorf("the entries behind %s add up to %d, want %d", figure, sum, want)
	}
}

// documents exports in both modes and reads what comes back.
func (b *books) documents(t *testing.T, statement string) {
	t.Helper()

	total := b.get("/operations").text("total")
	link := b.get("/statements/pdf?statementIds=" + statement).want(200)
	direct := (&client{t: t, base: b.base}).get(link.text("url")).want(200)
	readPDF(t, direct.body)

	table := b.get("/transactions/csv?dateRange=2026-01").want(200)
	if got := b.get("/operations").text("total"); got != total {
		t.Errorf("an awaited export made an operation: %s, then %s", total, got)
	}

	awaited := (&client{t: t, base: b.base}).get(table.text("url")).want(200).body
	readCSV(t, awaited)

	for path, body := range map[string]any{
		"/statements/pdf":   map[string]any{"statementIds": []string{statement}},
		"/transactions/csv": map[string]any{"dateRange": "2026-01"},
	} {
		ack := b.post(path, body).want(202)
		if ack.text("type") != "export" || ack.text("status") != "queued" {
			t.Errorf("acknowledgement: %s", ack.body)
		}

		done := b.settled(ack.text("operationId"))
		if done.text("status") != "completed" {
			t.Fatalf("export failed: %s", done.body)
		}

		file := done.list("resources")[0]
		if file["type"] != "file" || file["role"] != "result" || file["url"] != fmt.Sprintf("/files/%v/download", file["id"]) {
			t.Errorf("result %v", file)
		}

		content := b.get(fmt.Sprint(file["url"])).want(200).body
		(&client{t: t, base: b.base}).get(fmt.Sprint(file["url"])).want(401)

		if strings.HasSuffix(path, "csv") && !bytes.Equal(content, awaited) {
			t.Error("the queued CSV differs from the awaited one")
		}

		if strings.HasSuffix(path, "pdf") {
			readPDF(t, content)
		}
	}
}

func readCSV(t *testing.T, content []byte) {
	t.Helper()

	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		t.Fatalf("CSV does not parse: %v", err)
	}

	if len(rows) < 5 {
		t.Errorf("CSV has %d rows: %s", len(rows), content)
	}

	if !bytes.Contains(content, []byte("644.00")) {
		t.Errorf("CSV lacks the card payment: %s", content)
	}
}

// readPDF looks at the text of the pages; without pdftotext it holds the bytes to the format alone.
func readPDF(t *testing.T, content []byte) {
	t.Helper()

	if !bytes.HasPrefix(content, []byte("%PDF-1.")) || !bytes.Contains(content[max(0, len(content)-64):], []byte("%%EOF")) {
		t.Fatalf("not a PDF: %.40q", content)
	}

	tool, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Log("pdftotext is not installed: the text of the PDF was not read")
		return
	}

	cmd := exec.CommandContext(t.Context(), tool, "-layout", "-", "-")
	cmd.Stdin = bytes.NewReader(content)

	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(tool), err)
	}

	for _, want := range []string{"300.00", "762.04", "126.50", "835.54", "635.54", "381.32", "254.22", "Grace Guest"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the PDF lacks %s:\n%s", want, text)
		}
	}
}
