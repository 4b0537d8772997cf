package statement_test

import (
	"fmt"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/id"
	"stayledger/test/world"
)

func wantDifference(t *testing.T, r *apitest.Response, want string) {
	t.Helper()
	r.Want(200)

	got := fmt.Sprintf("%s v%d +%d -%d ~%d net %d", r.String("status"), r.Int("version"), r.Len("added"), r.Len("removed"), r.Len("changed"), r.Int("difference.netIncome"))
	if got != want {
		t.Errorf("difference %q, want %q: %s", got, want, r.Body)
	}

	for _, figure := range []string{"balanceStart", "netRevenue", "expenses", "netIncome", "payouts", "balanceEnd", "reserve", "available"} {
		if r.Int("now."+figure)-r.Int("before."+figure) != r.Int("difference."+figure) {
			t.Errorf("%s: %s", figure, r.Body)
		}
	}
}

// What owners have seen is kept when a statement is reopened, and compared with what it says now: as a draft, saved and
// published again.
func TestDifferenceSincePublished(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	w.Stay(villa, "2026-01-09", 100_000)
	boiler, paint := w.Expense(villa, "2026-01-20", 25_000), w.Expense(villa, "2026-01-21", 3_000)
	january := "/statements/" + w.Statement(villa, "2026-01").String()
	difference := func() *apitest.Response { return w.Get(january + "/difference") }
	put := func(status string) { w.T.Helper(); w.Put(january, world.Object{"status": status}).Want(200) }

	difference().WantError(apierr.CodeNotFound, "")
	put("inReview")
	difference().WantError(apierr.CodeNotFound, "")
	put("published")
	wantDifference(t, difference(), "published v1 +0 -0 ~0 net 0")

	if r := difference(); r.Has("reopenedAt") && r.Value("reopenedAt") != nil {
		t.Errorf("never reopened: %s", r.Body)
	}

	put("inReview")
	wantDifference(t, difference(), "inReview v1 +0 -0 ~0 net 0")
	put("draft")
	wantDifference(t, difference(), "draft v1 +0 -0 ~0 net 0")

	w.Delete("/transactions/" + paint.String()).Want(204)
	w.Put("/transactions/"+boiler.String(), world.Object{"lines": world.Array{world.Object{
		"accountId": w.Account("5200"), "amount": 26_000, "listingId": villa.ID,
	}}}).Want(200)
	w.Expense(villa, "2026-01-22", 500)
	w.Stay(villa, "2026-01-12", 7_000)

	changed := difference()
	if changed.Len("removed") == 2 { // the lines of the changed transaction are new ones
		wantDifference(t, changed, "draft v1 +3 -2 ~0 net 8500")
	} else {
		wantDifference(t, changed, "draft v1 +2 -1 ~1 net 8500")
		wantInts(t, changed, map[string]int64{"changed.0.before.total": -25_000, "changed.0.now.total": -26_000})
	}

	wantInts(t, changed, map[string]int64{"before.netRevenue": 100_000, "before.expenses": -28_000, "now.netRevenue": 107_000, "now.expenses": -26_500})
	put("published")
	wantDifference(t, difference(), fmt.Sprintf("published v1 +%d -%d ~%d net 8500", changed.Len("added"), changed.Len("removed"), changed.Len("changed")))

	if v := w.Get(january).Want(200).Int("version"); v != 2 {
		t.Errorf("version %d", v)
	}

	w.Delete(january + "?onLocked=unlockAndDelete").Want(204)
	wantDifference(t, difference(), "draft v2 +0 -0 ~0 net 0")
	w.Get("/statements/"+id.New(w.DB.Now()).String()+"/difference").WantError(apierr.CodeNotFound, "")
}

// E-mails are asked for when a change publishes a statement, and only then.
func TestPublishingAsksForEmails(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.income("2026-01-05", 100)
	january := b.at("2026-01")
	asked := func(want int) {
		t.Helper()

		if n := b.mails(); n != want {
			t.Errorf("%d e-mails are asked for, want %d", n, want)
		}
	}
	put := func(status string, email bool) {
		t.Helper()
		b.Put("/statements/"+january, map[string]any{"status": status, "emailDelivery": email}).Want(200)
	}
	put("inReview", true)
	asked(0)
	put("published", true)
	put("published", true)
	asked(1)
	put("inReview", true)
	put("published", false)
	asked(1)
	b.Post("/statements", map[string]any{"month": "2026-02", "status": "published", "emailDelivery": true}).Want(201)
	asked(2)
	b.Post("/statements", map[string]any{"month": "2026-03", "status": "inReview", "emailDelivery": true}).Want(201)
	asked(2)
}
