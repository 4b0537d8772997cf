package pms_test

import "testing"

// A stay of the source that a cutover made inactive, and that the target has not, is active again when it is inside the window again:
// when the source moves it to before the day, and when the day is shifted. One that a person made inactive stays so.
//
// Proves: CUT-13, CUT-42.
func TestStaysThatOnlyTheSourceHasComeBack(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("X", "2026-07-20", "2026-07-22", 100)
	m.before("moved", "2026-07-24", "2026-07-26", 80)
	m.before("away", "2026-07-27", "2026-07-29", 60)
	m.both("both", "2026-07-10", "2026-07-12", 200)
	m.begin()

	deposit := m.deposit(m.connection, "X", "2026-06-01", 10_000)
	m.Put("/reservations/"+m.find(m.connection, "away").String("id"), object{"status": "inactive"}).Want(200)
	m.apply()
	m.wantAlone("X", 0, "inactive", "2026-07-20")

	if got := m.Get("/transactions/" + deposit).Want(200); got.String("lines.0.reservationId") != "null" {
		t.Errorf("the deposit is %s", got.Body)
	}

	m.before("moved", "2026-06-10", "2026-06-12", 80)
	m.sync("full")
	m.wantAlone("moved", 8_000, "booked", "2026-06-10")
	m.wantAlone("X", 0, "inactive", "2026-07-20")

	// The end of the source first.
	m.Put(m.path(""), object{"accountingEndAt": "2026-08-01"}).Want(200)
	m.Outlast(nil)
	m.want("both", [2]int64{0, 20_000}, "inactive", "2026-07-10", "2026-07-12")
	m.Put("/connections/"+m.target.String(), object{"accountingStartAt": "2026-08-01"}).Want(200)
	m.Outlast(nil)
	m.want("both", [2]int64{20_000, 0}, "booked", "2026-07-10", "2026-07-12")
	m.wantAlone("X", 10_000, "booked", "2026-07-20")
	m.wantAlone("away", 0, "inactive", "2026-07-27")
	m.wantPaid(deposit, m.connection, "X")

	m.sync("full")
	m.wantAlone("X", 10_000, "booked", "2026-07-20")
	m.wantAlone("away", 0, "inactive", "2026-07-27")
}

// wantAlone holds a stay that only the source has to the cents that it has in the books, to its status and its check-in.
func (m *moving) wantAlone(name string, cents int64, status, in string) {
	m.T.Helper()

	if got := m.find(m.connection, name); m.revenue(m.connection, name) != cents || got.String("status") != status || got.String("checkIn") != in {
		m.T.Errorf("%s has %d: %s", name, m.revenue(m.connection, name), got.Body)
	}
}
