package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const guideFolder = "../../docs/guides/first-hour"

// month is a house's owner statement of October 2026, computed by hand in cents.
type month struct {
	house string
	// start is the opening balance, net the revenue after the fees, expenses the bills, paid what the owners were paid.
	start, net, expenses, paid int64
	// end is their sum.
	end int64
}

// october has the statements that the six files of the guide are about. A stay counts on the day of check-in. Its net
// revenue is the rent, less 20 % of it, rounded to the cent, less the fee of its channel; the cleaning that guests pay
// goes to the manager in whole and cancels out. Canceled stays and the stay of November count nothing.
var october = []month{
	// HMA2KX91: 800.00 - 160.00 - 27.60 = 612.40 (Airbnb keeps 3 % of 920.00). D-1042: 540.00 - 108.00 = 432.00.
	{"Dune House", 1250_00, 612_40 + 432_00, -185_00, -1000_00, 1109_40},
	// HMB7QQ12: 1960.00 - 392.00 - 64.20 = 1503.80. HMC3ZT45 is canceled.
	{"Shore House", 840_50, 1503_80, 0, 0, 2344_30},
	// D-1043: 457.50 - 91.50 = 366.00.
	{"Palm Cottage", 312_00, 366_00, 0, 0, 678_00},
	// HMD8LP77: 2450.00 - 490.00 - 78.00 = 1882.00. HA-88120: 2310.35 - 462.07 - 123.02 = 1725.26 (Vrbo keeps 5 %).
	{"Reef Loft", 2600_75, 1882_00 + 1725_26, -1240_90, 0, 4967_11},
	// HMF1RS03: 290.00 - 58.00 - 10.95 = 221.05. The bill of 31 October is not paid, and is a cost of October.
	{"Heron Cabin", -80_50, 221_05, -450_00, 0, -309_45},
	// HA-88131: 6200.00 - 1240.00 - 327.50 = 4632.50. D-1044: 1800.00 - 360.00 = 1440.00, all of it on 30 October.
	{"Lagoon Villa", 4100_00, 4632_50 + 1440_00, 0, -1500_00, 8672_50},
	// HMG4WW58: 625.00 - 125.00 - 21.15 = 478.85.
	{"Mangrove Flat", 0, 478_85, 0, 0, 478_85},
	// HMH9DD60: 480.00 - 96.00 - 17.25 = 366.75. HA-88144 is canceled.
	{"Pelican Nest", 575_33, 366_75, 0, 0, 942_08},
	// D-1045: 380.00 - 76.00 = 304.00.
	{"Coral Studio", 120_10, 304_00, 0, 0, 424_10},
	// HMJ5FF33: 1050.00 - 210.00 - 34.80 = 805.20.
	{"Harbor Row 1", 765_00, 805_20, -90_00, 0, 1480_20},
	// HMK6GG44: 980.00 - 196.00 - 32.70 = 751.30. HA-88150: 510.00 - 102.00 - 31.00 = 377.00, out on 1 November.
	{"Harbor Row 2", 764_99, 751_30 + 377_00, -90_00, 0, 1803_29},
	// HMN2HH21: 1400.99 - 280.20 - 48.03 = 1072.76. HMP8JJ10 comes on 6 November.
	{"Lighthouse", 3050_00, 1072_76, -312_75, 0, 3810_01},
}

// firstHour is a team with the books of the guide.
type firstHour struct {
	client

	database string
}

// TestImportOfTheFirstHour pastes the guide into a shell, in the folder of its files, and holds the books against what
// was computed by hand. Then the files come again, and then the exports of the team go into another one.
//
// Proves: INIT-18, INIT-19.
func TestImportOfTheFirstHour(t *testing.T) {
	t.Parallel()
	h := newFirstHour(t)

	h.wantStatements()
	h.wantBooks()
	h.again()
	h.work()
	h.elsewhere()
}

// newFirstHour starts the service and runs the guide.
func newFirstHour(t *testing.T) *firstHour {
	t.Helper()

	database := emptyDatabase(t)
	p := start(t, database, t.TempDir(), "serve")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	// The last line of the output is the key of the team that the guide has made, however far it comes.
	shell := exec.CommandContext(ctx, "sh", "-euc", "trap 'echo \"$KEY\"' EXIT\n"+strings.Join(guideBlocks(t, "first-hour"), ""))
	shell.Dir = t.TempDir()

	shell.Env = append(os.Environ(), "DATABASE_URL="+database, "STAYLEDGER_BASE_URL="+p.base, withBinary())

	if err := os.CopyFS(shell.Dir, os.DirFS(guideFolder)); err != nil {
		t.Fatal(err)
	}

	out, err := shell.CombinedOutput()
	lines := strings.Fields(string(out))
	h := &firstHour{client: client{t: t, base: p.base, key: lines[len(lines)-1]}, database: database}

	if err != nil {
		h.explain()
		t.Fatalf("the guide: %v\n%s", err, out)
	}

	return h
}

// explain logs the imports of the team and the rows that did not get in.
func (h *firstHour) explain() {
	h.t.Helper()

	for _, it := range h.get("/csv-imports/previews?sort=createdAt").want(200).list("data") {
		h.t.Logf("%v: %v %v %v %v", it["filename"], it["status"], it["counts"], it["outcomes"], it["issues"])

		for _, row := range h.get("/csv-imports/previews/" + fmt.Sprint(it["id"]) + "/rows?limit=250").want(200).list("data") {
			if row["status"] != "valid" && row["status"] != "part" || row["outcome"] == "failed" {
				h.t.Logf("%v %v %v %v %v", row["cells"], row["status"], row["outcome"], row["reason"], row["issues"])
			}
		}
	}
}

// wantStatements holds the statements of October against those that were computed by hand.
func (h *firstHour) wantStatements() {
	h.t.Helper()

	want, got := map[string]month{}, map[string]month{}
	for _, m := range october {
		want[m.house] = m

		if m.start+m.net+m.expenses+m.paid != m.end {
			h.t.Errorf("%s does not add up", m.house)
		}
	}

	for _, s := range h.get("/statements?month=2026-10&limit=100").want(200).list("data") {
		f, _ := s["financials"].(map[string]any)
		listing, _ := s["listing"].(map[string]any)
		m := month{
			house: fmt.Sprint(listing["name"]), start: number(f["balanceStart"]), net: number(f["netRevenue"]),
			expenses: number(f["expenses"]), paid: number(f["payouts"]), end: number(f["balanceEnd"]),
		}
		got[m.house] = m
	}

	compare(h.t, "the statement", want, got)

	// The guide computes one of them for its readers.
	text, err := os.ReadFile(guideFolder + ".md")
	if err != nil {
		h.t.Fatal(err)
	}

	loft := want["Reef Loft"]
	for _, cents := range []int64{loft.start, loft.net, loft.expenses, loft.end} {
		if figure := fmt.Sprintf("| %d,%03d.%02d |", cents/100_000, max(cents, -cents)/100%1000, max(cents, -cents)%100); !strings.Contains(string(text), figure) {
			h.t.Errorf("the guide lacks %s", figure)
		}
	}
}

// wantBooks holds the books and the bank against each other.
func (h *firstHour) wantBooks() {
	h.t.Helper()

	trial := h.get("/reports/trial-balance?startDate=2026-10&endDate=2026-10").want(200)
	if trial.text("totals.ending") != "0" || trial.text("totals.debit") == "0" {
		h.t.Errorf("trial balance: %s", trial.body)
	}

	// All 23 movements are reconciled, and the books of the bank end with the last balance of its file: 14,798.17 on
	// 1 October, 26,226.03 in and 4,538.65 out.
	records := h.get("/bank-records?reconcileStatus=paid").want(200)
	if got := records.text("pagination.total"); got != "23" {
		h.t.Errorf("%s bank records are reconciled", got)
	}

	summary := h.get("/accounts/" + h.bank() + "/summary?dateRange=2026-10").want(200)
	for field, want := range map[string]string{"bankAccountBalance": "3648555", "bookBalance": "3648555", "difference": "0"} {
		if got := summary.text("totals." + field); got != want {
			h.t.Errorf("%s of the bank is %s, want %s: %s", field, got, want, summary.body)
		}
	}
}

// bank returns the id of the bank account.
func (h *firstHour) bank() string {
	h.t.Helper()

	return h.get("/accounts?codes=1000").want(200).text("data.0.id")
}

// guideFiles are the files of the guide in the order in which it imports them.
var guideFiles = []struct{ kind, name string }{
	{"contacts", "owners.csv"},
	{"listings", "houses.csv"},
	{"opening-balances", "opening-balances.csv"},
	{"reservations", "stays.csv"},
	{"transactions", "expenses.csv"},
	{"bank-records", "bank.csv"},
}

// again uploads the files of the guide once more: every record is here already, and importing them changes nothing.
func (h *firstHour) again() {
	h.t.Helper()

	before := h.snapshot()

	for _, f := range guideFiles {
		content, err := os.ReadFile(filepath.Join(guideFolder, f.name))
		if err != nil {
			h.t.Fatal(err)
		}

		fields := map[string]string{"kind": f.kind}

		switch f.kind {
		case "bank-records":
			fields["bankAccountId"] = h.bank()
		case "listings":
			fields["encoding"] = "windows-1252"
		}

		path := h.preview(f.name, content, fields)
		counts := h.get(path).want(200)

		if n := number(counts.at("counts.rows")) - number(counts.at("counts.parts")); n == 0 || number(counts.at("counts.duplicates")) != n {
			h.t.Errorf("%s again: %s", f.name, counts.body)
			h.explain()
		}

		h.confirm(path, map[string]any{"duplicateOverride": "skip"})

		if after := h.get(path).want(200); number(after.at("outcomes.created"))+number(after.at("outcomes.updated")) != 0 {
			h.t.Errorf("%s again: %s", f.name, after.body)
		}
	}

	for name, body := range h.snapshot() {
		if body != before[name] {
			h.t.Errorf("%s was\n%s\nand is now\n%s", name, before[name], body)
		}
	}
}

// reports are what the books of a team say of October and the end of November.
var reports = []string{
	"/reports/trial-balance?startDate=2026-09&endDate=2026-11", "/reports/trial-balance?startDate=2026-10&endDate=2026-10",
	"/reports/balance-sheet?date=2026-10-31&view=listing", "/reports/balance-sheet?date=2026-11-30",
	"/reports/profit-and-loss?startDate=2026-10&endDate=2026-10&view=listing", "/reports/profit-and-loss?startDate=2026-10&endDate=2026-11&view=party",
	"/reports/guest-balances?date=2026-10-15&includeSettled=true&limit=250", "/reports/guest-balances?date=2026-10-31&limit=250",
	"/reports/trust-reconciliation?date=2026-10-31", "/reports/trust-reconciliation/by-listing?date=2026-10-31&limit=250",
	"/reports/manager-statements?limit=250", "/reports/journal-entries?limit=250&dateRange=2026-09-01...2026-10-12",
	"/reports/journal-entries?limit=250&dateRange=2026-10-13...2026-12-31",
}

// records are the records of a team.
var records = []string{
	"/contacts?limit=250", "/listings?limit=250", "/listings/ownership-periods?limit=250", "/listings/opening-balance?limit=250",
	"/reservations?limit=250", "/transactions?limit=250&status=active", "/bank-records?limit=250&status=active&includeBalanceRecords=true", "/statements?month=2026-10&limit=250",
	"/general-ledger/journals?limit=250",
}

// snapshot returns all reports and records of the team as they are answered.
func (h *firstHour) snapshot() map[string]string {
	h.t.Helper()

	out := map[string]string{}
	for _, path := range slices.Concat(reports, records) {
		out[path] = string(h.get(path).want(200).body)
	}

	return out
}

// preview uploads a file and waits until it is read. It returns the path of the preview.
func (h *firstHour) preview(name string, content []byte, fields map[string]string) string {
	h.t.Helper()

	var body bytes.Buffer

	w := multipart.NewWriter(&body)
	for field, value := range fields {
		_ = w.WriteField(field, value)
	}

	part, err := w.CreateFormFile("file", name)
	if err != nil {
		h.t.Fatal(err)
	}

	_, _ = part.Write(content)
	_ = w.Close()

	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.base+"/csv-imports/previews", &body)
	if err != nil {
		h.t.Fatal(err)
	}

	req.Header.Set("x-api-key", h.key)
	req.Header.Set("Content-Type", w.FormDataContentType())

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}

	defer func() { _ = resp.Body.Close() }()

	var ack struct{ OperationID, Type string }
	if err := json.NewDecoder(resp.Body).Decode(&ack); err != nil || resp.StatusCode != http.StatusAccepted || ack.Type != "csv-import-preview" {
		h.t.Fatalf("the upload of %s: %s %+v %v", name, resp.Status, ack, err)
	}

	h.settled(ack.OperationID)

	return "/csv-imports/previews/" + ack.OperationID
}

// confirm imports the rows of a preview.
func (h *firstHour) confirm(path string, body map[string]any) {
	h.t.Helper()

	ack := h.post(path+"/confirm", body)
	if ack.status != http.StatusAccepted {
		h.explain()
	}

	if done := h.settled(ack.want(202).text("operationId")); done.text("type") != "csv-import" || done.text("status") != "completed" {
		h.explain()
		h.t.Fatalf("the import: %s", done.body)
	}
}

// work does what people do after the files are in: an export has to say all of it.
func (h *firstHour) work() {
	h.t.Helper()

	accounts := h.ids("/accounts?limit=250", "code")
	houses := h.ids("/listings?limit=250", "name")

	type object = map[string]any

	// A bill with a markup, one that turned out to be wrong, and a transfer.
	for _, bill := range []object{
		{"date": "2026-10-15", "description": "Dishwasher", "payment": object{"date": "2026-10-20"}, "line": object{"amount": 100_00, "markup": object{"amount": 10_00}}},
		{"date": "2026-10-17", "description": "Wrong", "line": object{"amount": 77_00}},
	} {
		line, _ := bill["line"].(object)
		line["accountId"], line["listingId"], line["party"] = accounts["5200"], houses["Dune House"], "owners"

		delete(bill, "line")

		bill["type"], bill["lines"] = "expense", []any{line}
		made := h.post("/transactions", bill).want(201).text("id")

		if bill["description"] == "Wrong" {
			h.put("/transactions/"+made, object{"status": "inactive"}).want(200)
		}
	}

	h.post("/transactions", object{
		"type": "transfer", "date": "2026-10-25", "lines": []any{object{"amount": 200_00, "accountId": accounts["1010"]}},
	}).want(201)

	// A stay that is kept out of the books, one from before them, and one of the owner.
	for _, stay := range []object{
		{"confirmationCode": "OUT", "generalLedgerStatus": "inactive", "checkIn": "2026-10-28", "checkOut": "2026-10-29", "lines": []any{object{"type": "rent", "amount": 100_00}}},
		{"confirmationCode": "BEFORE", "checkIn": "2026-09-28", "checkOut": "2026-10-02", "lines": []any{object{"type": "rent", "amount": 400_00}}},
		{"type": "ownerStay", "guestName": "Grace Liu", "checkIn": "2026-10-12", "checkOut": "2026-10-14"},
	} {
		stay["listingId"], stay["status"] = houses["Coral Studio"], "booked"
		h.post("/reservations", stay).want(201)
	}

	// A stay without a code, with its money.
	stay := h.post("/reservations", object{
		"listingId": houses["Coral Studio"], "status": "booked", "guestName": "Walk-in", "checkIn": "2026-10-22", "checkOut": "2026-10-23",
		"lines": []any{object{"type": "rent", "amount": 90_00}},
	}).want(201).text("id")
	h.post("/transactions", object{
		"type": "deposit", "date": "2026-10-22", "lines": []any{object{"assignment": "accountsReceivable", "amount": 90_00, "reservationId": stay}},
	}).want(201)

	// The balance of the bank, a movement that came twice, and a vendor of earlier times.
	h.post("/bank-records/batch", object{"data": []any{
		object{"accountId": accounts["1000"], "date": "2026-10-31", "description": "End of October", "balance": 36485_55, "source": "csv"},
		object{"accountId": accounts["1000"], "date": "2026-10-31", "description": "Twice", "amount": 1_00},
	}}).want(201)
	h.put("/bank-records/"+h.get("/bank-records?search=Twice").text("data.0.id"), object{"status": "inactive"}).want(200)
	h.post("/contacts", object{
		"type": "vendor", "name": "Old Vendor", "status": "inactive", "companyType": "s_corporation", "address": object{"line1": "1 Way", "stateCode": "FL"},
	}).want(201)
}

// ids returns the ids of records by one of their fields.
func (h *firstHour) ids(path, field string) map[string]string {
	h.t.Helper()

	out := map[string]string{}
	for _, item := range h.get(path).want(200).list("data") {
		out[fmt.Sprint(item[field])] = fmt.Sprint(item["id"])
	}

	return out
}

// exportPath returns the path of the export of a kind with all that it has.
func exportPath(kind string) string {
	if kind == "bank-records" {
		return "/bank-records/csv?includeBalanceRecords=true"
	}

	return "/" + kind + "/csv"
}

// elsewhere imports what the team exports into a new one, as it is. The new team has the same fees. All that both have
// must be equal then, but for ids and the times at which they were made.
func (h *firstHour) elsewhere() {
	h.t.Helper()

	team := command(h.t, h.database, "team", "create", "Another Team", "--start", "2026-10-01")
	to := &firstHour{client: client{t: h.t, base: h.base, key: command(h.t, h.database, "key", "issue", "--team", team)}, database: h.database}
	to.settled(to.post("/team/init", map[string]any{"template": "standard"}).want(202).text("operationId"))

	for _, kind := range []string{"contacts", "listings", "reservations", "transactions", "bank-records"} {
		content := (&client{t: h.t}).get(h.get(exportPath(kind)).want(200).text("url")).want(200).body
		to.confirm(to.preview(kind+".csv", content, map[string]string{"kind": kind}), map[string]any{})

		if kind == "listings" {
			to.charge()
		}
	}

	// The first day of a bank account and what is reconciled are settings and acts of people, which no export has.
	to.confirm(to.preview("opening.csv", []byte("account,date,amount\n1000,2026-10-01,14798.17\n"), map[string]string{"kind": "opening-balances"}), map[string]any{})

	to.reconcile()

	for _, path := range slices.Concat(reports, records) {
		want, got := canonical(h.get(path).want(200)), canonical(to.get(path).want(200))
		if strings.HasPrefix(path, "/reservations") {
			// Stays without a name of their own have their short reference as one.
			want, got = anyUniqueRef.ReplaceAllString(want, ""), anyUniqueRef.ReplaceAllString(got, "")
		}

		if want != got {
			at := 0
			for at < min(len(want), len(got)) && want[at] == got[at] {
				at++
			}

			from := max(0, at-200)
			h.t.Errorf("%s of the team has\n%.400s\nand of the other\n%.400s", path, want[from:], got[from:])
		}
	}
}

// reconcile reconciles bank records with the transactions that alone explain them: what is reconciled with what is in no
// export.
func (h *firstHour) reconcile() {
	h.t.Helper()

	for _, s := range h.get("/bank-records/suggestions?limit=100&accountIds=" + h.bank()).want(200).list("data") {
		record, _ := s["bankRecord"].(map[string]any)
		sets, _ := s["sets"].([]any)

		if s["result"] == "unique" {
			set, _ := sets[0].(map[string]any)
			h.post("/bank-records/"+fmt.Sprint(record["id"])+"/reconcile", map[string]any{"transactions": set["transactions"]}).want(200)
		}
	}
}

// charge gives every house the fees of the guide.
func (h *firstHour) charge() {
	h.t.Helper()

	accounts := h.ids("/accounts?limit=250", "code")

	var houses []any
	for _, one := range h.ids("/listings?limit=250", "name") {
		houses = append(houses, map[string]any{"listingId": one})
	}

	for _, f := range []struct {
		name, typ, formula, debit, credit string
		rate                              int
	}{
		{"Management", "managementFee", "rent", "5100", "4100", 20000},
		{"Cleaning", "cleaningFee", "cleaningFee", "5110", "4110", 100000},
		{"Channel fees", "bookingChannelFee", "channelFee", "5120", "4120", 100000},
	} {
		h.post("/recurring-fees", map[string]any{
			"name": f.name, "type": f.typ, "formula": f.formula, "rateType": "percentage", "defaultRate": f.rate,
			"debitParty": "owners", "creditParty": "manager", "debitAccountId": accounts[f.debit], "creditAccountId": accounts[f.credit],
			"listingSubscriptions": houses,
		}).want(201)
	}
}

// anyUniqueRef matches the reference of a record in canonical.
var anyUniqueRef = regexp.MustCompile(`"uniqueRef":("[^"]*"|null)`)

// canonical returns an answer without ids, short references and instants, in an order that does not depend on these.
func canonical(a *answer) string {
	a.t.Helper()

	var value any
	if err := json.Unmarshal(anyStamp.ReplaceAll(anyID.ReplaceAll(a.body, []byte("id")), []byte("time")), &value); err != nil {
		a.t.Fatal(err)
	}

	return sorted(value)
}

// sorted returns a value as JSON, with its lists sorted.
func sorted(value any) string {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "shortRef")

		var out []string
		for name, item := range v {
			out = append(out, fmt.Sprintf("%q:%s", name, sorted(item)))
		}

		slices.Sort(out)

		return "{" + strings.Join(out, ",") + "}"
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = sorted(v[i])
		}

		slices.Sort(out)

		return "[" + strings.Join(out, ",\n") + "]"
	default:
		text, _ := json.Marshal(v)
		return string(text)
	}
}
