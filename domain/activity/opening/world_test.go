package opening_test

import (
	"maps"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/id"
	"stayledger/test/fixture"
	whole "stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = whole.Object
	list   = whole.Array
)

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
	w.accounts = fixture.Accounts(w.Team)
	villa := w.Listing("Villa", w.Contact("owner", "Ann Owner"))
	w.villa, w.period = villa.ID, villa.Period
	w.stay = fixture.Stay(w.Team, w.villa, "booked", "2026-02-10", "2026-02-15")

	return w
}

func (w *world) deposit(date string, cents int64) object {
	return object{"type": "deposit", "date": date, "lines": list{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay}}}
}

// saved is an owner statement of the villa over January.
func (w *world) saved() {
	fixture.Statement(w.Team, w.period, "inReview", "2026-01-01", "2026-01-31")
}

func wantBalances(t *testing.T, w *world, want map[string]int64) {
	t.Helper()

	if got := fixture.Balances(w.Team, "true"); !maps.Equal(got, want) {
		t.Errorf("balances %v, want %v", got, want)
	}
}
