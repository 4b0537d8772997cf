package opening_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	whole "stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = whole.Object
	list   = whole.Array
)

var with = whole.With

// world is a team with the standard chart, a villa that somebody owns, and a stay in it.
type world struct {
	*whole.World
	accounts    map[string]id.ID // by code
	villa, stay id.ID
	period      id.ID
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: whole.New(t)}
	w.accounts = codesOf(w.Team)
	villa := w.Listing("Villa", w.Contact("owner", "Ann Owner"))
	w.villa, w.period = villa.ID, villa.Period
	w.stay = id.New(w.DB.Now())
	w.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, check_in, check_out, currency, created_at, updated_at)
		values (@team, @id, @ref, @listing, 'booked', '2026-02-10', '2026-02-15', 'usd', now(), now())`,
		db.Args{"id": w.stay, "ref": w.stay.ShortRef(), "listing": w.villa})
	return w
}

func (w *world) deposit(date string, cents int64) object {
	return object{"type": "deposit", "date": date, "lines": list{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay}}}
}

func (w *world) closeBooks(at string) {
	w.Exec(`update team set books_closed_at = @at::text::date where team_id = @team`, db.Args{"at": at})
}

// saved is an owner statement of the villa over January.
func (w *world) saved() {
	s := id.New(w.DB.Now())
	w.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
			expenses, payouts, balance_end, reserve, created_at, updated_at)
		values (@team, @id, @ref, @period, @listing, 'inReview', 'usd', '2026-01-01', '2026-01-31', 0, 0, 0, 0, 0, 0, now(), now())`,
		db.Args{"id": s, "ref": s.ShortRef(), "period": w.period, "listing": w.villa})
}

// balances are the team's active entries by account code, in cents, of the ledgers and days that a condition on e selects.
func (w *world) balances(where string) map[string]int64 {
	out := map[string]int64{}
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		type row struct {
			Code string
			Sum  int64
		}
		rows, err := db.Select[row](ctx, tx, `select a.code, sum(e.cent_total)::bigint as sum from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team and e.status = 'active' and `+where+` group by 1 having sum(e.cent_total) <> 0`, db.Args{"team": tx.Team})
		for _, r := range rows {
			out[r.Code] = r.Sum
		}
		return err
	})
	return out
}

func wantBalances(t *testing.T, w *world, want map[string]int64) {
	t.Helper()
	if got := w.balances("true"); !maps.Equal(got, want) {
		t.Errorf("balances %v, want %v", got, want)
	}
}

// staleness tells what the marks on a journal say, "" when there are none.
func (w *world) staleness(source id.ID) string {
	var marks []string
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		marks, err = db.Select[string](ctx, tx, `select distinct status from ledger_stale where team_id = @team and source_id = @id order by 1`,
			db.Args{"team": tx.Team, "id": source})
		return err
	})
	return strings.Join(marks, " ")
}
