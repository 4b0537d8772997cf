package historic_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/test/fixture"
	"stayledger/test/world"
)

// Closed books are no obstacle: no live books change.
// Proves: HST-36, HST-37, HST-38.
func TestImportsLeaveTheLiveBooksAlone(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.Stay(p.villa, "2026-01-09", 100_000)
	p.Expense(p.villa, "2026-01-20", 300)

	live := func() string {
		var out strings.Builder
		for _, path := range []string{
			"/reports/journal-entries", "/reports/trial-balance?startDate=2025&endDate=2026", "/reports/profit-and-loss?startDate=2025&endDate=2026",
			"/reports/balance-sheet?date=2026", "/reports/trust-reconciliation?date=2026-01-31", "/accounts?type=bank",
			// Figures of listings are read from entries, those of the team from kept sums.
			"/reports/trial-balance?startDate=2025-11-20&endDate=2026-01-20&listingIds=" + p.villa.ID.String(),
		} {
			out.Write(p.Get(path).Want(200).Body)
		}

		return out.String()
	}

	p.Exec(`update team set books_closed_at = '2026-01-01' where team_id = @team`, nil)

	before := live()

	p.Post(single, p.month("11", p.line("a", "4000", 100), p.line("b", "5200", -30), payoutLine("c", 50))).Want(201)

	if after := live(); after != before {
		t.Errorf("live reports changed:\n%s\n%s", before, after)
	}

	entries := p.Get("/reports/journal-entries?ledger=historical&status=inactive").Want(200)
	if entries.Len("data") != 4 {
		t.Errorf("the historical ledger has %s", entries.Body)
	}
}

// lineOf finds the line of a statement with a description.
func lineOf(t *testing.T, s *apitest.Response, description string) string {
	t.Helper()

	var body struct{ Lines []map[string]any }
	s.Into(&body)

	for _, l := range body.Lines {
		if l["description"] == description {
			return encode(t, l)
		}
	}

	t.Fatalf("no line %q in %s", description, s.Body)

	return ""
}

// Proves: HST-18, HST-34, HST-40, HST-42, HST-43.
func TestImportedLinesShow(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	stay := p.Post("/reservations", world.Object{
		"listingId": p.villa.ID, "checkIn": "2025-11-03", "checkOut": "2025-11-07", "bookedAt": "2025-10-01", "guestName": "Grace", "confirmationCode": "HM123",
		"lines": world.Array{},
	}).Want(201).ID("id")
	before := p.counts()

	made := p.Post(single, p.month("11",
		p.line("a", "4000", 900, "description", "Rent", "reservationId", stay), p.line("b", "5200", -30, "description", "Repair", "date", "2025-11-20"),
		payoutLine("c", 50, "description", "November payout", "contactId", p.ada),
	)).Want(201)
	if after := p.counts(); after[2] != before[2] {
		t.Error("the import made a reservation")
	}

	s := p.Get("/statements/" + made.String("id")).Want(200)
	wantFields(t, s, map[string]string{
		"financials.balanceStart": "0", "financials.netRevenue": "900", "financials.expenses": "-30", "financials.payouts": "-50",
		"financials.balanceEnd": "820", "reservations.0.id": stay.String(), "reservations.0.guestName": "Grace",
		"reservations.0.confirmationCode": "HM123", "reservations.0.checkIn": "2025-11-03", "reservations.0.checkOut": "2025-11-07",
		"reservations.0.net": "900",
	})

	for description, want := range map[string][]string{
		"Rent": {
			`"section":"netRevenue"`, `"total":900`, `"guestName":"Grace"`, `"confirmationCode":"HM123"`, `"checkIn":"2025-11-03"`,
			`"checkOut":"2025-11-07"`, p.Account("4000").String(),
		},
		"Repair":          {`"section":"expenses"`, `"total":-30`, `"reservation":null`, `"date":"2025-11-20"`, p.Account("5200").String()},
		"November payout": {`"section":"payouts"`, `"total":-50`, `"reservation":null`},
	} {
		line := lineOf(t, s, description)
		for _, part := range want {
			if !strings.Contains(line, part) {
				t.Errorf("no %s in the line %s", part, line)
			}
		}
	}

	if s.Len("reservations") != 1 || s.Len("lines") != 3 {
		t.Errorf("lines and stays: %s", s.Body)
	}
}

// layoutOf makes a layout with one column per account for the listings.
func (p *past) layoutOf(name string, codes ...string) world.Object {
	columns := world.Array{}
	for _, code := range codes {
		columns = append(columns, world.Object{"name": "On " + code, "type": "accounts", "value": world.Object{"accountIds": world.Array{p.Account(code)}}})
	}

	return world.Object{
		"name": name, "listingIds": world.Array{p.villa.ID}, "otherSections": world.Array{},
		"netRevenueSections": world.Array{world.Object{"name": "Earned", "columns": columns}},
	}
}

// Proves: HST-31, HST-32, HST-39, OPEN-52.
func TestTheLayoutIsFrozen(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	own := p.Post("/statement-layouts", p.layoutOf("Of the villa", "4010", "4000")).Want(201).String("id")
	s := p.Post(single, p.month("11", p.line("a", "4000", 900), p.line("b", "4010", 80))).Want(201).String("id")
	shown := p.Get("/statements/" + s).Want(200)
	wantFields(t, shown, map[string]string{
		"layout.name": "Of the villa", "tables.0.columns.0.name": "On 4010", "tables.0.totals.0.amount": "80", "tables.0.totals.1.amount": "900",
	})
	p.Put("/statement-layouts/"+own, p.layoutOf("Changed", "4000", "4010")).Want(200)

	if after := p.Get("/statements/" + s).Want(200); after.String("layout") != shown.String("layout") || after.String("tables") != shown.String("tables") {
		t.Errorf("the layout is not frozen: %s", after.Body)
	}
	// Imported again, it takes the layout of that time. A listing without one takes the default.
	p.Post(single, p.month("11", p.line("a", "4000", 900))).Want(200)
	wantFields(t, p.Get("/statements/"+s).Want(200), map[string]string{"layout.name": "Changed"})
	barn := p.Listing("Barn", p.ben)

	other := p.Post(single, fixture.With(p.month("11"), "listingId", barn.ID, "uniqueRef", "barn")).Want(201).String("id")
	if got := p.Get("/statements/" + other).Want(200); got.String("layout.isDefault") != "true" {
		t.Errorf("the default is not taken: %s", got.Body)
	}

	p.Exec(`delete from layout_listing where team_id = @team`, nil)
	p.Exec(`delete from layout where team_id = @team`, nil)
	p.Post(single, p.month("12")).WantError(apierr.CodeBadRequest, "").WantIssue("statementLayoutMissing", "listingId")
}

// The imported months hand their balance on, and the first live month begins with it.
// Proves: HST-35, HST-53.
func TestImportedBalancesChain(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	// What the owners are owed when the live books begin is their opening balance.
	p.Put("/listings/"+p.villa.ID.String()+"/opening-balance", world.Object{"amount": 850}).Want(200)
	p.Post(single, p.month("11", p.line("a", "4000", 900), payoutLine("b", 100))).Want(201)
	p.Post(single, fixture.With(p.month("12", p.line("a", "4000", 50)), "centBalanceStart", 800)).Want(201)
	list := p.Get("/statements?listingIds=" + p.villa.ID.String() + "&year=2025&sort=startAt").Want(200)
	wantFields(t, list, map[string]string{
		"data.0.startAt": "2025-11-01", "data.0.financials.balanceEnd": "800", "data.1.financials.balanceStart": "800",
		"data.1.financials.balanceEnd": "850", "data.1.issues": "[]", "pagination.total": "2",
	})
	wantFields(t, p.Get("/statements/"+p.Statement(p.villa, "2026-01").String()).Want(200), map[string]string{
		"financials.balanceStart": "850", "issues": "[]",
	})
	owner := p.As([]string{"statements:read"}, &p.ben).Get("/statements?year=2025&sort=startAt").Want(200)
	wantFields(t, owner, map[string]string{"data.1.financials.balanceEnd": "850", "pagination.total": "2"})
	// A gap is reported, not refused.
	p.Post(single, fixture.With(p.month("12", p.line("a", "4000", 50)), "centBalanceStart", 700)).Want(200)

	gap := p.Get("/statements?listingIds=" + p.villa.ID.String() + "&year=2025&sort=startAt").Want(200)
	if !strings.Contains(gap.String("data.1.issues"), "balanceMismatch_start") {
		t.Errorf("the gap is not told: %s", gap.Body)
	}
}

// Proves: HST-52, OPEN-73.
func TestADeletedImportLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	before := p.counts()
	s := p.Post(single, p.month("12", p.line("a", "4000", 900), payoutLine("b", 100))).Want(201)
	p.Delete("/statements/"+s.String("id")).WantError(apierr.CodeForbidden, apierr.ReasonStatementPublished)
	p.Delete("/statements/" + s.String("id") + "?onLocked=unlockAndDelete").Want(204)

	if after := p.counts(); after != before {
		t.Errorf("rows went from %v to %v", before, after)
	}

	p.Get("/statements/"+s.String("id")).WantError(apierr.CodeNotFound, "")
	wantFields(t, p.Get("/statements/"+p.Statement(p.villa, "2026-01").String()).Want(200), map[string]string{"financials.balanceStart": "0"})
	// Its reference is free.
	wantFields(t, p.Post(single, p.month("12")).Want(201), map[string]string{"replaced": "false"})
}

// What the rest of an imported month brought is in the balance that the next statement starts with, as its predecessor
// foresees.
// Proves: HST-53.
func TestTheRestOfAnImportedMonthChains(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.Put("/listings/"+p.villa.ID.String()+"/opening-balance", world.Object{"amount": 850}).Want(200)
	p.Post(single, fixture.With(p.month("12", p.line("a", "4000", 850)), "startAt", "2026-01-01", "endAt", "2026-01-15")).Want(201)
	p.Stay(p.villa, "2026-01-20", 1_000)
	p.Expense(p.villa, "2026-01-31", 300)
	february := "/statements/" + p.Statement(p.villa, "2026-02").String()
	wantFields(t, p.Get(february).Want(200), map[string]string{"financials.balanceStart": "1550", "issues": "[]"})
	wantFields(t, p.Put(february, world.Object{"status": "inReview"}).Want(200), map[string]string{"issues": "[]"})
}

// An import that is replaced follows the order rule when that reopens or publishes it, and keeps what it said before.
// Proves: STM-03, STM-04.
func TestAReplacementReopensInOrder(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	s := p.Post(single, p.month("12", p.line("a", "4000", 900))).Want(201).String("id")
	p.Put("/listings/"+p.villa.ID.String()+"/opening-balance", world.Object{"amount": 900}).Want(200)
	january := "/statements/" + p.Statement(p.villa, "2026-01").String()
	p.Put(january, world.Object{"status": "inReview"}).Want(200)
	review := fixture.With(p.month("12", p.line("a", "4000", 800)), "status", "inReview")
	p.Post(single, review).WantError(apierr.CodeConflict, apierr.ReasonStatementFutureExists)
	p.Post(single, p.month("12", p.line("a", "4000", 900))).Want(200)
	p.Put(january, world.Object{"status": "draft"}).Want(200)
	p.Post(single, review).Want(200)
	wantFields(t, p.Get("/statements/"+s+"/difference").Want(200), map[string]string{
		"version": "1", "before.netRevenue": "900", "now.netRevenue": "800",
	})
}

// Owners get the lines and stays that are in an amount which the layout shows them.
func TestOwnersGetNoHiddenLines(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	design := p.layoutOf("Discreet", "4000")
	design["netRevenueSections"] = append(design["netRevenueSections"].(world.Array), world.Object{ //nolint:forcetypeassert // see layoutOf
		"name": "Ours", "visible": "manager", "columns": world.Array{
			world.Object{"name": "Kept", "type": "accounts", "value": world.Object{"accountIds": world.Array{p.Account("4010")}}},
		},
	})
	p.Post("/statement-layouts", design).Want(201)
	stay := p.Post("/reservations", world.Object{
		"listingId": p.villa.ID, "checkIn": "2025-11-03", "checkOut": "2025-11-07", "bookedAt": "2025-10-01", "lines": world.Array{},
	}).Want(201).ID("id")

	s := "/statements/" + p.Post(single, p.month("11",
		p.line("a", "4000", 900, "description", "Rent", "reservationId", stay), p.line("b", "4010", -80, "description", "Kept", "reservationId", stay),
		p.line("c", "5200", -30, "description", "Repair"), payoutLine("d", 50, "contactId", p.ada),
	)).Want(201).String("id")
	if manager := p.Get(s).Want(200); manager.Len("lines") != 4 || manager.Int("reservations.0.net") != 820 {
		t.Errorf("the manager gets %s", manager.Body)
	}

	for _, owner := range []*apitest.Response{p.Get(s + "?viewAs=owner").Want(200), p.As([]string{"statements:read"}, &p.ben).Get(s).Want(200)} {
		if owner.Len("lines") != 3 || owner.Int("reservations.0.net") != 900 || strings.Contains(string(owner.Body), "Kept") {
			t.Errorf("the owner gets %s", owner.Body)
		}
	}
}
