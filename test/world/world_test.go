package world_test

import (
	"testing"

	"stayledger/platform/apitest"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func TestAWorldKeepsBooks(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"), w.Contact("owner", "Ben"))
	w.Stay(villa, "2026-01-09", 100_000)
	w.Expense(villa, "2026-01-20", 25_000)
	w.Publish("2026-01", villa)

	s := w.Get("/statements/" + w.Statement(villa, "2026-01").String()).Want(200)
	if s.String("status") != "published" || s.Int("financials.available") != 75_000 || s.Int("shares.1.amount") != 37_500 {
		t.Errorf("the statement is %s", s.Body)
	}
}
