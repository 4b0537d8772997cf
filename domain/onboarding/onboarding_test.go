package onboarding_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stayledger/domain/account"
	"stayledger/domain/fee"
	"stayledger/domain/onboarding"
	"stayledger/domain/operation"
	"stayledger/domain/report"
	"stayledger/domain/reservation"
	"stayledger/domain/tax"
	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	return apitest.New(t, apitest.Config{
		Endpoints: slices.Concat(onboarding.Endpoints(), operation.Endpoints(), account.Endpoints(), tax.Endpoints(), report.Endpoints(),
			fee.Endpoints(reservation.RefreshListings), reservation.Endpoints(), []api.Endpoint{}),
		Handlers: onboarding.Handlers(),
	})
}

// Proves: INIT-03, DRY-47, OPS-05, OPS-09, OPS-12.
func TestInitializationIsQueuedAndAddsNothingTwice(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ack := x.Post("/team/init", map[string]any{"template": "standard"}).Want(202)
	if ack.String("type") != "team-initialize" || ack.String("resource.type") != "team" || ack.ID("resource.id") != x.ID {
		t.Errorf("acknowledgement %s", ack.Body)
	}
	x.Work()
	done := x.Get("/operations/" + ack.String("operationId")).Want(200)
	if done.String("status") != "completed" || done.String("resources.0.role") != "target" {
		t.Errorf("operation %s", done.Body)
	}
	first := x.Get("/accounts?limit=250&sort=code").Want(200)
	if first.Int("pagination.total") < 30 {
		t.Errorf("%d accounts", first.Int("pagination.total"))
	}
	x.Post("/team/init", nil).Want(202)
	x.Work()
	x.Patch("/teams/"+x.ID.String()+"/init", map[string]any{}).Want(200)
	if again := x.Get("/accounts?limit=250&sort=code").Want(200); string(again.Body) != string(first.Body) {
		t.Errorf("running it again changed the chart:\n%s\n%s", first.Body, again.Body)
	}
}

func TestSettingsAreCopiedFromATeamWithinReach(t *testing.T) {
	t.Parallel()
	from, to := newTeam(t), newTeam(t)
	from.Patch("/teams/"+from.ID.String()+"/init", map[string]any{}).Want(200)
	from.Post("/tax-rates", map[string]any{"name": "City tax", "basisPoints": 7000}).Want(201)
	accounts := from.Get("/accounts?limit=250&sort=code").Want(200)
	from.Post("/recurring-fees", map[string]any{
		"name": "Commission", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20000, "debitParty": "owners",
		"creditParty": "manager", "debitAccountId": accounts.String("data.0.id"), "creditAccountId": accounts.String("data.1.id"),
	}).Want(201)
	to.Patch("/teams/"+to.ID.String()+"/init", map[string]any{"copyFromTeamId": from.ID}).Want(400).WantIssue("notFound", "copyFromTeamId")
	to.Reach(from.ID)
	for range 2 {
		to.Patch("/teams/"+to.ID.String()+"/init", map[string]any{"copyFromTeamId": from.ID}).Want(200)
	}
	for path, want := range map[string]int64{"/accounts?limit=1": accounts.Int("pagination.total"), "/tax-rates": 1, "/recurring-fees": 1} {
		if got := to.Get(path).Want(200).Int("pagination.total"); got != want {
			t.Errorf("%s: %d rows, want %d", path, got, want)
		}
	}
}

// Proves: INIT-04.
func TestDemoDataBalancesAndRepeats(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ack := x.Post("/team/generate-demo-data", map[string]any{"months": 3, "listings": 2, "seed": 3}).Want(202)
	if ack.String("type") != "team-demo-data" {
		t.Errorf("acknowledgement %s", ack.Body)
	}
	x.Work()
	if done := x.Get("/operations/" + ack.String("operationId")).Want(200); done.String("status") != "completed" {
		t.Fatalf("operation %s", done.Body)
	}
	x.Post("/team/generate-demo-data", nil).Want(400)
	y := newTeam(t)
	var today day.Day
	y.Tx(func(_ context.Context, tx *db.Tx) error { today = day.Of(tx.Now); return nil })
	err := onboarding.FillDemo(t.Context(), y.DB, y.Scope(), onboarding.DemoData{Months: 3, Listings: 2, Seed: 3, Today: today}, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	query := "/reports/trial-balance?startDate=2020&endDate=2040"
	a, b := x.Get(query).Want(200), y.Get(query).Want(200)
	if a.Int("totals.ending") != 0 || a.Int("totals.debit") == 0 {
		t.Errorf("books do not balance: %s", a.Body)
	}
	for i := range a.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		if a.String(at+"account.code") != b.String(at+"account.code") || a.String(at+"ending") != b.String(at+"ending") {
			t.Errorf("the same seed gave %s and %s", a.Value(at+"ending"), b.Value(at+"ending"))
		}
	}
}
