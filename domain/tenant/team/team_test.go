package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	return apitest.New(t, apitest.Config{Endpoints: team.Part(team.Config{}).Endpoints})
}

func TestTheSelectedTeamIsRead(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	r := x.Get("/team").Want(200)
	for path, want := range map[string]string{
		"id": x.ID.String(), "type": "propertyManager", "status": "active", "name": "Test team", "dataRegion": "us", "defaultCurrency": "usd",
		"defaultRevenueRecognition": "checkIn", "isGeneralLedger": "true", "statementStartAt": "2026-01-01", "effectiveStatementStartAt": "2026-01-01",
		"isOnboarding": "false", "partner": "null", "companyName": "null", "booksClosedAt": "null",
		"softClosedAt": "null", "softClosePosters": "[]",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	x.As([]string{"team:write"}, nil).Get("/team").WantError(apierr.CodeForbidden, "")
}

func TestATeamBeginsOnADayThatRequestsMayName(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	for first, ok := range map[string]bool{"0001-01-01": false, "1989-12-31": false, "1990-01-01": true, "2999-01-01": false} {
		start, err := day.Parse(first)
		if err != nil {
			t.Fatal(err)
		}

		err = x.DB.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			_, err := team.Create(ctx, tx, team.New{Name: "Early", Type: team.PropertyManager, Region: "us", StatementStartAt: &start})
			return err
		})
		if (err == nil) != ok {
			t.Errorf("a team whose statements begin on %s: %v", first, err)
		}
	}
}

func TestATeamNamesItsPartner(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	var partner, customer id.ID

	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		if partner, err = team.Create(ctx, tx, team.New{Name: "Harbour", Type: team.Partner, Region: "us"}); err != nil {
			return err
		}

		if _, err = tx.Exec(ctx, `update team set partner_id = @partner where id = @team`, db.Args{"partner": partner, "team": x.ID}); err != nil {
			return err
		}

		customer, err = team.Create(ctx, tx, team.New{Name: "Other", Type: team.PropertyManager, Region: "us", PartnerID: partner, Currency: "eur"})

		return err
	})

	r := x.Get("/team").Want(200)
	if r.ID("partner.id") != partner || r.String("partner.name") != "Harbour" {
		t.Errorf("partner: %s", r.Body)
	}

	if w := x.Put("/team", object{"name": "Renamed"}).Want(200); w.String("partner.name") != "Harbour" || w.String("name") != "Renamed" {
		t.Errorf("changed: %s", w.Body)
	}
	// The visit to the partner's row ends before anything else is read.
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := team.Read(ctx, tx); err != nil {
			return err
		}

		seen, err := db.Select[id.ID](ctx, tx, `select id from team`, nil)
		if !slices.Equal(seen, []id.ID{x.ID}) {
			t.Errorf("after the visit %v are in sight", seen)
		}

		return err
	})

	var made *team.Team

	err := x.DB.Read(t.Context(), db.Scope{Team: customer}, func(ctx context.Context, tx *db.Tx) (err error) {
		made, err = team.Read(ctx, tx)
		return err
	})
	if err != nil || made.DefaultCurrency != "eur" || made.Type != team.PropertyManager || made.Partner.Name != "Harbour" {
		t.Errorf("made: %+v, %v", made, err)
	}
}

func TestSettingsChangeClearAndStay(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	full := object{
		"name": "New name", "companyName": "Shore Ltd", "email": "a@example.com", "supportEmail": "b@example.com", "phone": "+1 555 0100", "taxId": "12-3",
		"defaultRevenueRecognition": "proRata", "longTermStayNights": 30, "statementStartAt": "2026-03-01", "ownerPortalShowDraftStatements": true,
		"statementAddress": object{"line1": "1 Shore Road", "city": "Harbour"}, "billingAddress": object{"full": "2 Shore Road"},
	}
	created := x.Get("/team").Want(200).String("createdAt")
	holds := func(r *apitest.Response, want object) {
		t.Helper()

		for field, value := range want {
			if got := r.Value(field); !equal(t, got, value) {
				t.Errorf("%s is %v, want %v", field, got, value)
			}
		}
	}
	r := x.Put("/team", full).Want(200)
	holds(r, full)
	holds(x.Get("/team").Want(200), full)

	if r.String("updatedAt") < created || r.String("createdAt") != created || r.String("effectiveStatementStartAt") != "2026-03-01" {
		t.Errorf("changed: %s", r.Body)
	}

	holds(x.Put("/team", object{}).Want(200), full)

	cleared := object{"companyName": nil, "email": nil, "phone": nil, "longTermStayNights": nil, "statementAddress": nil}
	r = x.Put("/team", cleared).Want(200)
	holds(r, cleared)
	holds(r, object{"name": "New name", "supportEmail": "b@example.com", "taxId": "12-3", "billingAddress": full["billingAddress"]})
}

func equal(t *testing.T, a, b any) bool {
	t.Helper()

	one, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}

	two, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}

	return string(one) == string(two)
}

func TestBadSettingsAreRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	long := strings.Repeat("x", 600)
	for path, body := range map[string]object{
		"name": {"name": ""}, "companyName": {"companyName": long}, "email": {"email": "nobody"}, "supportEmail": {"supportEmail": "@"}, "phone": {"phone": long},
		"taxId": {"taxId": ""}, "defaultRevenueRecognition": {"defaultRevenueRecognition": "never"}, "longTermStayNights": {"longTermStayNights": 0},
		"statementStartAt": {"statementStartAt": "2026-02-30"}, "statementAddress.city": {"statementAddress": object{"city": long}},
		"billingAddress.town": {"billingAddress": object{"town": "x"}}, "status": {"status": "deleted"}, "booksClosedAt": {"booksClosedAt": "2026-01-01"},
		"softClosedAt":                   {"softClosedAt": "2026-01-01"},
		"ownerPortalShowDraftStatements": {"ownerPortalShowDraftStatements": "yes"},
	} {
		r := x.Put("/team", body).WantError(apierr.CodeBadRequest, "")
		if got := r.String("issues.0.path"); got != `["`+strings.ReplaceAll(path, ".", `","`)+`"]` {
			t.Errorf("%s: issue at %s", path, got)
		}
	}

	for _, date := range []string{"0001-01-01", "1989-12-31", "9999-12-31"} {
		x.Put("/team", object{"statementStartAt": date}).WantError(apierr.CodeBadRequest, "").WantIssue("dateOutOfRange", "statementStartAt")
	}

	x.Put("/team", object{"name": nil}).WantError(apierr.CodeBadRequest, "")
	x.Put("/team", object{"longTermStayNights": 3651}).WantError(apierr.CodeBadRequest, "")
	x.As([]string{"team:read"}, nil).Put("/team", object{}).WantError(apierr.CodeForbidden, "")

	if got := x.Get("/team").Want(200).String("name"); got != "Test team" {
		t.Errorf("name %s", got)
	}
}

// Changes of different fields at the same time all land.
func TestConcurrentChangesDoNotUndoEachOther(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	fields := []string{"companyName", "phone", "taxId", "email", "supportEmail"}

	for round := range 5 {
		value := string(rune('a'+round)) + "@example.com"

		var all sync.WaitGroup

		answers := make([]*apitest.Response, len(fields))
		for i, f := range fields {
			all.Go(func() { answers[i] = x.Put("/team", object{f: value}) })
		}

		all.Wait()

		r := x.Get("/team").Want(200)
		for i, f := range fields {
			if answers[i].Want(200); r.String(f) != value {
				t.Fatalf("%s is %s, want %s", f, r.String(f), value)
			}
		}
	}
}

func TestATeamThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	err := x.DB.Read(t.Context(), db.Scope{Team: id.New(x.DB.Now())}, func(ctx context.Context, tx *db.Tx) error {
		_, err := team.Read(ctx, tx)
		return err
	})
	if !errors.Is(err, apierr.NotFound) {
		t.Errorf("read: %v", err)
	}
}
