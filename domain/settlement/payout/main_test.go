package payout_test

import (
	"context"
	"maps"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = world.Object
	array  = world.Array
)

// house is a team with a villa that Ada owns to 60 and Ben to 40 percent, with a reserve of 200.00.
type house struct {
	*world.World
	villa    world.Listing
	ada, ben id.ID
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return furnish(world.New(t))
}

func furnish(w *world.World) *house {
	w.T.Helper()
	h := &house{World: w, ada: w.Contact("owner", "Ada"), ben: w.Contact("owner", "Ben")}
	h.villa.ID = w.Post("/listings", object{"name": "Villa", "initialOwnership": object{"reserve": 20000, "members": array{
		object{"contactId": h.ada, "split": 60000}, object{"contactId": h.ben, "split": 40000},
	}}}).Want(201).ID("id")
	h.villa.Period = w.Get("/listings/ownership-periods?listingIds=" + h.villa.ID.String()).Want(200).ID("data.0.id")

	return h
}

// january publishes example J: 300.00 at the start, 762.04 earned, 126.50 spent, 100.00 paid out, 635.54 available.
func (h *house) january() id.ID {
	h.T.Helper()
	h.Put("/listings/"+h.villa.ID.String()+"/opening-balance", object{"amount": 30000}).Want(200)
	h.Post("/transactions", object{"type": "payout", "date": "2026-01-10", "lines": array{
		object{"amount": 10000, "listingId": h.villa.ID, "party": "owners"},
	}}).Want(201)
	h.Stay(h.villa, "2026-01-20", 76204)
	h.Expense(h.villa, "2026-01-15", 12650)
	h.Publish("2026-01", h.villa)

	return h.Statement(h.villa, "2026-01")
}

// earn publishes a month in which a listing earned an amount, which is all that is there.
func (h *house) earn(l world.Listing, month string, cents int64) id.ID {
	h.T.Helper()

	if cents > 0 {
		h.Stay(l, month+"-09", cents)
	} else if cents < 0 {
		h.Expense(l, month+"-09", -cents)
	}

	h.Publish(month, l)

	return h.Statement(l, month)
}

// body asks for the payout of statements on a date.
func body(date string, statements ...id.ID) object {
	return object{"statementIds": statements, "date": date}
}

func with(o object, more object) object {
	maps.Copy(o, more)
	return o
}

// record records payouts and gives the result of the operation.
func (h *house) record(o object) *apitest.Response {
	h.T.Helper()
	op := h.Post("/statements/payouts", o).Want(202).String("operationId")
	h.Work()

	return h.Get("/operations/" + op + "/result").Want(200)
}

func (h *house) preview(o object) *apitest.Response {
	h.T.Helper()
	op := h.Post("/statements/payouts/preview", o).Want(202).String("operationId")
	h.Work()

	return h.Get("/operations/" + op + "/result").Want(200)
}

// payouts are how many active payouts pay a statement, and their total.
func (h *house) payouts(statement id.ID) (n, total int64) {
	h.T.Helper()

	type row struct{ N, Total int64 }

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		r, err := db.Get[row](ctx, tx, `
			select count(*) as n, coalesce(sum(n.total), 0)::bigint as total
			from transaction_line n join transaction t on t.team_id = n.team_id and t.id = n.transaction_id and t.status = 'active'
			where n.team_id = @team and n.statement_id = @statement`, db.Args{"team": tx.Team, "statement": statement})
		n, total = r.N, r.Total

		return err
	})

	return n, total
}

func (h *house) wantPayouts(statement id.ID, n, total int64) {
	h.T.Helper()

	if gotN, got := h.payouts(statement); gotN != n || got != total {
		h.T.Errorf("%d payouts of %d cents, want %d of %d", gotN, got, n, total)
	}
}

// wantEntry compares the status, the message and the amounts of an entry of a result.
func wantEntry(t testing.TB, r *apitest.Response, at, want string, amounts ...int64) {
	t.Helper()

	if r.String(at+".status")+": "+r.String(at+".message") != want || r.Len(at+".payouts") != len(amounts) {
		t.Fatalf("%s is %v", at, r.Value(at))
	}

	for i, cents := range amounts {
		if got := r.Int(at + ".payouts." + string(rune('0'+i)) + ".amount"); got != cents {
			t.Errorf("%s: payout %d is %d, want %d", at, i, got, cents)
		}
	}
}
