package team_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// follower counts how often journals are looked for that follow the team's settings.
type follower struct {
	settings int
	fails    error
}

func followed(t *testing.T) (*apitest.Team, *follower) {
	t.Helper()

	f := &follower{}
	journals := ledger.Sources{{Noun: ledger.Reservations, Touched: func(_ context.Context, _ *db.Tx, b ledger.Basis) ([]id.ID, error) {
		if b.Settings {
			f.settings++
		}

		return nil, f.fails
	}}}

	return apitest.New(t, apitest.Config{Endpoints: team.Part(team.Config{Journals: journals}).Endpoints}), f
}

// retried counts the operations that derive journals.
func retried(x *apitest.Team) (n int64) {
	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from operation where team_id = @team and type = 'reservation-journal-refresh'`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// Proves: DRY-52.
func TestTheBooksAreClosedMovedAndReopened(t *testing.T) {
	t.Parallel()
	x, _ := followed(t)
	today := x.DB.Now().Format("2006-01-02")
	x.Exec(`insert into ledger_stale (team_id, source_id, source, reason, status, held_at, since)
		values (@team, @source, 'reservation', 'feeChanged', 'locked', '2026-02-15', now())`, db.Args{"source": id.New(x.DB.Now())})

	steps := []struct {
		body               object
		closed, soft       string
		reopens            bool // the journal of February 15
		posters, wasClosed string
	}{
		{object{"booksClosedAt": "2026-02-01", "reason": "January is done"}, "2026-02-01", "null", false, "[]", "null"},
		{object{"softClosedAt": "2026-03-01", "softClosePosters": []id.ID{x.User, x.User}, "reason": "February is under review"}, "2026-02-01", "2026-03-01", false, fmt.Sprintf("[%q]", x.User), "2026-02-01"},
		{object{"booksClosedAt": "2026-03-01", "reason": "February is done"}, "2026-03-01", "2026-03-01", false, fmt.Sprintf("[%q]", x.User), "2026-02-01"},
		{object{"booksClosedAt": "2026-04-01", "reason": "So is March"}, "2026-04-01", "null", false, fmt.Sprintf("[%q]", x.User), "2026-03-01"},
		{object{"booksClosedAt": "2026-02-01", "softClosedAt": today, "softClosePosters": []id.ID{}, "reason": "A late bill"}, "2026-02-01", today, false, "[]", "2026-04-01"},
		{object{"softClosePosters": []id.ID{x.User}, "reason": "One more"}, "2026-02-01", today, true, fmt.Sprintf("[%q]", x.User), "2026-02-01"},
		{object{"softClosedAt": nil, "reason": "Enough"}, "2026-02-01", "null", true, fmt.Sprintf("[%q]", x.User), "2026-02-01"},
		{object{"booksClosedAt": nil, "reason": "Start again"}, "null", "null", true, fmt.Sprintf("[%q]", x.User), "2026-02-01"},
	}
	for i, step := range steps {
		before := retried(x)
		r := x.Post("/team/books-closing", step.body).Want(201)

		seen := x.Get("/team").Want(200)
		for field, want := range map[string]string{"booksClosedAt": step.closed, "softClosedAt": step.soft, "softClosePosters": step.posters} {
			if r.String("to."+field) != want || seen.String(field) != want {
				t.Errorf("step %d: %s is %s and %s, want %s", i, field, r.String("to."+field), seen.String(field), want)
			}
		}

		if r.String("from.booksClosedAt") != step.wasClosed || r.ID("actor.userId") != x.User || r.String("reason") != step.body["reason"] {
			t.Errorf("step %d: %s", i, r.Body)
		}

		if n := retried(x) - before; (n == 1) != step.reopens || n > 1 {
			t.Errorf("step %d: journals were tried again %d times", i, n)
		}

		if action := r.Header.Get("X-Service-Audit-Action-Id"); action == "" || r.ID("actionId").TypeID("act") != action {
			t.Errorf("step %d: action %s, header %s", i, r.String("actionId"), action)
		}
	}

	list := x.Get("/team/books-closings?limit=3").Want(200)
	if list.Int("pagination.total") != int64(len(steps)) || list.String("data.0.reason") != "Start again" || list.String("data.2.reason") != "One more" ||
		list.String("data.2.from.softClosePosters") != "[]" {
		t.Errorf("closings %s", list.Body)
	}

	x.Post("/team/books-closing?dryRun=true", object{"booksClosedAt": "2026-02-01", "reason": "r"}).WantError(apierr.CodeBadRequest, "")
}

func TestBadClosingsAreRefused(t *testing.T) {
	t.Parallel()
	x, _ := followed(t)
	now := x.DB.Now()
	day := func(n int) string { return now.AddDate(0, 0, n).Format("2006-01-02") }

	x.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "r"}).Want(201)

	stranger := id.New(now)
	for _, test := range []struct {
		body       object
		code, path string
	}{
		{object{"booksClosedAt": "2026-03-01"}, "required", "reason"},
		{object{"booksClosedAt": "2026-03-01", "reason": ""}, "length", "reason"},
		{object{"booksClosedAt": "2026-03-01", "reason": strings.Repeat("x", 1001)}, "length", "reason"},
		{object{"reason": "r"}, "required", "booksClosedAt"},
		{object{"booksClosedAt": day(2), "reason": "r"}, "dateInFuture", "booksClosedAt"},
		{object{"softClosedAt": day(2), "reason": "r"}, "dateInFuture", "softClosedAt"},
		{object{"softClosedAt": "2026-01-31", "reason": "r"}, "beforeBooksClosed", "softClosedAt"},
		{object{"booksClosedAt": "2026-03-01", "softClosedAt": "2026-02-28", "reason": "r"}, "beforeBooksClosed", "softClosedAt"},
		{object{"softClosePosters": []id.ID{x.User, stranger}, "reason": "r"}, "notFound", "softClosePosters.1"},
		{object{"booksClosedAt": "2026-13-01", "reason": "r"}, "malformed", "booksClosedAt"},
	} {
		r := x.Post("/team/books-closing", test.body).WantError(apierr.CodeBadRequest, "")
		if test.code == "length" || test.code == "malformed" {
			continue // the edge's own words
		}

		r.WantIssue(test.code, test.path)
	}

	x.Post("/team/books-closing", object{"booksClosedAt": day(1), "reason": "Today is done"}).Want(201)
	x.As([]string{"team:write", "team:read"}, nil).Post("/team/books-closing", object{"booksClosedAt": nil, "reason": "r"}).WantError(apierr.CodeForbidden, "")

	if got := x.Get("/team/books-closings").Int("pagination.total"); got != 2 {
		t.Errorf("%d closings", got)
	}

	if got := newTeam(t).Get("/team/books-closings").Int("pagination.total"); got != 0 {
		t.Errorf("another team sees %d closings", got)
	}
}

// Posters are users of the team or of its partner, by membership or by a key that was not revoked; who was named before
// may stay.
func TestSoftClosePostersHaveAccess(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	now := x.DB.Now()
	users := make([]id.ID, 5)

	x.System(func(ctx context.Context, tx *db.Tx) error {
		partner, err := team.Create(ctx, tx, team.New{Name: "Partner", Type: team.Partner, Region: "us"})
		if err != nil {
			return err
		}

		for i := range users {
			users[i] = id.New(now)
			if _, err := tx.Exec(ctx, `insert into access_user (id, kind, name, created_at) values (@id, 'person', 'P', @now)`, db.Args{"id": users[i], "now": tx.Now}); err != nil {
				return err
			}
		}

		const key = `insert into access_key (team_id, id, user_id, name, kind, prefix, hash, scopes, revoked_at, created_at)
			values (@team, gen_random_uuid(), @user, 'K', 'team', 'sk', @user::uuid::text::bytea, '{}', @revoked, now())`

		return tx.Pipeline(ctx,
			db.Stmt{SQL: `update team set partner_id = @partner where id = @team`, Args: db.Args{"partner": partner, "team": x.ID}},
			db.Stmt{
				SQL:  `insert into access_member (team_id, user_id, scopes, created_at) values (@team, @user, '{}', now())`,
				Args: db.Args{"team": x.ID, "user": users[0]},
			},
			db.Stmt{SQL: key, Args: db.Args{"team": x.ID, "user": users[1], "revoked": nil}},
			db.Stmt{SQL: key, Args: db.Args{"team": partner, "user": users[2], "revoked": nil}},
			db.Stmt{SQL: key, Args: db.Args{"team": x.ID, "user": users[3], "revoked": tx.Now}})
	})

	soft := func(posters ...id.ID) *apitest.Response {
		return x.Post("/team/books-closing", object{"softClosedAt": "2026-02-01", "softClosePosters": append([]id.ID{}, posters...), "reason": "r"})
	}
	soft(users[:3]...).Want(201)
	soft(users[3]).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "softClosePosters.0")
	soft(users[4]).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "softClosePosters.0")
	x.Exec(`delete from access_member where team_id = @team`, nil)
	soft(users[0]).Want(201)
	soft().Want(201)
	soft(users[0]).WantError(apierr.CodeBadRequest, "")
}

// Closing waits for the journals of the days that it closes, and for no others.
func TestDaysAreNotClosedOverJournalsThatAreNotDerived(t *testing.T) {
	t.Parallel()
	x, _ := followed(t)
	stay := fixture.Stay(x, fixture.Listing(x, "Villa"), "booked", "2026-03-10", "2026-03-13")
	x.Exec(`insert into ledger_stale (team_id, source_id, source, reason, since) values (@team, @stay, 'reservation', 'feeChanged', now())`, db.Args{"stay": stay})

	closing := func(day any) *apitest.Response {
		return x.Post("/team/books-closing", object{"booksClosedAt": day, "reason": "r"})
	}
	closing("2026-03-10").Want(201)

	status := func(want, reason, action string) {
		t.Helper()

		r := closing("2026-04-01").WantError(apierr.CodeJournalRecalculationPending, "")
		if r.String("context.journalStatus") != want || r.String("context.journalReason") != reason || r.String("context.journalAction") != action ||
			r.Has("retryable") {
			t.Errorf("got %s", r.Body)
		}
	}
	status("stale", "feeChanged", "refresh")
	x.Exec(`update ledger_stale set status = 'failed' where team_id = @team`, nil)
	status("failed", "feeChanged", "refresh")
	x.Exec(`insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at)
		values (@team, @id, 'reservation-journal-refresh', 'queued', @user, 1, now())`, db.Args{"id": id.New(x.DB.Now()), "user": x.User})
	status("recalculating", "feeChanged", "wait")
	// Reopening, the soft close and days before the stay do not wait.
	closing("2026-03-01").Want(201)
	closing("2026-03-05").Want(201)
	x.Post("/team/books-closing", object{"softClosedAt": "2026-04-01", "reason": "r"}).Want(201)
	// What only locks keep from changing is final, while they stand: the days up to April are softly closed.
	x.Exec(`update ledger_stale set status = 'locked' where team_id = @team`, nil)
	status("recalculating", "feeChanged", "wait")
	x.Exec(`update ledger_stale set held_at = '2026-03-10' where team_id = @team`, nil)
	closing("2026-04-01").Want(201)
	// Reopening some days does not wait for what happened to the others.
	x.Exec(`update ledger_stale set status = 'stale' where team_id = @team`, nil)
	closing("2026-03-20").Want(201)
	x.Exec(`update ledger_stale set status = 'locked' where team_id = @team`, nil)
	closing("2026-04-01").Want(201)
}

// What follows a change is part of it: when it fails, nothing has changed.
func TestAChangeIsUndoneWhenWhatFollowsFails(t *testing.T) {
	t.Parallel()
	x, f := followed(t)
	x.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "r"}).Want(201)

	f.fails = errors.New("no")

	x.Put("/team", object{"longTermStayNights": 30}).Want(500)

	f.fails = nil

	if r := x.Get("/team").Want(200); r.String("booksClosedAt") != "2026-02-01" || r.String("longTermStayNights") != "null" {
		t.Errorf("got %s", r.Body)
	}

	f.settings = 0

	x.Put("/team", object{"longTermStayNights": 30, "defaultRevenueRecognition": "proRata"}).Want(200)
	x.Put("/team", object{"longTermStayNights": 30, "name": "Same"}).Want(200)

	if f.settings != 1 {
		t.Errorf("journals were marked %d times", f.settings)
	}
}
