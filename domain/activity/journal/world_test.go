package journal_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/activity/journal"
	"stayledger/domain/books/account"
	"stayledger/domain/record/operation"
	"stayledger/domain/reporting/report"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = map[string]any
	list   = []any
)

// world is a team with the standard chart, a villa that Ann owns until May 2026 and Bob from then on, a stay in it, and a barn that nobody owns.
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
	all := parts.Join(journal.Part(), report.Part(), operation.Part(time.Hour))
	x := apitest.New(t, apitest.Config{Endpoints: all.Endpoints, Handlers: all.Handlers})
	w := &world{Team: x, t: t, accounts: map[string]id.ID{}}
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := account.InstallStandard(ctx, tx); err != nil {
			return err
		}
		type row struct {
			Code string
			ID   id.ID
		}
		rows, err := db.Select[row](ctx, tx, `select code, id from account where team_id = @team and code is not null`, db.Args{"team": tx.Team})
		for _, r := range rows {
			w.accounts[r.Code] = r.ID
		}
		return err
	})
	w.villa, w.barn = w.listing("Villa"), w.listing("Barn")
	w.ann, w.bob = w.period("null", "'2026-05-01'"), w.period("'2026-05-01'", "null")
	w.stay = w.id()
	x.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, check_in, check_out, currency, created_at, updated_at)
		values (@team, @id, @ref, @listing, 'booked', '2026-02-10', '2026-02-15', 'usd', now(), now())`,
		db.Args{"id": w.stay, "ref": w.stay.ShortRef(), "listing": w.villa})
	return w
}

func (w *world) id() id.ID { return id.New(w.DB.Now()) }

func (w *world) listing(name string) id.ID {
	l := w.id()
	w.Exec(`insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at) values (@team, @id, @ref, @name, 'usd', now(), now())`,
		db.Args{"id": l, "ref": l.ShortRef(), "name": name})
	return l
}

func (w *world) period(start, end string) id.ID {
	p := w.id()
	w.Exec(fmt.Sprintf(`insert into listing_ownership_period (team_id, id, listing_id, start_at, end_at, created_at, updated_at)
		values (@team, @id, @listing, %s, %s, now(), now())`, start, end), db.Args{"id": p, "listing": w.villa})
	return p
}

func (w *world) closeBooks(at string) {
	w.Exec(`update team set books_closed_at = @at::text::date where team_id = @team`, db.Args{"at": at})
}

// statement saves an owner statement of Ann's over a month and attaches its entries when asked to.
func (w *world) statement(status, month string, attach bool) id.ID {
	s := w.id()
	first := month + "-01"
	w.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
			expenses, payouts, balance_end, reserve, created_at, updated_at)
		values (@team, @id, @ref, @period, @listing, @status, 'usd', @first::text::date, (@first::text::date + interval '1 month - 1 day')::date, 0, 0, 0, 0, 0, 0, now(), now())`,
		db.Args{"id": s, "ref": s.ShortRef(), "period": w.ann, "listing": w.villa, "status": status, "first": first})
	if attach {
		w.Exec(`update ledger_entry set statement_id = @id where team_id = @team and party = 'owners' and ownership_period_id = @period
			and date_trunc('month', txn_at) = @first::text::date`, db.Args{"id": s, "period": w.ann, "first": first})
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

// gift is what the manager gives the owners of the villa: 100.00 on a date.
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

// send makes a real call whose dry run answers another status.
func (w *world) send(path, body string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	a := httptest.NewRecorder()
	w.Server().ServeHTTP(a, r)
	return a
}
