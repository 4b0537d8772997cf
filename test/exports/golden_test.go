package exports_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/golden"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// pathCase is an export path with a selection of the golden world.
type pathCase struct {
	// name is that of the golden file, without the ending.
	name string
	// path is such as /contacts/csv.
	path string
	// selector are the fields of the selection, as the body of a POST has them.
	selector world.Object
	// today says that the artifact shows data up to the current day, so that there is no golden file of it.
	today bool
}

// goldenTeam is a team with a bit of everything that an export can show. Its statements of January 2026 are published,
// those of February are drafts.
type goldenTeam struct {
	*world.World

	ann, ben, fix    id.ID
	villa, flat, hut world.Listing
	expense          id.ID
}

func newGoldenTeam(t *testing.T) *goldenTeam {
	t.Helper()
	g := &goldenTeam{World: world.New(t)}
	g.ann, g.ben, g.fix = g.Contact("owner", "Ann Owner"), g.Contact("owner", "Ben Ωmega"), g.Contact("vendor", "=Fix-It, \"Inc.\"")
	g.villa, g.flat, g.hut = g.Listing("Villa Aurora", g.ann, g.ben), g.Listing("Квартира 東京", g.ann), g.Listing("+Hut; with a view", g.ben)
	commission := g.Post("/recurring-fees", world.Object{
		"name": "Management", "type": "managementFee", "formula": "20% * rent", "rateType": "percentage", "defaultRate": 100000,
		"creditParty": "manager", "debitParty": "owners", "creditAccountId": g.Account("4100"), "debitAccountId": g.Account("5100"),
		"listingSubscriptions": world.Array{world.Object{"listingId": g.villa.ID}, world.Object{"listingId": g.flat.ID}},
	})
	commission.Want(201)

	for i, stay := range []struct {
		of                  world.Listing
		in, out, guest, app string
		rent, tax           int64
	}{
		{g.villa, "2026-01-05", "2026-01-09", "Grace Guest", "airbnb", 100000, 12000},
		{g.villa, "2026-01-20", "2026-01-22", "@Mallory", "direct", 44400, 5328},
		{g.flat, "2026-01-11", "2026-01-14", "日本 太郎", "booking.com", 60000, 7200},
		{g.hut, "2026-02-03", "2026-02-07", "Zoë d'Été", "direct", 80000, 9600},
		{g.villa, "2026-02-10", "2026-02-12", "Long \"Quote\", Esq.", "airbnb", 50000, 6000},
	} {
		reservation := g.Post("/reservations", world.Object{
			"listingId": stay.of.ID, "checkIn": stay.in, "checkOut": stay.out, "bookedAt": "2026-01-02", "guestName": stay.guest, "bookingPlatform": stay.app,
			"confirmationCode": fmt.Sprintf("HM%04d", i+1),
			"lines": world.Array{
				world.Object{"type": "rent", "amount": stay.rent}, world.Object{"type": "cleaningFee", "amount": 9000}, world.Object{"type": "tax", "amount": stay.tax},
			},
		}).Want(201).ID("id")
		g.Post("/transactions", world.Object{
			"type": "deposit", "date": stay.in, "description": "Payout of " + stay.guest, "lines": world.Array{
				world.Object{"assignment": "accountsReceivable", "amount": stay.rent + stay.tax + 9000, "reservationId": reservation},
				world.Object{"assignment": "deposit_merchantFee", "amount": -1500, "reservationId": reservation},
			},
		}).Want(201)
	}

	g.expense = g.Post("/transactions", world.Object{
		"type": "expense", "date": "2026-01-15", "accountId": g.Account("1000"), "contactId": g.fix, "description": "=SUM(A1:A9) boiler; \"urgent\"",
		"lines": world.Array{world.Object{"accountId": g.Account("5200"), "amount": 12650, "listingId": g.villa.ID}},
	}).Want(201).ID("id")
	g.Expense(g.hut, "2026-02-16", 3333)
	g.Publish("2026-01")
	g.Work()

	return g
}

// fetch follows a link or downloads a file.
func (g *goldenTeam) fetch(t *testing.T, address string) []byte {
	t.Helper()
	return g.download(t, address).Body
}

func (g *goldenTeam) download(t *testing.T, address string) *apitest.Response {
	t.Helper()

	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	return g.Get(u.RequestURI()).Want(200)
}

// query writes a selection as a GET has it.
func query(selector world.Object) string {
	values := url.Values{}

	for name, value := range selector {
		if list, ok := value.(world.Array); ok {
			texts := make([]string, len(list))
			for i, v := range list {
				texts[i] = fmt.Sprint(v)
			}

			values.Set(name, strings.Join(texts, ","))

			continue
		}

		values.Set(name, fmt.Sprint(value))
	}

	if len(values) == 0 {
		return ""
	}

	return "?" + values.Encode()
}

// operations are the ids of all operations of the team.
func (g *goldenTeam) operations() string {
	g.T.Helper()
	all := g.Get("/operations?type=export&limit=100").Want(200)

	return all.String("total") + string(all.Body)
}

// ask asks every path in both modes with the same selection: the same bytes come out, which are those of its golden
// file; the GET starts no operation, and neither mode answers with the artifact.
//
// Proves: INIT-55, OPEN-08.
func (g *goldenTeam) ask(t *testing.T, cases []pathCase) {
	t.Helper()

	for _, c := range cases {
		post := g.Post(c.path, c.selector).Want(202)
		if post.String("type") != "export" || post.String("status") != "queued" || post.Has("url") {
			t.Errorf("%s: acknowledgement %s", c.name, post.Body)
		}

		before := g.operations()
		get := g.Get(c.path + query(c.selector))

		var linked []byte

		if strings.HasSuffix(c.path, "/batch") {
			get.Want(422)
		} else {
			var keys map[string]any
			if err := json.Unmarshal(get.Want(200).Body, &keys); err != nil || !slices.Equal(slices.Sorted(maps.Keys(keys)), []string{"expiresAt", "url"}) {
				t.Errorf("%s: link %s", c.name, get.Body)
			}

			file := g.download(t, get.String("url"))
			c.wantType(t, file)
			linked = file.Body
		}

		if g.operations() != before {
			t.Errorf("%s: the GET changed operations", c.name)
		}

		g.Work()

		done := g.Get("/operations/" + post.String("operationId")).Want(200)
		if done.String("status") != "completed" {
			t.Fatalf("%s: %s", c.name, done.Body)
		}

		file := g.download(t, done.String("resources.0.url"))
		c.wantType(t, file)

		if linked != nil && !bytes.Equal(linked, file.Body) {
			t.Errorf("%s: the modes give different bytes", c.name)
		}

		g.compare(t, c, file.Body)
	}
}

// wantType holds a file to the format that its path is named for.
func (c *pathCase) wantType(t *testing.T, file *apitest.Response) {
	t.Helper()

	want := map[string][2]string{
		"csv": {"text/csv; charset=utf-8", ".csv"}, "pdf": {"application/pdf", ".pdf"}, "batch": {"application/zip", ".zip"}, "detailed": {"text/csv; charset=utf-8", ".csv"},
	}[path.Base(c.path)]

	kind, name := file.Header.Get("Content-Type"), file.Header.Get("Content-Disposition")
	if kind != want[0] || !strings.HasSuffix(strings.Trim(name, `"`), want[1]) {
		t.Errorf("%s: the file is %s, %s", c.name, kind, name)
	}
}

// compare compares with the golden file: a CSV as it is, a PDF by its text.
func (g *goldenTeam) compare(t *testing.T, c pathCase, content []byte) {
	t.Helper()

	file := c.name + ".csv"
	switch {
	case strings.HasSuffix(c.path, "/batch"):
		return
	case bytes.HasPrefix(content, []byte("%PDF-")):
		if folder := os.Getenv("KEEP_PDF"); folder != "" {
			if err := os.WriteFile(filepath.Join(folder, c.name+".pdf"), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}

		file, content = c.name+".txt", pdfText(t, content)
	}

	if !c.today {
		golden.File(t, filepath.Join("testdata", "paths", file), scrub(content))
	}
}

// pdfText is the text of a PDF as it is laid out. How far apart things are is left out: it differs with the width of a
// short reference.
func pdfText(t *testing.T, content []byte) []byte {
	t.Helper()

	file := filepath.Join(t.TempDir(), "a.pdf")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}

	text, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", file, "-").Output()
	if err != nil {
		t.Fatalf("pdftotext, of the package poppler-utils: %v", err)
	}

	return gaps.ReplaceAll(text, []byte("  "))
}

var (
	gaps     = regexp.MustCompile(` {2,}`)
	uuids    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	// A short reference is eight characters of base 32; nearly always one of them is a digit or all make no word.
	shortRefs = regexp.MustCompile(`(^|[ ,\n])[0-9abcdefghjkmnpqrstvwxyz]{8}([ ,\r\n]|$)`)
)

// scrub replaces what differs from run to run.
func scrub(content []byte) []byte {
	content = uuids.ReplaceAll(content, []byte("<id>"))
	content = instants.ReplaceAll(content, []byte("<instant>"))
	content = bytes.ReplaceAll(content, []byte("expenses"), []byte("EXPENSES")) // which could be one
	content = shortRefs.ReplaceAll(content, []byte("$1<ref>$2"))

	return bytes.ReplaceAll(content, []byte("EXPENSES"), []byte("expenses"))
}
