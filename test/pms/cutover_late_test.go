package pms_test

import "testing"

// A target that is read only after the cutover has the same books as one that was read before it: its stays are one with those of the
// source, which people have changed and paid.
//
// Proves: CUT-13, CUT-42, CUT-46.
func TestATargetThatIsReadAfterTheCutover(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("JA", "2026-07-06", "2026-07-08", 200)
	m.before("JB", "2026-07-12", "2026-07-14", 220)
	m.before("JC", "2026-06-29", "2026-07-02", 300)
	m.before("JE", "2026-07-10", "2026-07-12", 240)
	m.before("JF", "2026-07-20", "2026-07-22", 80)
	m.before("JG", "2026-06-10", "2026-06-12", 100)
	m.connect()
	m.Put(m.path("/listing-mappings"), object{"data": array{}}).Want(200)
	m.sync("full")
	m.start()
	m.connectTarget()
	m.Put("/connections/"+m.target.String()+"/listing-mappings", object{"data": array{}}).Want(200)

	// People pay four of them, adjust one, and say otherwise of another.
	deposits := map[string]string{}
	for name, cents := range map[string]int{"JA": 20_000, "JB": 22_000, "JC": 30_000, "JF": 8_000} {
		deposits[name] = m.deposit(m.connection, name, "2026-06-01", cents)
	}

	deposits["JE"] = m.Post("/transactions", object{
		"type": "deposit", "date": "2026-06-01",
		"lines": array{object{"assignment": "accountsReceivable", "amount": 24_000, "matchReservationConfirmationCode": "C-JE"}},
	}).Want(201).String("id")

	m.Post("/reservations/"+m.find(m.connection, "JE").String("id")+"/adjustments", object{"description": "Refund", "amount": -1500, "accountId": m.Account("4000")}).Want(201)
	m.Put("/reservations/"+m.find(m.connection, "JF").String("id"), object{"checkIn": "2026-07-21", "checkOut": "2026-07-23"}).Want(200)
	m.Outlast(nil)

	early := m.typed("C-hand", "Guest hand", "2026-06-20", "2026-06-22", 70)

	m.apply()

	m.after("JA", "2026-07-06", "2026-07-08", 200)
	m.after("JB", "2026-06-26", "2026-06-28", 220)
	m.after("JC", "2026-06-29", "2026-07-02", 300)
	m.after("JE", "2026-07-10", "2026-07-12", 240)
	m.after("JF", "2026-07-20", "2026-07-22", 80)
	m.after("JG", "2026-07-03", "2026-07-05", 100)
	m.after("hand", "2026-06-20", "2026-06-22", 70)
	m.syncTarget()

	// By pen: 200.00, 220.00, 300.00 and 240.00 less 15.00 are 945.00; and 80.00, 100.00 and 70.00.
	m.want("JA", [2]int64{0, 20_000}, "inactive", "2026-07-06", "2026-07-08")
	m.want("JB", [2]int64{22_000, 0}, "booked", "2026-06-26", "2026-06-28")
	m.want("JC", [2]int64{30_000, 0}, "booked", "2026-06-29", "2026-07-02")
	m.want("JE", [2]int64{0, 22_500}, "inactive", "2026-07-10", "2026-07-12")
	m.want("JF", [2]int64{0, 8_000}, "inactive", "2026-07-21", "2026-07-23")
	m.want("JG", [2]int64{0, 10_000}, "inactive", "2026-07-03", "2026-07-05")

	if got := [2]int64{m.income(early.String()), m.revenue(m.target, "hand")}; got != [2]int64{7_000, 0} {
		t.Errorf("the stay that was entered by hand has %v", got)
	}

	m.wantPaid(deposits["JA"], m.target, "JA")
	m.wantPaid(deposits["JB"], m.connection, "JB")
	m.wantPaid(deposits["JC"], m.connection, "JC")
	m.wantPaid(deposits["JE"], m.target, "JE")
	m.wantPaid(deposits["JF"], m.target, "JF")

	// What people have said otherwise is a conflict of the target's, also after the next sync.
	m.syncTarget()

	conflicts := m.Get("/sync-conflicts").Want(200)
	if conflicts.Len("data") != 1 || conflicts.String("data.0.field") != "checkIn,checkOut" || conflicts.String("data.0.entity.id") != m.find(m.target, "JF").String("id") {
		t.Errorf("the conflicts are %s", conflicts.Body)
	}

	m.want("JF", [2]int64{0, 8_000}, "inactive", "2026-07-21", "2026-07-23")
}

// A lock on what would leave the books holds a stay of the target back, until it goes.
func TestAStayOfTheTargetWaitsForALockOnThatOfTheSource(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("stay", "2026-06-20", "2026-06-22", 200)
	m.connect()
	m.Put(m.path("/listing-mappings"), object{"data": array{}}).Want(200)
	m.sync("full")
	m.start()
	m.connectTarget()
	m.Put("/connections/"+m.target.String()+"/listing-mappings", object{"data": array{}}).Want(200)
	m.apply()

	statement := m.Post("/statements", object{"month": "2026-06", "status": "published", "listingPeriodIds": array{m.home.Period}}).Want(201)

	m.after("stay", "2026-07-05", "2026-07-07", 200)
	m.after("other", "2026-07-10", "2026-07-12", 50)
	m.syncTarget()

	if got := m.Get("/reservations?connectionIds=" + m.target.String()).Want(200); got.Len("data") != 1 || m.revenue(m.target, "other") != 5_000 {
		t.Errorf("the stays of the target are %s", got.Body)
	}

	if got := m.find(m.connection, "stay"); m.revenue(m.connection, "stay") != 20_000 || got.String("status") != "booked" {
		t.Errorf("the stay of the source is %s", got.Body)
	}

	m.Put("/statements/"+statement.String("data.0.id"), object{"status": "draft"}).Want(200)
	m.Outlast(nil)
	m.syncTarget()
	m.want("stay", [2]int64{0, 20_000}, "inactive", "2026-07-05", "2026-07-07")
}
