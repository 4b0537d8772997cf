package historic_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
	"stayledger/test/world"
)

const historical = "/statements/historical"

// send starts a bulk import without the harness's dry run, since that has another answer.
func (p *past) send(statements ...any) *apitest.Response {
	p.T.Helper()
	return p.Post(historical+"?dryRun=false", world.Object{"statements": append(world.Array{}, statements...)})
}

func (p *past) staged() (n int64) {
	p.T.Helper()
	p.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from statement_import where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// Proves: HST-54, INIT-34, INIT-35, DRY-24, DRY-25, DRY-44, OPEN-39, OPEN-41.
func TestABulkImport(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	old := p.Post(single, p.month("11", p.line("a", "4000", 7))).Want(201).String("id")
	bodies := world.Array{p.month("11", p.line("a", "4000", 100), payoutLine("b", 10)), p.month("12", p.line("a", "5200", -5))}
	before := p.Fingerprint()

	dry := p.Post(historical+"?dryRun=true", world.Object{"statements": bodies}).Want(200)
	if p.Fingerprint() != before {
		t.Error("the dry run left something behind")
	}

	wantFields(t, dry, map[string]string{
		"data.0.id": old, "data.0.replaced": "true", "data.0.journalEntryCount": "3", "data.0.financials.centBalanceEnd": "90",
		"data.1.uniqueRef": "villa-2025-12", "data.1.replaced": "false", "data.1.financials.centExpenses": "-5",
	})

	ack := p.send(bodies...).Want(202)
	wantFields(t, ack, map[string]string{"type": "historical-statement-import", "status": "queued", "resource.type": "team"})

	if s := p.Get("/statements/" + old).Want(200); s.Int("total") != 7 {
		t.Error("imported before the operation ran")
	}

	p.Work()
	done := p.Get("/operations/" + ack.String("operationId")).Want(200)
	wantFields(t, done, map[string]string{"status": "completed", "resources.1.type": "statement", "resources.1.id": old, "resources.1.role": "result"})

	if done.Len("resources") != 3 || p.staged() != 0 {
		t.Errorf("%d are still staged, and the operation is %s", p.staged(), done.Body)
	}

	list := p.Get("/statements?listingIds=" + p.villa.ID.String() + "&year=2025&sort=startAt").Want(200)
	wantFields(t, list, map[string]string{"data.0.id": old, "data.0.total": "100", "data.1.total": "-5", "pagination.total": "2"})
}

// Proves: OPEN-52.
func TestBulkImportsAreRefused(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	saved := p.Post(single, p.month("12")).Want(201).String("id")
	before := p.Fingerprint()
	r := p.send(p.month("11"), fixture.With(p.month("12"), "uniqueRef", "villa-2025-11")).WantError(apierr.CodeBadRequest, "")
	r.WantIssue("duplicateUniqueRef", "statements.1.uniqueRef")
	p.send(p.month("11"), p.month("10", p.line("a", "4000", 1), p.line("a", "4000", 2))).
		WantError(apierr.CodeBadRequest, "").WantIssue("duplicateLineRef", "statements.1.lines.1.uniqueRef")
	p.send(p.month("11"), p.month("10", p.line("a", "4000", 1, "accountId", p.ada))).
		WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "statements.1.lines.0.accountId")
	p.send(p.month("11"), fixture.With(p.month("10"), "listingId", p.ada)).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "statements.1.listingId")
	p.send(p.month("11"), fixture.With(p.month("10"), "endAt", "2025-11-01")).
		WantError(apierr.CodeConflict, apierr.ReasonStatementExists).WantIssue("statementExists", "statements.0.startAt")
	r = p.send(p.month("11"), fixture.With(p.month("12"), "uniqueRef", "other")).WantError(apierr.CodeConflict, apierr.ReasonStatementExists)
	r.WantIssue("statementExists", "statements.1.startAt")

	if r.String("context.statementIds") != `["`+saved+`"]` {
		t.Errorf("the statement is not named in %s", r.Body)
	}

	p.send().WantError(apierr.CodeBadRequest, "")
	p.As([]string{"statements:read", "statements:write"}, nil).Post(historical, world.Object{"statements": world.Array{p.month("11")}}).
		WantError(apierr.CodeForbidden, "")

	if p.Fingerprint() != before {
		t.Error("a refused import changed something")
	}
}

// Statements that one import replaces can take each other's days.
func TestABulkImportShiftsMonths(t *testing.T) {
	t.Parallel()
	p := newPast(t)

	ids := map[string]string{}
	for i, month := range []string{"09", "10", "11"} {
		ids[month] = p.Post(single, p.month(month, p.line("a", "4000", int64(i+1)))).Want(201).String("id")
	}

	shifted := func(ref, month string, cents int64) world.Object {
		return fixture.With(p.month(month, p.line("a", "4000", cents)), "uniqueRef", "villa-2025-"+ref)
	}
	p.send(shifted("09", "10", 1), shifted("10", "11", 2), shifted("11", "09", 3)).Want(202)
	p.Work()
	list := p.Get("/statements?listingIds=" + p.villa.ID.String() + "&year=2025&sort=startAt").Want(200)
	wantFields(t, list, map[string]string{
		"data.0.id": ids["11"], "data.0.total": "3", "data.1.id": ids["09"], "data.1.total": "1", "data.2.id": ids["10"], "data.2.currency": "usd",
		"pagination.total": "3",
	})
}

// An unfinished import keeps live statements from being published and other imports off its statements.
// Proves: RSN-23.
func TestAnUnfinishedImport(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.Stay(p.villa, "2026-01-09", 100)
	ack := p.send(p.month("11", p.line("a", "4000", 1)), p.month("12")).Want(202)

	january := "/statements/" + p.Statement(p.villa, "2026-01").String()
	for name, r := range map[string]*apitest.Response{
		"publishing":         p.Put(january, world.Object{"status": "published"}),
		"publishing a month": p.Post("/statements", world.Object{"month": "2026-01", "status": "published"}),
		"the same reference": p.Post(single, fixture.With(p.month("10"), "uniqueRef", "villa-2025-11")),
		"the same days":      p.Post(single, fixture.With(p.month("11"), "uniqueRef", "other", "startAt", "2025-11-30")),
		"another bulk":       p.send(p.month("10"), p.month("12")),
	} {
		r.WantError(apierr.CodeConflict, apierr.ReasonHistoricalImportPending)

		if r.String("context.operationIds") != `["`+ack.String("operationId")+`"]` {
			t.Errorf("%s: the operation is not named in %s", name, r.Body)
		}
	}

	p.Post(single, p.month("10")).Want(201) // nothing of the import
	p.Work()
	p.Put(january, world.Object{"status": "published"}).Want(200)
	p.Post(single, p.month("11")).Want(200)
}

// An import that finds another one of the team at work is tried until that has ended, and keeps no change of the team
// waiting meanwhile.
func TestAnImportOutlastsAnother(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	ack := p.send(p.month("11", p.line("a", "4000", 1))).Want(202)

	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)

		p.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('historic statements ' || @id::text, 0))`, db.Args{"id": p.ID.String()})

			close(begun)
			<-end

			return err
		})
	}()

	<-begun

	release := sync.OnceFunc(func() { close(end); <-ended })
	defer release()

	p.Outlast(func(passed time.Duration) {
		if passed > time.Hour {
			release()
		}
	})
	wantFields(t, p.Get("/operations/"+ack.String("operationId")).Want(200), map[string]string{"status": "completed"})
}

// What became impossible meanwhile fails the whole import, and the next one is not held by it.
func TestABulkImportIsAllOrNothing(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	stay := p.Stay(p.villa, "2026-01-09", 100)
	ack := p.send(p.month("11", p.line("a", "4000", 1)), p.month("12", p.line("a", "4000", 1, "reservationId", stay))).Want(202)
	before := p.counts()
	p.Exec(`update listing_ownership_period set start_at = '2025-12-01' where team_id = @team`, nil)
	p.Work()
	failed := p.Get("/operations/" + ack.String("operationId")).Want(200)
	wantFields(t, failed, map[string]string{"status": "failed", "failure.code": "dataChanged"})

	if after := p.counts(); after != before {
		t.Errorf("rows went from %v to %v", before, after)
	}

	p.Exec(`update listing_ownership_period set start_at = null where team_id = @team`, nil)
	p.send(p.month("11", p.line("a", "4000", 1)), p.month("12")).Want(202)
	p.Work()

	if after := p.counts(); after[0] != before[0]+2 || p.staged() != 0 {
		t.Errorf("rows went from %v to %v, %d are staged", before, after, p.staged())
	}
}

// many are statements of as many listings as there are hundreds, with so many lines each.
func (p *past) many(statements, lines int) string {
	p.T.Helper()

	var listings []id.ID

	p.Tx(func(ctx context.Context, tx *db.Tx) error {
		var stmts []db.Stmt

		for n := 0; n < statements; n += 100 {
			l, period := tx.NewID(), tx.NewID()
			listings = append(listings, l)
			stmts = append(stmts,
				db.Stmt{SQL: `insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at)
					values (@team, @listing, @name, @name, 'usd', @now, @now)`, Args: db.Args{"team": tx.Team, "listing": l, "name": l.String(), "now": tx.Now}},
				db.Stmt{
					SQL:  `insert into listing_ownership_period (team_id, id, listing_id, created_at, updated_at) values (@team, @period, @listing, @now, @now)`,
					Args: db.Args{"team": tx.Team, "listing": l, "period": period, "now": tx.Now},
				},
				db.Stmt{
					SQL:  `insert into listing_ownership_member (team_id, period_id, position, contact_id, split) values (@team, @period, 1, @owner, 100000)`,
					Args: db.Args{"team": tx.Team, "period": period, "owner": p.ada},
				})
		}

		return tx.Pipeline(ctx, stmts...)
	})

	var body strings.Builder
	body.WriteString(`{"statements":[`)

	for n := range statements {
		if n > 0 {
			body.WriteByte(',')
		}

		month := time.Date(2010, time.January+time.Month(n%100), 1, 0, 0, 0, 0, time.UTC)
		fmt.Fprintf(&body, `{"uniqueRef":"s%05d","listingId":%q,"startAt":%q,"endAt":%q,"currency":"usd","status":"published","centBalanceStart":0,"lines":[`,
			n, listings[n/100], month.Format(time.DateOnly), month.AddDate(0, 1, -1).Format(time.DateOnly))

		for k := range lines {
			if k > 0 {
				body.WriteByte(',')
			}

			fmt.Fprintf(&body, `{"uniqueRef":"l%02d","type":"line","accountId":%q,"centTotal":%d}`, k, p.Account("4000"), k+1)
		}

		body.WriteString(`]}`)
	}

	body.WriteString(`]}`)

	return body.String()
}

// An import of several rounds of staging and writing, and once more over itself; STAYLEDGER_LARGE tries the largest
// that is accepted.
func TestALargeBulkImport(t *testing.T) {
	t.Parallel()

	p := newPast(t)
	if os.Getenv("STAYLEDGER_LARGE") != "" {
		body := p.many(5000, 40)
		began := time.Now()
		// A dry run does all of the work, and waits for it.
		if n := p.Post(historical+"?dryRun=true", body).Want(200).Len("data"); n != 5000 {
			t.Errorf("%d statements", n)
		}

		t.Logf("%d bytes in %v", len(body), time.Since(began))

		return
	}

	const statements, lines = 600, 20

	body := p.many(statements, lines)
	for range 2 {
		p.Post(historical+"?dryRun=false", body).Want(202)
		p.Work()

		if n := p.counts(); n[0] != statements || n[1] != statements*lines || p.staged() != 0 {
			t.Errorf("rows are %v, %d are staged", n, p.staged())
		}
	}

	r := p.Get("/statements?limit=1&year=2010&sort=startAt").Want(200)
	if r.Int("data.0.total") != lines*(lines+1)/2 {
		t.Errorf("a statement comes to %s", r.Body)
	}
}
