package pms_test

import "testing"

// A stay that both systems have on one listing is two reservations until the cutover says that they are one, and one that
// the target gets later is not taken for one that the cutover has retired: neither system loses a stay to the other.
//
// Proves: CUT-42, CUT-46.
func TestStaysOfBothSystemsOnOneListingStayApart(t *testing.T) {
	t.Parallel()
	c := newMove(t)

	// House 2 is shared: both systems have the same stay there.
	c.system.SetReservation(booked("twice", "S2", "2026-02-15", "2026-02-18"))
	c.to.SetReservation(booked("twice", "T2", "2026-02-15", "2026-02-18"))
	c.sync("full")
	c.syncTarget()

	deposit := c.pay(c.of(c.connection, "C-twice"), 5000)
	paired := c.of(c.target, "C-twice").String("id")

	c.Post(applyPath, c.ask(nil)).Want(200)
	c.Outlast(nil)

	// The stay that only the source had comes to the target, on the listing that both share now.
	c.to.SetReservation(booked("lost", "T1", "2026-02-20", "2026-02-23"))
	c.syncTarget()
	c.sync("full")

	for _, code := range []string{"C-twice", "C-lost"} {
		if got := c.of(c.connection, code); got.String("status") != "inactive" || c.revenue(got) != 0 {
			t.Errorf("%s of the source has revenue %d: %s", code, c.revenue(got), got.Body)
		}

		if got := c.of(c.target, code); got.String("status") != "booked" || c.revenue(got) != 45_050 {
			t.Errorf("%s of the target has revenue %d: %s", code, c.revenue(got), got.Body)
		}
	}

	if got := c.Get("/transactions/" + deposit).Want(200); got.String("lines.0.reservationId") != paired {
		t.Errorf("the line is %s, want %s", got.Body, paired)
	}
}

// syncTarget reads the target completely.
func (c *move) syncTarget() {
	c.T.Helper()
	c.Post("/connections/"+c.target.String()+"/sync", object{"mode": "full"}).Want(202)
	c.Outlast(nil)
}
