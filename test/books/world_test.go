// Package books_test keeps the books of whole teams and holds them against what they must be: the worked examples of
// the accounting model to the cent, an accounting program that knows nothing of this one, and the invariants that hold
// whatever happens.
package books_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// defaultCases is how many histories each of the property tests tries; BOOKS_CASES asks for more (make nightly).
const defaultCases = 60

func cases() int {
	if n, err := strconv.Atoi(os.Getenv("BOOKS_CASES")); err == nil && n > 0 {
		return n
	}

	return defaultCases
}

// lanes is how many of them run side by side.
const lanes = 4

func TestMain(m *testing.M) {
	flag.Parse()
	// A failure names its seed; files of failures would be left lying in the repository. What the command line says
	// wins.
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(max(1, cases()/lanes)), "rapid.nofailfile": "true"} {
		given := false

		flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })

		if given {
			continue
		}

		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}

	apitest.Main(m)
}

type (
	object = map[string]any
	list   = []any
)

// team is a fresh team with the standard chart, served by the whole service.
type team struct {
	*apitest.Team
	t        testing.TB
	accounts map[string]account // by code
}

// account is an account as the chart shows it.
type account struct {
	ID             id.ID
	Code           string
	Name           string
	Classification string
}

func newTeam(t testing.TB) *team {
	t.Helper()

	parts := app.Parts(app.External{}, app.Config{})
	x := &team{Team: apitest.New(t, apitest.Config{Endpoints: parts.Endpoints, Handlers: parts.Handlers, Scopes: access.Scopes()}), t: t}
	x.open()

	return x
}

// renew gives the caller another fresh team behind the same server, which takes longer to make than most histories.
func (x *team) renew() {
	x.t.Helper()
	x.ID = id.New(x.DB.Now())
	x.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `insert into team (id, type, name, region, statement_start_at, created_at, updated_at)
			values (@id, 'propertyManager', 'Test team', 'us', '2026-01-01', @now, @now)`, db.Args{"id": x.ID, "now": tx.Now})

		return err
	})
	x.open()
}

// open installs the standard chart and reads it.
func (x *team) open() {
	x.t.Helper()
	x.accounts = map[string]account{}
	x.must("PATCH", "/teams/"+x.ID.String()+"/init", object{})

	var chart struct{ Data []account }
	x.read("/accounts?limit=250", &chart)

	for _, a := range chart.Data {
		if a.Code != "" {
			x.accounts[a.Code] = a
		}
	}
}

func (x *team) account(code string) id.ID {
	x.t.Helper()

	a, ok := x.accounts[code]
	if !ok {
		x.t.Fatalf("no account %s", code)
	}

	return a.ID
}

// send makes one call, without the dry run that Call sends first.
func (x *team) send(method, path string, body any) (status int, answer []byte) {
	var reader *bytes.Reader

	encoded, err := json.Marshal(body)
	if err != nil {
		x.t.Fatal(err)
	}

	if reader = bytes.NewReader(encoded); body == nil {
		reader = bytes.NewReader(nil)
	}

	r := httptest.NewRequestWithContext(x.t.Context(), method, path, reader)
	r.Header.Set("Content-Type", "application/json")

	w := httptest.NewRecorder()
	x.Server().ServeHTTP(w, r)

	return w.Code, w.Body.Bytes()
}

// must is send that has to succeed; it gives the id of the answer.
func (x *team) must(method, path string, body any) string {
	x.t.Helper()

	status, answer := x.send(method, path, body)
	if status >= http.StatusBadRequest {
		x.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}

	return idOf(answer)
}

func idOf(answer []byte) string {
	var named struct{ ID string }

	_ = json.Unmarshal(answer, &named) // lists and empty answers have none

	return named.ID
}

// read decodes the answer of a GET.
func (x *team) read(path string, into any) {
	x.t.Helper()

	status, answer := x.send(http.MethodGet, path, nil)
	if status != http.StatusOK {
		x.t.Fatalf("GET %s: %d %s", path, status, answer)
	}

	if err := json.Unmarshal(answer, into); err != nil {
		x.t.Fatalf("GET %s: %v: %s", path, err, answer)
	}
}

// entry is a journal entry as the report shows it.
type entry struct {
	TxnCode           string
	UniqueRef         string
	Ledger            string
	TxnAt             string
	Account           account
	CentTotal         int64
	Currency          string
	Party             string
	ListingID         string
	OwnershipPeriodID string
	ContactID         string
	ReservationID     string
	TransactionID     string
	RecurringFeeID    string
	TriggerType       string
	Description       string
}

// entries reads every page of the journal report.
func (x *team) entries(filter string) (all []entry) {
	x.t.Helper()

	for page := 1; ; page++ {
		var answer struct {
			Data       []entry
			Pagination struct{ NextPage *int }
		}
		x.read("/reports/journal-entries?limit=250&page="+strconv.Itoa(page)+filter, &answer)

		all = append(all, answer.Data...)
		if answer.Pagination.NextPage == nil {
			return all
		}
	}
}

// books are the entries that a filter selects, one per line: date, account, party and amount, summed where they agree,
// in a stable order.
func (x *team) books(filter string) []string {
	x.t.Helper()

	sums := map[string]int64{}

	for _, e := range x.entries(filter) {
		key := e.TxnAt + " " + e.Account.Code
		if e.Party != "" {
			key += " " + e.Party
		}

		sums[key] += e.CentTotal
	}

	var out []string

	for key, cents := range sums {
		if cents != 0 {
			out = append(out, key+" "+strconv.FormatInt(cents, 10))
		}
	}

	slices.Sort(out)

	return out
}

// wantBooks compares the books with what is written as "date code party cents", one line each.
func (x *team) wantBooks(filter, want string) {
	x.t.Helper()

	var lines []string

	for line := range strings.Lines(want) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}

	slices.Sort(lines)

	if got := x.books(filter); !slices.Equal(got, lines) {
		x.t.Errorf("%s\ngot\n%s\nwant\n%s", filter, strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// balances are the accounts and parties with what they stand at by the end of a day, those of nothing left out.
func (x *team) balances(until string) map[string]int64 {
	x.t.Helper()

	out := map[string]int64{}

	for _, e := range x.entries("&endDate=" + until) {
		key := e.Account.Code
		if e.Party != "" {
			key += " " + e.Party
		}

		if out[key] += e.CentTotal; out[key] == 0 {
			delete(out, key)
		}
	}

	return out
}
