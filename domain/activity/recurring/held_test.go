package recurring_test

import (
	"context"
	"slices"
	"testing"

	"stayledger/domain/activity/recurring"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/test/fixture"
	whole "stayledger/test/world"
)

// heldBack lists what a template or a dry run says of dates that are held back: each date with its reason.
func heldBack(r *apitest.Response) []string {
	var got struct {
		HeldBack []struct{ Date, Reason string }
	}
	r.Into(&got)

	out := []string{}
	for _, h := range got.HeldBack {
		out = append(out, h.Date+" "+h.Reason)
	}

	return out
}

// wantHeldBack fails unless exactly these dates are held back.
func wantHeldBack(t *testing.T, when string, r *apitest.Response, want ...string) {
	t.Helper()

	if got := heldBack(r); !slices.Equal(got, want) {
		t.Errorf("%s: held back %q, want %q in %s", when, got, want, r.Body)
	}
}

// monthly is a template of the villa that began two months ago, with its dates up to today.
func (w *world) monthly(pairs ...any) (path string, dates [3]string) {
	w.T.Helper()
	month := day.Of(w.DB.Now()).Month()
	first := month.Prev().Prev().First()
	dates = [3]string{first.String(), month.Prev().First().String(), month.First().String()}
	body := w.rent("date", first.String(), "pattern", object{"frequency": "monthly", "monthDays": list{1}})

	return templates + "/" + w.Post(templates, fixture.With(body, pairs...)).Want(201).String("id"), dates
}

// run makes what is due and returns the template as it is afterwards.
func (w *world) run(path string, body object) *apitest.Response {
	w.T.Helper()
	ack := w.Post(path+"/run?dryRun=false", body).Want(202)
	w.Work()

	if o := w.Get("/operations/" + ack.String("operationId")).Want(200); o.String("status") != "completed" {
		w.T.Errorf("the run %s", o.Body)
	}

	return w.Get(path).Want(200)
}

// closeBooks closes and opens the books as a user does: at is the first open day, nil for all.
func (w *world) closeBooks(at any) {
	w.T.Helper()
	w.Post("/team/books-closing", object{"booksClosedAt": at, "reason": "A test"}).Want(201)
}

// Decided on 2026-11-25: each date of a recurring template by itself.
func TestAPublishedMonthHoldsBackOneDate(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	path, dates := w.monthly()
	villa := whole.Listing{ID: w.villa, Period: w.Get("/listings/ownership-periods?listingIds=" + w.villa.String()).Want(200).ID("data.0.id")}
	w.Publish(dates[0][:7], villa)

	// The published month holds back its date alone, in the dry run as in the run.
	dry := w.Post(path+"/run?dryRun=true", object{"dates": nil}).Want(200)
	if got := w.made(dry); got != dates[1]+" "+dates[2] {
		t.Errorf("provisional %q", got)
	}

	wantHeldBack(t, "in the dry run", dry, dates[0]+" statementPeriod")

	template := w.run(path, object{"dates": nil})
	if got := w.made(nil); got != dates[1]+" "+dates[2] {
		t.Errorf("made %q", got)
	}

	wantHeldBack(t, "after the run", template, dates[0]+" statementPeriod")

	statement := w.Statement(villa, dates[0][:7])
	if template.String("heldBack.0.context.lockReason") != "statement" || template.ID("heldBack.0.context.statementIds.0") != statement ||
		template.String("heldBack.0.code") != string(apierr.CodeForbidden) || template.String("heldBack.0.triedAt") == "null" {
		t.Errorf("the lock is %s", template.String("heldBack.0"))
	}

	// The team says so too, and names the template.
	issue := w.Get("/team").Want(200)
	if issue.String("issues.0.code") != "recurringDatesHeldBack" || issue.String("issues.0.severity") != "warning" ||
		issue.Int("issues.0.context.count") != 1 || issue.ID("issues.0.context.recurringTemplateIds.0") != template.ID("id") {
		t.Errorf("the team's issues are %s", issue.String("issues"))
	}

	// When the statement goes, the date is made without anybody asking, and is no concern any more.
	w.Put("/statements/"+statement.String(), object{"status": "draft"}).Want(200)
	w.Work()

	if got := w.made(nil); got != dates[0]+" "+dates[1]+" "+dates[2] {
		t.Errorf("made %q after the statement was withdrawn", got)
	}

	wantHeldBack(t, "after the statement was withdrawn", w.Get(path).Want(200))

	if issues := w.Get("/team").Want(200); issues.Len("issues") != 0 {
		t.Errorf("the team's issues are %s", issues.String("issues"))
	}
}

func TestReopenedBooksMakeWhatTheyHeldBack(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	path, dates := w.monthly()
	w.closeBooks(dates[2])
	wantHeldBack(t, "under closed books", w.run(path, object{}), dates[0]+" booksClosed", dates[1]+" booksClosed")

	if got := w.made(nil); got != dates[2] {
		t.Errorf("made %q under closed books", got)
	}

	w.closeBooks(dates[1])
	w.Work()

	if got := w.made(nil); got != dates[1]+" "+dates[2] {
		t.Errorf("made %q after a month was reopened", got)
	}

	wantHeldBack(t, "after a month was reopened", w.Get(path).Want(200), dates[0]+" booksClosed")
}

func TestADateThatIsHeldBackCanBeSkipped(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	path, dates := w.monthly()
	next := day.Of(w.DB.Now()).Month().Next()
	fixture.CloseBooks(w.Team, dates[2])
	w.run(path, object{})
	before := w.Get(path).Want(200)

	// Somebody does not want the first date, nor the next one to come.
	skipped := w.Put(path, object{"skippedDates": list{next.First().String(), dates[0], dates[0]}}).Want(200)
	wantHeldBack(t, "after skipping", skipped, dates[1]+" booksClosed")

	if skipped.String("skippedDates") != `["`+dates[0]+`","`+next.First().String()+`"]` ||
		skipped.String("nextTransactionInstanceAt") != next.Next().First().String() || before.String("skippedDates") != "[]" {
		t.Errorf("skipped %s", skipped.Body)
	}

	if issue := w.Get("/team").Want(200); issue.Int("issues.0.context.count") != 1 {
		t.Errorf("the team's issues are %s", issue.String("issues"))
	}

	w.closeBooks(nil)
	w.Work()

	if got := w.made(nil); got != dates[1]+" "+dates[2] {
		t.Errorf("made %q, though the first date is skipped", got)
	}

	// Whoever names the date in a run wants it after all.
	if got := w.made(w.Post(path+"/run?dryRun=true", object{"dates": list{dates[0]}}).Want(200)); got != dates[0] {
		t.Errorf("by name: %q", got)
	}

	if cleared := w.Put(path, object{"skippedDates": nil}).Want(200); cleared.String("nextTransactionInstanceAt") != next.First().String() {
		t.Errorf("cleared %s", cleared.Body)
	}

	created := w.Post(templates, w.rent("skippedDates", list{"2026-01-31"})).Want(201)
	if created.String("nextTransactionInstanceAt") != "2026-02-28" {
		t.Errorf("created %s", created.Body)
	}
}

// A date is not held back any more when somebody has made its transaction by hand meanwhile.
func TestADateThatWasMadeByHandIsNotHeldBack(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	path, dates := w.monthly()
	fixture.CloseBooks(w.Team, dates[1])
	template := w.run(path, object{})
	wantHeldBack(t, "after the run", template, dates[0]+" booksClosed")
	fixture.CloseBooks(w.Team, "")
	w.Post("/transactions", fixture.With(w.expense(dates[0], 100), "recurringTemplateId", template.ID("id"))).Want(201)
	wantHeldBack(t, "made by hand", w.Get(path).Want(200))
	wantHeldBack(t, "made by hand", w.run(path, object{}))

	if got := w.Get("/transactions").Want(200).Int("pagination.total"); got != 3 {
		t.Errorf("%d transactions", got)
	}

	if issues := w.Get("/team").Want(200); issues.Len("issues") != 0 {
		t.Errorf("the team's issues are %s", issues.String("issues"))
	}
}

// Of dates that a run names, locks hold back theirs; any other fault is one of the request, and nothing is made.
func TestNamedDates(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	path, _ := w.monthly()
	fixture.CloseBooks(w.Team, "2026-03-01")

	mixed := object{"dates": list{"2026-02-28", "2026-03-31"}}

	dry := w.Post(path+"/run?dryRun=true", mixed).Want(200)
	if got := w.made(dry); got != "2026-03-31" {
		t.Errorf("provisional %q", got)
	}

	wantHeldBack(t, "in the dry run", dry, "2026-02-28 booksClosed")
	wantHeldBack(t, "after the run", w.run(path, mixed), "2026-02-28 booksClosed")

	if got := w.made(nil); got != "2026-03-31" {
		t.Errorf("made %q", got)
	}

	bad := object{"dates": list{"2026-04-01", "2025-01-01"}}
	w.Post(path+"/run", bad).WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate)
	w.Work()

	if got := w.made(nil); got != "2026-03-31" {
		t.Errorf("made %q of a bad request", got)
	}
}

// More dates than a task makes are all tried in turn, however many are held back before them.
func TestHeldDatesTakeTurns(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	today := day.Of(w.DB.Now())

	lines := make(list, 1000) // so that a task makes 20
	for i := range lines {
		lines[i] = object{"accountId": w.accounts["5200"], "amount": 1}
	}

	first := today.AddDays(-21)
	body := w.rent("date", first.String(), "contactId", nil, "pattern", object{"frequency": "daily", "count": 22}, "lines", lines)
	path := templates + "/" + w.Post(templates, body).Want(201).String("id")
	fixture.CloseBooks(w.Team, today.AddDays(1).String())

	if got := heldBack(w.run(path, object{})); len(got) != 22 {
		t.Errorf("%d of 22 dates are held back", len(got))
	}

	w.closeBooks(today.AddDays(-2).String())
	w.Work()

	if got := w.Get(path).Want(200); got.Int("instancesCount") != 3 || len(heldBack(got)) != 19 {
		t.Errorf("%d were made and %d are held back", got.Int("instancesCount"), len(heldBack(got)))
	}
}

// The service tries dates that are held back once a day, and makes new ones meanwhile.
func TestHeldDatesAreTriedDaily(t *testing.T) {
	t.Parallel()
	periodic.Lock()
	t.Cleanup(periodic.Unlock)
	w := newWorld(t)
	// What other tests have left is due as well, for months.
	w.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update transaction_template set next_at = null, held_back = '[]'`, nil)
		return err
	})

	round := func() {
		t.Helper()

		for _, e := range recurring.Part().Every {
			if err := e.Do(t.Context(), w.DB); err != nil {
				t.Fatal(err)
			}
		}
	}
	path, dates := w.monthly()
	fixture.CloseBooks(w.Team, dates[1])
	round()

	if got := w.made(nil); got != dates[1]+" "+dates[2] {
		t.Errorf("made %q by itself", got)
	}

	wantHeldBack(t, "by itself", w.Get(path).Want(200), dates[0]+" booksClosed")

	// The books are open again without anybody having said so.
	fixture.CloseBooks(w.Team, "")

	for _, c := range []struct{ age, want string }{
		{"23 hours", dates[1] + " " + dates[2]},
		{"25 hours", dates[0] + " " + dates[1] + " " + dates[2]},
	} {
		w.Exec(`update transaction_template set failed_at = now() - @age::text::interval where team_id = @team`, db.Args{"age": c.age})
		round()

		if got := w.made(nil); got != c.want {
			t.Errorf("%s later: made %q, want %q", c.age, got, c.want)
		}
	}

	wantHeldBack(t, "a day later", w.Get(path).Want(200))
}
