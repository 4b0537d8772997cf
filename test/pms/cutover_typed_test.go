package pms_test

import (
	"fmt"
	"testing"

	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
)

// typed enters a stay by hand, and returns it.
func (m *moving) typed(code any, guest, in, out string, rent int) id.ID {
	m.T.Helper()

	return m.Post("/reservations", object{
		"listingId": m.home.ID, "confirmationCode": code, "guestName": guest, "checkIn": in, "checkOut": out,
		"lines": array{object{"type": "rent", "description": "Rent", "amount": rent * 100}},
	}).Want(201).ID("id")
}

// pay pays a reservation, and returns the transaction.
func (m *moving) pay(stay id.ID, cents int) string {
	m.T.Helper()

	return m.Post("/transactions", object{
		"type": "deposit", "date": "2026-06-01", "lines": array{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay}},
	}).Want(201).String("id")
}

// income returns the revenue in cents that a reservation has in the books.
func (m *moving) income(stay string) (sum int64) {
	m.T.Helper()

	entries := m.Get("/reports/journal-entries?accountClassifications=revenue&startDate=2025&endDate=2028&reservationIds=" + stay).Want(200)
	for i := range entries.Len("data") {
		sum -= entries.Int(fmt.Sprintf("data.%d.centTotal", i))
	}

	return sum
}

// A stay that was entered by hand while both systems ran, and that the target has got as well, is one with it from the cutover on:
// the one by hand counts before the day, that of the target from the day on, with deposits, adjustments and what people said.
//
// Proves: CUT-13, CUT-46.
func TestAStayEnteredByHandIsOneWithThatOfTheTarget(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("old", "2026-06-10", "2026-06-12", 100)
	m.begin()

	coded := m.typed("C-NEW1", "Guest NEW1", "2026-07-26", "2026-07-28", 700)
	named := m.typed(nil, "HAND  made", "2026-07-20", "2026-07-22", 300)
	early := m.typed("c-early", "Guest EARLY", "2026-06-20", "2026-06-22", 200)
	other := m.typed("C-OTHER", "Guest OTHER", "2026-07-12", "2026-07-14", 500)
	alone := m.typed("C-ALONE", "Guest ALONE", "2026-07-16", "2026-07-18", 60)

	deposits := map[id.ID]string{coded: m.pay(coded, 70_000), named: m.pay(named, 30_000), early: m.pay(early, 20_000)}
	m.Post("/reservations/"+named.String()+"/adjustments", object{"description": "Refund", "amount": -1500, "accountId": m.Account("4000")}).Want(201)

	m.after("NEW1", "2026-07-26", "2026-07-28", 700)
	m.after("EARLY", "2026-06-20", "2026-06-22", 200)
	m.after("OTHER", "2026-07-12", "2026-07-14", 520)

	plain := stay("named", "T1", "2026-07-20", "2026-07-22", 300)
	plain.Code, plain.Guest = "", sandbox.Guest{Name: "Hand Made"}
	m.to.SetReservation(plain)
	m.syncTarget()

	preview, _ := m.apply()
	if preview.Len("reservationPairs") != 4 {
		t.Errorf("the pairs are %s", preview.Body)
	}

	m.syncTarget()

	// By pen: 700.00, 300.00 less 15.00, 200.00, 500.00 as people said, and 60.00 that only people have.
	target := m.Get("/reservations?connectionIds=" + m.target.String()).Want(200)
	twin := map[string]string{}

	for i := range target.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		twin[target.String(at+"checkIn")] = target.String(at + "id")
	}

	for _, want := range []struct {
		typed        id.ID
		in           string
		here, target int64
		status       string
	}{
		{coded, "2026-07-26", 0, 70_000, "inactive"},
		{named, "2026-07-20", 0, 28_500, "inactive"},
		{early, "2026-06-20", 20_000, 0, "booked"},
		{other, "2026-07-12", 0, 50_000, "inactive"},
		{alone, "", 6_000, 0, "booked"},
	} {
		got := m.Get("/reservations/" + want.typed.String()).Want(200)
		if got.String("status") != want.status || m.income(want.typed.String()) != want.here || got.Len("issues") != 0 {
			t.Errorf("the stay that was entered has %d: %s", m.income(want.typed.String()), got.Body)
		}

		if want.in != "" && m.income(twin[want.in]) != want.target {
			t.Errorf("the stay of the target has %d, want %d", m.income(twin[want.in]), want.target)
		}

		counts := want.typed.String()
		if want.target > 0 {
			counts = twin[want.in]
		}

		if paid := deposits[want.typed]; paid != "" && m.Get("/transactions/"+paid).Want(200).String("lines.0.reservationId") != counts {
			t.Errorf("the deposit of %s is not one of %s", want.typed, counts)
		}
	}

	conflicts := m.Get("/sync-conflicts").Want(200)
	if conflicts.Len("data") != 1 || conflicts.String("data.0.entity.id") != twin["2026-07-12"] || conflicts.String("data.0.field") != "lines[rent|Rent].amount" {
		t.Errorf("the conflicts are %s", conflicts.Body)
	}

	// The target moves one across the day: the one that was entered counts again.
	m.after("NEW1", "2026-06-26", "2026-06-28", 700)
	m.syncTarget()

	if now := [2]int64{m.income(coded.String()), m.income(twin["2026-07-26"])}; now != [2]int64{70_000, 0} {
		t.Errorf("the stay that was moved has %v", now)
	}

	// Somebody moves the other way the one that was entered.
	m.Put("/reservations/"+coded.String(), object{"checkIn": "2026-07-02", "checkOut": "2026-07-04"}).Want(200)
	m.Outlast(nil)

	if now := [2]int64{m.income(coded.String()), m.income(twin["2026-07-26"])}; now != [2]int64{0, 70_000} {
		t.Errorf("the stay that was moved back has %v", now)
	}
}

// Of several stays by hand that could be one of the target's none is taken for it: both sides say so, and no statement is published.
func TestSeveralStaysByHandAreAQuestion(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("old", "2026-06-10", "2026-06-12", 100)
	m.begin()

	typed := []id.ID{m.typed(nil, "Twin", "2026-07-20", "2026-07-22", 300), m.typed(nil, "Twin", "2026-07-20", "2026-07-22", 300)}
	s := stay("twin", "T1", "2026-07-20", "2026-07-22", 300)
	s.Guest.Name = "twin"
	m.to.SetReservation(s)
	m.syncTarget()

	if preview, _ := m.apply(); preview.Len("reservationPairs") != 0 {
		t.Errorf("the pairs are %s", preview.Body)
	}

	for _, v := range []string{typed[0].String(), typed[1].String(), m.find(m.target, "twin").String("id")} {
		if got := m.Get("/reservations/" + v).Want(200); got.String("issues.0.code") != "duplicateReservation" {
			t.Errorf("the stay is %s", got.Body)
		}
	}

	m.Post("/statements", object{"month": "2026-06", "status": "published", "listingPeriodIds": array{m.home.Period}}).Want(201)
	m.Post("/statements", object{"month": "2026-07", "status": "published", "listingPeriodIds": array{m.home.Period}}).
		WantError("BAD_REQUEST", "statementHasBlockingIssues")
}
