package e2e_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// migrationWhole is set for the whole size: 300 listings with 36 months.
var migrationWhole = os.Getenv("MIGRATION_FULL") != ""

// TestALegacyTeamMovesWithItsHistory fills a team without a general ledger with a dump, moves it into a new one on behalf of
// its partner, and reads everything back over HTTP: each statement that can be imported has the totals and lines of the
// dump, those that cannot are named with the reason, and the live books are as they were. The dump and the books
// add up alike in hledger. MIGRATION_FULL=1 does it with 300 listings and 36 months.
//
// Proves: AUTH-43, MIG-18, MIG-33, MIG-36, MIG-38, MIG-40..MIG-43, MIG-45..MIG-47.
func TestALegacyTeamMovesWithItsHistory(t *testing.T) {
	t.Parallel()

	listings, months := 30, 12
	if migrationWhole {
		listings, months = 300, 36
	}

	r := newRelocation(t, generateDump(t, listings, months), "serve")
	r.step("served")

	m := r.fill("Old rentals")
	r.step("filled")
	m.bootstrap(r.await)
	r.step("made the new team")
	m.checkShell()
	m.checkPreview(false)

	// Something is in the live books, which the import leaves alone.
	m.bookLive()
	books := m.trialBalance()

	m.importHistory("5290", r.await)
	r.step("imported")

	read := m.checkStatements("5290")
	m.checkPreview(true)
	r.step("compared")

	if got := m.trialBalance(); got != books {
		t.Errorf("the trial balance was\n%s\nand is\n%s", books, got)
	}

	m.checkWithHledger("5290", read)
	r.step("compared with hledger")

	// Again with another account for one of the legacy accounts: its lines move, and no others.
	m.importHistory("5120", r.await)
	m.checkStatements("5120")

	if got := m.trialBalance(); got != books {
		t.Errorf("the trial balance was\n%s\nand is\n%s", books, got)
	}

	r.step("imported again and compared")
}

// relocation is a service with a partner whose legacy teams move.
type relocation struct {
	*client
	t              *testing.T
	database, data string
	partner        string
	dump           *legacyDump
	began          time.Time
}

// newRelocation starts the service with a partner.
func newRelocation(t *testing.T, dump *legacyDump, args ...string) *relocation {
	t.Helper()

	r := &relocation{t: t, database: emptyDatabase(t), data: t.TempDir(), dump: dump, began: time.Now()}
	base := start(t, r.database, r.data, args...).base
	r.partner = command(t, r.database, "team", "create", "Partners", "--partner")
	r.client = &client{t: t, base: base, key: command(t, r.database, "key", "issue", "--team", r.partner, "--partner")}

	return r
}

// step logs how far the journey is.
func (r *relocation) step(what string) {
	r.t.Logf("%6.1f s %s", time.Since(r.began).Seconds(), what)
}

// as returns a client with a key that names a team. After a migration it reaches the new team as well.
func (r *relocation) as(team string) *client {
	r.t.Helper()
	return &client{t: r.t, base: r.base, key: command(r.t, r.database, "key", "issue", "--team", team), team: team}
}

// selecting returns a client with the partner's key that selects a team.
func (r *relocation) selecting(team string) *client {
	return &client{t: r.t, base: r.base, key: r.key, team: team}
}

// await waits until an operation has completed.
func (r *relocation) await(operation string) {
	r.t.Helper()

	if got := r.settled(operation); got.text("status") != "completed" {
		r.t.Fatalf("the operation is %s", got.body)
	}
}

// move is the move of a legacy team.
type move struct {
	*relocation
	source, target string
	old, made      *client           // with keys of the teams
	codes, ids     map[string]string // of the accounts of the new team, by id and by code
	refs           map[string]string // of its listings by id
}

// fill makes a legacy team and fills it with the dump.
func (r *relocation) fill(name string) *move {
	r.t.Helper()

	m := &move{relocation: r, source: command(r.t, r.database, "team", "create", name, "--legacy", "--under", r.partner)}
	m.old = r.as(m.source)

	got := r.upload(m.source, r.dump.raw).want(201)

	lines := 0
	for i := range r.dump.Statements {
		lines += len(r.dump.Statements[i].Lines)
	}

	for list, want := range map[string]int{
		"accounts": len(r.dump.Accounts), "owners": len(r.dump.Owners), "listings": len(r.dump.Listings), "connections": len(r.dump.Connections),
		"reservations": len(r.dump.Reservations), "templates": len(r.dump.Templates), "statements": len(r.dump.Statements), "lines": lines,
	} {
		if got.text("counts."+list) != strconv.Itoa(want) {
			r.t.Errorf("%s: %s were read, %d written", list, got.text("counts."+list), want)
		}
	}

	return m
}

// upload sends a dump to a team that the partner selects, while it is read.
func (r *relocation) upload(team, dump string) *answer {
	r.t.Helper()

	body, out := io.Pipe()
	form := multipart.NewWriter(out)

	go func() {
		part, err := form.CreateFormFile("file", "dump.json")
		if err == nil {
			_, err = io.Copy(part, strings.NewReader(dump))
		}

		_ = out.CloseWithError(cmp.Or(err, form.Close()))
	}()

	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.base+"/legacy/import", body)
	if err != nil {
		r.t.Fatal(err)
	}

	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("x-api-key", r.key)
	req.Header.Set("x-team-id", team)

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}

	defer func() { _ = resp.Body.Close() }()

	var content bytes.Buffer
	if _, err := content.ReadFrom(resp.Body); err != nil {
		r.t.Fatal(err)
	}

	return &answer{t: r.t, call: "POST /legacy/import", status: resp.StatusCode, body: content.Bytes()}
}

// bootstrap makes the new team and installs its chart. Running operations are waited for by await.
func (m *move) bootstrap(await func(string)) {
	m.t.Helper()

	ack := m.post("/partner/vri-to-vrt", object{
		"sourceTenantId": m.source, "targetName": "New rentals", "glStartAt": "2023-02-01", "moveConnectionCredentials": false,
	}).want(202)
	operation := ack.text("operationId")

	if ack.text("type") != "vri-team-migration" {
		m.t.Errorf("started: %s", ack.body)
	}

	await(operation)

	for _, r := range m.get("/operations/" + operation).want(200).list("resources") {
		if r["role"] == "result" {
			m.target = fmt.Sprint(r["id"])
		}
	}

	m.made = m.as(m.target)
	m.checkHidden(operation)
	m.made.call(http.MethodPatch, "/teams/"+m.target+"/init", nil).want(200)

	m.codes, m.ids, m.refs = map[string]string{}, map[string]string{}, map[string]string{}

	for _, a := range m.made.get("/accounts?limit=250").want(200).list("data") {
		m.codes[fmt.Sprint(a["id"])], m.ids[fmt.Sprint(a["code"])] = fmt.Sprint(a["code"]), fmt.Sprint(a["id"])
	}

	for _, l := range m.all(m.made, "/listings?") {
		m.refs[fmt.Sprint(l["id"])] = fmt.Sprint(l["uniqueRef"])
	}
}

// checkHidden checks that an operation is that of the partner, and of nobody else.
func (m *move) checkHidden(operation string) {
	m.t.Helper()
	m.selecting(m.partner).get("/operations/" + operation).want(200)

	for name, team := range map[string]*client{
		"the legacy team": m.old, "the new team": m.made, "the partner in the legacy team": m.selecting(m.source), "the partner in the new team": m.selecting(m.target),
	} {
		if got := team.get("/operations/" + operation); got.status != 404 {
			m.t.Errorf("%s sees the operation of its partner: %d %s", name, got.status, got.body)
		}

		for _, o := range team.get("/operations?limit=100").want(200).list("items") {
			if o["id"] == operation {
				m.t.Errorf("%s lists the operation of its partner", name)
			}
		}
	}
}

// all returns the records of a list of a team. The path of the list ends where a parameter can follow.
func (m *move) all(of *client, path string) (out []map[string]any) {
	m.t.Helper()

	for page := 1; ; page++ {
		a := of.get(fmt.Sprintf("%slimit=250&page=%d", path, page)).want(200)
		out = append(out, a.list("data")...)

		if a.at("pagination.nextPage") == nil {
			return out
		}
	}
}

// checkShell holds what the new team has to the dump, before anything is imported.
func (m *move) checkShell() {
	m.t.Helper()

	for path, want := range map[string]int{
		"/contacts?": len(m.dump.Owners), "/listings?": len(m.dump.Listings), "/connections?": len(m.dump.Connections), "/reservations?": 0,
		"/statements?status=published&": 0,
	} {
		if got := m.all(m.made, path); len(got) != want {
			m.t.Errorf("%s has %d records, want %d", path, len(got), want)
		}
	}
}

// checkPreview holds the preview of an import to the dump: the accounts of lines that can be imported, what is suggested for
// them, and why which statements are left out. After an import the accounts are kept.
func (m *move) checkPreview(imported bool) {
	m.t.Helper()

	got := m.selecting(m.partner).get("/teams/migrate-vri-to-vrt/statements/account-mappings?sourceTenantId=" + m.source + "&targetTenantId=" + m.target).want(200)
	if got.text("effectiveGlStartAt") != m.dump.cutover(m.t) {
		m.t.Errorf("the cutover is %s, want %s", got.text("effectiveGlStartAt"), m.dump.cutover(m.t))
	}

	taken, skipped := m.dump.importable()
	want, accounts, left := map[string]string{}, map[string]string{}, map[string]string{}

	for _, s := range taken {
		for _, l := range s.Lines {
			if l.Type == "line" && l.Amount != 0 {
				want[l.AccountKey] = codesByHand[l.AccountKey]
			}
		}
	}

	for _, a := range got.list("oldAccounts") {
		legacy, _ := a["legacyAccount"].(object)
		suggested, _ := a["suggestedTargetAccount"].(object)
		key := fmt.Sprint(legacy["key"])
		accounts[key] = m.codes[fmt.Sprint(suggested["id"])]

		if current, is := a["currentTargetAccount"].(object); is != imported || is && key != oddKey && current["id"] != suggested["id"] {
			m.t.Errorf("the account of the last import is %v", a)
		}
	}

	for _, s := range got.list("skippedStatements") {
		left[fmt.Sprint(s["sourceId"])] = fmt.Sprint(s["reason"])
	}

	compare(m.t, "the account", want, accounts)
	compare(m.t, "why it is left out", skipped, left)

	if reasons := slices.Compact(slices.Sorted(maps.Values(left))); len(reasons) != 4 {
		m.t.Errorf("the dump has only the reasons %v", reasons)
	}
}

// bookLive books an expense of the owners in the new team.
func (m *move) bookLive() {
	m.t.Helper()

	listing := m.made.get("/listings?search=House%201&sort=name").want(200).text("data.0.id")
	m.made.post("/transactions", object{"type": "expense", "date": "2026-02-15", "description": "Water heater", "lines": []any{
		object{"amount": 12_345, "accountId": m.ids["5200"], "listingId": listing, "party": "owners"},
	}}).want(201)
}

// trialBalance returns the trial balance of the new team.
func (m *move) trialBalance() string {
	m.t.Helper()

	got := m.made.get("/reports/trial-balance?startDate=2020&endDate=2035").want(200)
	if len(got.list("data")) == 0 {
		m.t.Error("the trial balance is empty")
	}

	return string(got.body)
}

// importHistory imports the statements with an account for the goodwill. Without one it is refused.
func (m *move) importHistory(odd string, await func(string)) {
	m.t.Helper()

	body := object{"sourceTenantId": m.source, "targetTenantId": m.target}

	if m.made.get("/team").want(200).at("historicalStatementsImportedAt") == nil {
		refused := m.post("/partner/vri-to-vrt/statements", body).want(422)
		if refused.text("issues.0.code") != "accountMappingRequired" || !strings.Contains(string(refused.body), oddKey) {
			m.t.Errorf("without an account for the goodwill: %s", refused.body)
		}
	}

	body["accountMappings"] = []any{object{"legacyAccountKey": oddKey, "targetAccountId": m.ids[odd]}}
	ack := m.post("/partner/vri-to-vrt/statements", body).want(202)
	operation := ack.text("operationId")

	if ack.text("type") != "vri-statement-import" {
		m.t.Errorf("started: %s", ack.body)
	}

	await(operation)
	m.checkHidden(operation)

	if got := m.made.get("/team").want(200); got.text("statementStartAt") != m.dump.cutover(m.t) || got.at("historicalStatementsImportedAt") == nil {
		m.t.Errorf("the team is %s", got.body)
	}
}
