package books_test

import (
	"context"
	"testing"

	"stayledger/domain/activity/mapping"
	chart "stayledger/domain/books/account"
	"stayledger/platform/apierr"
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

// A stay of a team without a general ledger is kept with its sums and posts nothing, by whatever changes it.
//
// Proves: RSN-21.
func TestStaysOfATeamWithoutALedgerPostNothing(t *testing.T) {
	t.Parallel()

	x := newLegacyTeam(t)
	owner := x.Post("/contacts", object{"type": "owner", "name": "Ann"}).Want(201).ID("id")
	house := x.Post("/listings", object{"name": "House"}).Want(201).ID("id")
	x.Post("/listings/ownership-periods", object{"listingId": house, "members": list{object{"contactId": owner, "split": 100000}}}).Want(201)

	// 500.00 of rent and 80.00 for cleaning are 580.00.
	made := x.Post("/reservations", object{
		"listingId": house, "checkIn": "2026-02-10", "checkOut": "2026-02-12",
		"lines": list{object{"type": "rent", "amount": 50000}, object{"type": "cleaningFee", "amount": 8000}},
	}).Want(201)
	stay := "/reservations/" + made.String("id")
	want := object{
		"generalLedgerStatus": "inactive", "generalLedgerInactiveReason": "generalLedgerDisabled", "journalStatus.status": "current",
		"issues": list{}, "financials.total": 58000,
	}
	made.WantFields("", want)
	x.Get(stay).Want(200).WantFields("", want)

	if n := x.Get("/reservations?generalLedgerStatus=inactive").Want(200).Len("data"); n != 1 {
		t.Errorf("the list of inactive stays has %d", n)
	}

	// Without cleaning, 500.00; in another house of another owner; canceled.
	want["financials.total"] = 50000
	x.Put(stay, object{"lines": list{object{"type": "rent", "amount": 50000}}}).Want(200).WantFields("", want)
	other := x.Post("/listings", object{"name": "Barn"}).Want(201).ID("id")
	x.Put(stay, object{"listingId": other}).Want(200)
	x.Put("/team", object{"defaultRevenueRecognition": "checkOut"}).Want(200)
	x.Work()

	want["financials.total"] = 0
	x.Put(stay, object{"status": "canceled"}).Want(200).WantFields("", want)
	wantRows(t, x, map[string]int{"reservation": 1, "ledger_entry": 0, "reservation_line_mapping": 0, "ledger_stale": 0})

	// A chart from an earlier time changes nothing.
	y := newLegacyTeam(t)
	y.Tx(chart.InstallStandard)
	y.Tx(mapping.InstallStandard)
	y.Post("/reservations", object{
		"listingId": y.Post("/listings", object{"name": "House"}).Want(201).ID("id"), "checkIn": "2026-02-20", "checkOut": "2026-02-22",
		"lines": list{object{"type": "rent", "amount": 10000}},
	}).Want(201).WantFields("", object{"generalLedgerInactiveReason": "generalLedgerDisabled", "financials.total": 10000})
	wantRows(t, y, map[string]int{"reservation": 1, "ledger_entry": 0})

	x.Get(stay+"/journal-preview").WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
	x.Post("/reservations/journal-entries", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
}
