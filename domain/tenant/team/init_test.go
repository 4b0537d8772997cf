package team_test

import (
	"slices"
	"testing"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/recurring"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/tax"
	"stayledger/domain/record/operation"
	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apitest"
	"stayledger/platform/parts"
)

// nouns are those that bring something to a new team.
var nouns = parts.Copies(account.Part(nil), tax.Part(), fee.Part(), mapping.Part(), layout.Part())

func newFilled(t *testing.T) *apitest.Team {
	t.Helper()

	return apitest.New(t, apitest.Config{
		Endpoints: parts.Join(team.Part(team.Config{}, nouns...), operation.Part(time.Hour), account.Part(nil), tax.Part(), report.Part(nil), fee.Part(), mapping.Part(), reservation.Part(), transaction.Part(), recurring.Part(), layout.Part()).Endpoints,
		Handlers:  team.Part(team.Config{}, nouns...).Handlers,
	})
}

// Every part that callers can choose is brought by a noun.
func TestEveryPartIsBroughtByANoun(t *testing.T) {
	t.Parallel()

	var names []string
	for _, n := range nouns {
		names = append(names, n.Name)
	}

	for _, name := range team.Copied("").Enum() {
		if !slices.Contains(names, name) {
			t.Errorf("no noun brings %s", name)
		}
	}
}

// Proves: INIT-03, DRY-47, OPS-05, OPS-09, OPS-12, OPEN-38.
func TestInitializationIsQueuedAndAddsNothingTwice(t *testing.T) {
	t.Parallel()
	x := newFilled(t)

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

	layouts := x.Get("/statement-layouts").Want(200)
	if layouts.Int("pagination.total") != 1 || layouts.String("data.0.name") != "Standard" || layouts.String("data.0.isDefault") != "true" {
		t.Errorf("layouts %s", layouts.Body)
	}

	x.Post("/team/init", nil).Want(202)
	x.Work()

	if now := x.Patch("/teams/"+x.ID.String()+"/init", map[string]any{}).Want(200); now.ID("id") != x.ID || now.Has("operationId") {
		t.Errorf("initialized in the request: %s", now.Body)
	}

	if again := x.Get("/accounts?limit=250&sort=code").Want(200); string(again.Body) != string(first.Body) {
		t.Errorf("running it again changed the chart:\n%s\n%s", first.Body, again.Body)
	}

	if again := x.Get("/statement-layouts").Want(200); string(again.Body) != string(layouts.Body) {
		t.Errorf("running it again changed the layouts:\n%s\n%s", layouts.Body, again.Body)
	}
}
