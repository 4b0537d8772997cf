package journal_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/activity/journal"
	"stayledger/domain/record/operation"
	"stayledger/domain/reporting/report"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = fixture.Object
	list   = fixture.Array
)

// world is a team with the standard chart, a villa that Ann owns until May 2026 and Bob from then on, a stay in it, and
// a barn without an owner.
type world struct {
	*apitest.Team
	t           testing.TB
	accounts    map[string]id.ID // by code
	villa, barn id.ID
	ann, bob    id.ID
	stay        id.ID
}

func newWorld(t testing.TB) *world {
	t.Helper()

	all := parts.Join(journal.Part(), report.Part(nil), operation.Part(time.Hour))
	x := apitest.New(t, apitest.Config{Endpoints: all.Endpoints, Handlers: all.Handlers})
	w := &world{Team: x, t: t, accounts: fixture.StandardChart(x)}
	w.villa, w.barn = fixture.Listing(x, "Villa"), fixture.Listing(x, "Barn")
	w.ann, w.bob = fixture.Period(x, w.villa, "", "2026-05-01"), fixture.Period(x, w.villa, "2026-05-01", "")
	w.stay = fixture.Stay(x, w.villa, "booked", "2026-02-10", "2026-02-15")

	return w
}

// statement saves an owner statement of Ann's over some days and attaches its entries when asked to.
func (w *world) statement(status, first, last string, attach bool) id.ID {
	s := fixture.Statement(w.Team, w.ann, status, first, last)
	if attach {
		fixture.Attach(w.Team, s)
	}

	return s
}

func (w *world) line(code string, cents int64, pairs ...any) object {
	l := object{"accountId": w.accounts[code], "centTotal": cents}
	for i := 0; i+1 < len(pairs); i += 2 {
		l[pairs[i].(string)] = pairs[i+1]
	}

	return l
}

// gift is a gift of the manager to the owners of the villa: 100.00 on a date.
func (w *world) gift(date string) object {
	return object{"date": date, "description": "Goodwill", "lines": list{
		w.line("5200", 10000, "party", "manager"), w.line("4000", -10000, "listingId", w.villa),
	}}
}

// entries are the ledger's rows as date ledger code cents party owner trigger, in a stable order.
func (w *world) entries() []string {
	w.t.Helper()

	var out []string

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[string](ctx, tx, `
			select concat_ws(' ', e.txn_at, e.ledger, a.code, e.cent_total, e.party,
				case e.ownership_period_id when @ann then 'ann' when @bob then 'bob' end, e.trigger_type)
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id where e.team_id = @team
			order by e.txn_at, e.ledger, a.code, e.cent_total`, db.Args{"team": tx.Team, "ann": w.ann, "bob": w.bob})

		return err
	})

	return out
}

func (w *world) wantEntries(want ...string) {
	w.t.Helper()

	if got := w.entries(); !slices.Equal(got, want) {
		w.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// send makes a real call when its dry run answers another status.
func (w *world) send(path, body string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")

	a := httptest.NewRecorder()
	w.Server().ServeHTTP(a, r)

	return a
}
