package books_test

import (
	"context"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// newLegacyTeam returns a fresh team that keeps no general ledger.
func newLegacyTeam(t *testing.T) *apitest.Team {
	t.Helper()

	w := world.New(t)
	x := w.In(id.New(w.DB.Now()))
	x.Exec(`insert into team (id, type, name, region, created_at, updated_at) values (@team, 'propertyManager', 'Old', 'us', now(), now())`, nil)
	x.KeepLedger(false)

	return x
}

// wantRows compares how many rows of the team tables have.
func wantRows(t *testing.T, x *apitest.Team, want map[string]int) {
	t.Helper()

	for table, n := range want {
		x.Tx(func(ctx context.Context, tx *db.Tx) error {
			got, err := db.Get[int](ctx, tx, `select count(*) from `+table+` where team_id = @team`, db.Args{"team": x.ID})
			if got != n {
				t.Errorf("%d rows of %s, want %d", got, table, n)
			}

			return err
		})
	}
}

// A team without a general ledger is initialized without a chart and all that needs one, at once and in an operation,
// and whatever the request asks for.
//
// Proves: RSN-21.
func TestInitializingATeamWithoutALedgerMakesNoBooks(t *testing.T) {
	t.Parallel()

	x := newLegacyTeam(t)
	x.Post("/team/init", nil).Want(202)
	x.Work()
	x.Patch("/teams/"+x.ID.String()+"/init", object{"include": list{"accounts", "lineMappings", "taxRates", "recurringFees"}}).Want(200)

	if got := x.Get("/team").Want(200); got.String("isGeneralLedger") != "false" || got.String("initializedAt") == "null" {
		t.Errorf("the team is %s", got.Body)
	}

	wantRows(t, x, map[string]int{
		"account": 0, "account_category": 0, "account_assignment": 0, "reservation_line_mapping": 0, "tax_rate": 0, "fee": 0, "layout": 1,
	})

	// A team with books that is copied leaves them behind, too.
	books := world.New(t)
	x.Reach(books.ID)
	x.Patch("/teams/"+x.ID.String()+"/init", object{"copyFromTeamId": books.ID}).Want(200)
	wantRows(t, x, map[string]int{"account": 0, "reservation_line_mapping": 0})
}
