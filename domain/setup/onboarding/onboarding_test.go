package onboarding_test

import (
	"context"
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
	"stayledger/domain/setup/onboarding"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	return apitest.New(t, apitest.Config{
		Endpoints: slices.Concat(onboarding.Part(nil).Endpoints, operation.Part(time.Hour).Endpoints, account.Part(nil).Endpoints, tax.Part().Endpoints, report.Part().Endpoints,
			fee.Part().Endpoints, mapping.Part().Endpoints, reservation.Part().Endpoints, transaction.Part().Endpoints, recurring.Part().Endpoints, layout.Part().Endpoints),
		Handlers: onboarding.Part(nil).Handlers,
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
	layouts := x.Get("/statement-layouts").Want(200)
	if layouts.Int("pagination.total") != 1 || layouts.String("data.0.name") != "Standard" || layouts.String("data.0.isDefault") != "true" {
		t.Errorf("layouts %s", layouts.Body)
	}
	x.Post("/team/init", nil).Want(202)
	x.Work()
	x.Patch("/teams/"+x.ID.String()+"/init", map[string]any{}).Want(200)
	if again := x.Get("/accounts?limit=250&sort=code").Want(200); string(again.Body) != string(first.Body) {
		t.Errorf("running it again changed the chart:\n%s\n%s", first.Body, again.Body)
	}
	if again := x.Get("/statement-layouts").Want(200); string(again.Body) != string(layouts.Body) {
		t.Errorf("running it again changed the layouts:\n%s\n%s", layouts.Body, again.Body)
	}
}

func codesOf(x *apitest.Team) map[string]id.ID {
	codes := map[string]id.ID{}
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		type coded struct {
			ID   id.ID
			Code string
		}
		rows, err := db.Select[coded](ctx, tx, `select id, code from account where team_id = @team and code is not null`, db.Args{"team": tx.Team})
		for _, r := range rows {
			codes[r.Code] = r.ID
		}
		return err
	})
	return codes
}
