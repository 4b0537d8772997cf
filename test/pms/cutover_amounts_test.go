package pms_test

import (
	"fmt"
	"testing"

	sandbox "stayledger/provider/sandbox/pms"
)

// What the target says of the amounts of a stay that counts at the source is a conflict, and counts when somebody takes it.
func TestAmountsOfAStayThatCountsAtTheSourceAreAsked(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.both("KA", "2026-06-13", "2026-06-17", 400)
	m.both("KB", "2026-06-12", "2026-06-16", 600)
	m.both("KC", "2026-07-20", "2026-07-24", 700)
	m.both("KD", "2026-06-05", "2026-06-07", 90)
	m.begin()
	m.apply()

	// The target splits one amount, which is no change of it.
	m.after("KA", "2026-06-13", "2026-06-18", 500)

	canceled := stay("KB", "T1", "2026-06-12", "2026-06-16", 600)
	canceled.Status = "canceled"
	canceled.Lines = append(canceled.Lines, sandbox.Line{Type: "retained", Description: "Kept", Amount: "150"})
	m.to.SetReservation(canceled)
	m.after("KC", "2026-06-14", "2026-06-18", 980)

	split := stay("KD", "T1", "2026-06-05", "2026-06-07", 60)
	split.Lines = append(split.Lines, sandbox.Line{Type: "rent", Description: "Second night", Amount: "30"})
	m.to.SetReservation(split)
	m.syncTarget()

	m.sync("full")

	conflicts := m.Get("/sync-conflicts").Want(200)
	settled := array{}

	want := map[string]string{
		m.find(m.connection, "KA").String("id"): "lines[rent|Rent].amount 40000 50000",
		m.find(m.connection, "KB").String("id"): "lines[retained|Kept] null true",
		m.find(m.connection, "KC").String("id"): "lines[rent|Rent].amount 70000 98000",
	}

	for i := range conflicts.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		settled = append(settled, object{"id": conflicts.String(at + "id"), "take": "theirs"})

		if got := conflicts.String(at+"field") + " " + conflicts.String(at+"ours") + " " + conflicts.String(at+"theirs"); got != want[conflicts.String(at+"entity.id")] {
			t.Errorf("a conflict is %s, want %s", got, want[conflicts.String(at+"entity.id")])
		}
	}

	if len(settled) != 3 {
		t.Fatalf("the conflicts are %s", conflicts.Body)
	}

	m.want("KA", [2]int64{40_000, 0}, "booked", "2026-06-13", "2026-06-18")

	m.Post("/sync-conflicts/settle", object{"data": settled}).Want(200)
	m.Outlast(nil)

	// By pen: 500.00, 150.00 and 980.00 are 1,630.00, and 90.00.
	m.want("KA", [2]int64{50_000, 0}, "booked", "2026-06-13", "2026-06-18")
	m.want("KB", [2]int64{15_000, 0}, "canceled", "2026-06-12", "2026-06-16")
	m.want("KC", [2]int64{98_000, 0}, "booked", "2026-06-14", "2026-06-18")
	m.want("KD", [2]int64{9_000, 0}, "booked", "2026-06-05", "2026-06-07")

	m.syncTarget()
	m.sync("full")

	if got := m.Get("/sync-conflicts").Want(200); got.Len("data") != 0 {
		t.Errorf("the conflicts are %s", got.Body)
	}
}
