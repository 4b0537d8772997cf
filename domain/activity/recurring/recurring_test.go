package recurring_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"stayledger/domain/activity/recurring"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

const templates = "/transactions/recurring-templates"

// periodic keeps the service from running the templates of a test that wants to run them itself.
var periodic sync.RWMutex

func byHand(t *testing.T) {
	t.Helper()
	periodic.RLock()
	t.Cleanup(periodic.RUnlock)
}

// rent is a monthly bill of 100.00 for the villa, from January on.
func (w *world) rent(pairs ...any) object {
	return fixture.With(object{
		"description": "Pool service", "date": "2026-01-31", "contactId": w.vendor, "pattern": object{"frequency": "monthly"},
		"lines": list{object{
			"accountId": w.accounts["5200"], "amount": 10000, "listingId": w.villa, "appliedAmount": object{"taxRateId": w.tax},
			"markup": object{"amount": 1000},
		}},
	}, pairs...)
}

// made are the dates of the transactions in an answer or, for nil, of those that are stored.
func (w *world) made(r *apitest.Response) string {
	if r == nil {
		r = w.Get("/transactions?sort=date").Want(200)
	}

	var page struct {
		Data []struct{ Date string }
	}
	r.Into(&page)

	out := make([]string, len(page.Data))
	for i := range page.Data {
		out[i] = page.Data[i].Date
	}

	return strings.Join(out, " ")
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)

	made := w.Post(templates, w.rent("uniqueRef", "pool")).Want(201)
	for path, want := range map[string]string{
		"type": "expense", "status": "active", "uniqueRef": "pool", "currency": "usd", "amount": "10000", "account.code": "2200", "contact.name": "Fix-It",
		"paymentStatus": "unpaid", "pattern.frequency": "monthly", "pattern.interval": "1", "pattern.monthDays.0": "31", "pattern.count": "null",
		"patternFormatted": "Every month on day 31", "nextTransactionInstanceAt": "2026-01-31", "instancesCount": "0",
		"lines.0.listing.name": "Villa", "lines.0.total": "12500", "lines.0.markup.amount": "1000", "lines.0.recurringTemplate.id": made.String("id"),
	} {
		if got := made.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	path := templates + "/" + made.String("id")
	if got := w.Get(path).Want(200); string(got.Body) != string(made.Body) {
		t.Errorf("read\n%s\nwritten\n%s", got.Body, made.Body)
	}

	changed := w.Put(path, object{
		"uniqueRef": nil, "description": "Pool", "accountId": w.accounts["1000"], "date": "2026-02-01",
		"pattern": object{"frequency": "weekly", "interval": 2, "weekDays": list{"friday"}, "count": 3},
		"lines":   list{object{"accountId": w.accounts["5200"], "amount": 5000, "listingId": w.villa}},
	}).Want(200)
	if changed.String("uniqueRef") != "null" || changed.String("paymentStatus") != "paid" || changed.Int("amount") != 5000 ||
		changed.String("patternFormatted") != "Every 2 weeks on Friday, 3 times" || changed.String("nextTransactionInstanceAt") != "2026-02-13" {
		t.Errorf("changed %s", changed.Body)
	}

	w.Post(templates, w.rent("uniqueRef", "b", "description", "Another")).Want(201)
	w.Post(templates, w.rent("uniqueRef", "b")).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)

	if got := w.Get(templates + "?search=pool&status=active&type=expense&sort=description").Want(200); got.Int("pagination.total") != 1 {
		t.Errorf("listed %s", got.Body)
	}

	if got := w.Get(templates + "?ids=" + made.String("id")).Want(200); got.String("data.0.description") != "Pool" {
		t.Errorf("listed %s", got.Body)
	}

	w.Delete(path).Want(204)
	w.Get(path).WantError(apierr.CodeNotFound, "")
	newWorld(t).Get(path).WantError(apierr.CodeNotFound, "")
}

func TestRefusedTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pattern := func(pairs ...any) object {
		return w.rent("pattern", fixture.With(object{"frequency": "monthly"}, pairs...))
	}

	tests := map[string]struct {
		body       object
		code, path string
	}{
		"weekdays of a month":         {pattern("weekDays", list{"monday"}), "patternInvalid", "pattern.weekDays"},
		"months of a month":           {pattern("months", list{1}), "patternInvalid", "pattern.months"},
		"days of a week":              {pattern("frequency", "weekly", "monthDays", list{1}), "patternInvalid", "pattern.monthDays"},
		"no such day":                 {pattern("monthDays", list{32}), "patternInvalid", "pattern.monthDays"},
		"day zero":                    {pattern("monthDays", list{0}), "patternInvalid", "pattern.monthDays"},
		"no such month":               {pattern("frequency", "yearly", "months", list{13}), "patternInvalid", "pattern.months"},
		"over at once":                {pattern("endDate", "2026-01-30"), "patternInvalid", "pattern.endDate"},
		"unknown account":             {w.rent("accountId", w.id()), "notFound", "accountId"},
		"unknown contact":             {w.rent("contactId", w.id()), "notFound", "contactId"},
		"a bill that is paid in part": {w.rent("paymentStatus", "underpaid"), "enum", "paymentStatus"},
		"an unpaid purchase":          {w.rent("accountId", w.accounts["1000"], "paymentStatus", "unpaid"), "paymentStatusMismatch", "paymentStatus"},
		"no account":                  {w.rent("lines", list{object{"amount": 1}}), "required", "lines.0.accountId"},
		"two lines":                   {w.rent("type", "transfer", "lines", list{object{"amount": 1}, object{"amount": 1}}), "exactlyOneLine", "lines"},
	}
	for name, test := range tests {
		r := w.Post(templates, test.body)
		if r.Status != 400 || r.Len("issues") != 1 {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
			continue
		}

		r.WantIssue(test.code, test.path)
	}

	w.Post(templates, pattern("interval", 0)).Want(400)
	w.Post(templates, pattern("frequency", "hourly")).Want(400)
	w.Post(templates, w.rent("date", "2025-01-01")).WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate)
}

// Proves: INIT-30, INIT-31, DRY-49, DRY-50, DRY-51, OPEN-43.
func TestRunTemplate(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	today := day.Of(w.DB.Now())
	first := today.Month().Prev().Prev().First()

	w.Exec(`update team set statement_start_at = '2020-01-01' where team_id = @team`, nil)
	template := w.Post(templates, w.rent("date", first.String(), "pattern", object{"frequency": "monthly", "monthDays": list{1}})).Want(201)
	path := templates + "/" + template.String("id")
	due := strings.Join([]string{first.String(), first.Month().Next().First().String(), today.FirstOfMonth().String()}, " ")

	before := w.Fingerprint()

	dry := w.Post(path+"/run?dryRun=true", object{"dates": nil}).Want(200)
	if got := w.made(dry); got != due || dry.Has("operationId") || dry.Has("type") {
		t.Errorf("provisional %s of %s", dry.Body, due)
	}

	if dry.String("data.0.lines.0.recurringTemplate.id") != template.String("id") || dry.String("data.0.recurringTemplateId") != template.String("id") ||
		dry.Int("data.0.lines.0.total") != 12500 || dry.String("data.0.paidStatus") != "unpaid" {
		t.Errorf("provisional %s", dry.Body)
	}

	chosen := w.Put(path+"/run?dryRun=true", object{"dates": list{"2027-05-05", "2027-05-05"}}).Want(200)
	if got := w.made(chosen); got != "2027-05-05" {
		t.Errorf("chosen %s", got)
	}

	if w.Fingerprint() != before || w.made(nil) != "" {
		t.Error("a dry run kept something")
	}

	ack := w.Post(path+"/run?dryRun=false", object{"dates": list{due[:10]}}).Want(202)
	if ack.String("type") != "recurring-transaction-run" || ack.String("resource.type") != "recurring-transaction-template" ||
		ack.String("resource.id") != template.String("id") || ack.Has("data") {
		t.Errorf("acknowledged %s", ack.Body)
	}

	w.Work()

	if got := w.made(nil); got != due[:10] {
		t.Errorf("made %s", got)
	}

	settled := w.Get("/operations/" + ack.String("operationId")).Want(200)
	if settled.String("status") != "completed" || settled.String("resources.1.role") != "result" || settled.String("resources.1.type") != "transaction" {
		t.Errorf("operation %s", settled.Body)
	}

	for range 2 { // the second finds nothing to do
		w.Put(path+"/run?dryRun=false", object{}).Want(202)
		w.Work()

		if got := w.made(nil); got != due {
			t.Errorf("made %s of %s", got, due)
		}
	}

	got := w.Get(path).Want(200)
	if got.Int("instancesCount") != 3 || got.String("nextTransactionInstanceAt") != today.Month().Next().First().String() {
		t.Errorf("template %s", got.Body)
	}

	listed := w.Get("/transactions?sort=date&recurringTemplateId=" + template.String("id")).Want(200)
	if listed.Int("pagination.total") != 3 || w.Get("/transactions?recurringTemplateId="+w.id().String()).Want(200).Int("pagination.total") != 0 {
		t.Errorf("listed %s", listed.Body)
	}
	// A date is not due again when its instance was deleted, but can be made by hand.
	w.Delete("/transactions/" + listed.String("data.0.id")).Want(204)

	if got := w.Post(path+"/run?dryRun=true", object{}).Want(200); got.Len("data") != 0 {
		t.Errorf("due again: %s", got.Body)
	}

	if got := w.Post(path+"/run?dryRun=true", object{"dates": list{due[:10], today.FirstOfMonth().String()}}).Want(200); w.made(got) != due[:10] {
		t.Errorf("by hand: %s", got.Body)
	}

	w.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	w.Delete(path + "?onLocked=archive").Want(204)
	w.Post(path+"/run?dryRun=true", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonTransactionInactive)
	w.Post(path+"/run?dryRun=false", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonTransactionInactive)
	w.Post(templates+"/"+w.id().String()+"/run?dryRun=false", object{}).WantError(apierr.CodeNotFound, "")
}

// What is due of a template from long ago is made a bounded part at a time, and all of it in the end.
func TestRunsAreBounded(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	today := day.Of(w.DB.Now())
	w.Exec(`update team set statement_start_at = '1990-01-01' where team_id = @team`, nil)

	daily := func(from string, lines int) string {
		all := make(list, lines)
		for i := range all {
			all[i] = object{"accountId": w.accounts["5200"], "amount": 1}
		}

		body := w.rent("date", from, "contactId", nil, "pattern", object{"frequency": "daily"}, "lines", all)

		return templates + "/" + w.Post(templates, body).Want(201).String("id")
	}

	w.Post(templates, w.rent("date", "0001-01-01")).WantError(apierr.CodeBadRequest, "").WantIssue("dateOutOfRange", "date")

	ever := w.Post(daily("1990-01-01", 1)+"/run?dryRun=true", object{}).Want(200)
	if ever.Len("data") != 1000 || ever.String("data.999.date") != "1992-09-26" {
		t.Errorf("of a daily template since 1990: %d up to %s", ever.Len("data"), ever.String("data.999.date"))
	}

	long := daily("1990-01-01", 100)
	if got := w.Post(long+"/run?dryRun=true", object{}).Want(200); got.Len("data") != 200 {
		t.Errorf("of a template with 100 lines: %d", got.Len("data"))
	}

	dates := make(list, 201)
	for i := range dates {
		dates[i] = today.AddDays(-i).String()
	}

	for _, dry := range []string{"true", "false"} {
		refused := w.Post(long+"/run?dryRun="+dry, object{"dates": dates}).WantError(apierr.CodeBadRequest, "").WantIssue("tooManyLines", "dates")
		if refused.Int("context.suggestedLimit") != 200 {
			t.Errorf("refused %s", refused.Body)
		}
	}

	path := daily(today.AddDays(-1001).String(), 1) // 1002 dates
	ack := w.Post(path+"/run?dryRun=false", object{}).Want(202)
	w.Work()

	made := w.Get(path).Want(200)
	if made.Int("instancesCount") != 1002 || made.String("nextTransactionInstanceAt") != today.AddDays(1).String() {
		t.Errorf("after %s: %s", w.Get("/operations/"+ack.String("operationId")).Body, made.Body)
	}
}

// However many runs there are at once, a date gets one instance.
func TestRunsTakeTurns(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)

	path := templates + "/" + w.Post(templates, w.rent()).Want(201).String("id")
	for range 6 {
		w.Post(path+"/run?dryRun=false", object{"dates": list{"2026-02-28", "2026-01-31"}}).Want(202)
	}

	w.Work()

	if got := w.made(nil); got != "2026-01-31 2026-02-28" {
		t.Errorf("made %s", got)
	}

	if got := w.Get("/operations?status=completed").Want(200); got.Int("total") != 6 {
		t.Errorf("operations %s", got.Body)
	}
}

// A template that is paid at once pays each bill on its own date.
func TestPaidTemplate(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	path := templates + "/" + w.Post(templates, w.rent("paymentStatus", "paid")).Want(201).String("id")

	got := w.Post(path+"/run?dryRun=true", object{"dates": list{"2026-02-28"}}).Want(200)
	if got.String("data.0.payment.date") != "2026-02-28" || got.ID("data.0.payment.accountId") != w.accounts["1000"] || got.String("data.0.paidStatus") != "paid" {
		t.Errorf("got %s", got.Body)
	}
}

// A transaction can be said to be the instance of a date, once.
func TestInstancesByHand(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)
	template := w.Post(templates, w.rent()).Want(201).String("id")
	body := fixture.With(w.expense("2026-01-31", 100), "recurringTemplateId", template)

	made := w.Post("/transactions", body).Want(201)
	if made.String("recurringAt") != "2026-01-31" {
		t.Errorf("made %s", made.Body)
	}

	w.Post("/transactions", body).WantError(apierr.CodeConflict, "")
	w.Put("/transactions/"+made.String("id"), object{"date": "2026-02-02"}).Want(200)

	if got := w.Get(templates + "/" + template).Want(200); got.String("nextTransactionInstanceAt") != "2026-02-28" || got.Int("instancesCount") != 1 {
		t.Errorf("template %s", got.Body)
	}

	w.Post("/transactions", fixture.With(body, "recurringTemplateId", w.id())).WantIssue("notFound", "recurringTemplateId")
}

// The service makes by itself what is due, and what the books of one team refuse keeps no other from its own.
func TestDueTemplatesRunByThemselves(t *testing.T) {
	t.Parallel()
	periodic.Lock()
	t.Cleanup(periodic.Unlock)
	w, closed := newWorld(t), newWorld(t)
	// What other tests have left is due as well, for months.
	w.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update transaction_template set next_at = null, held_back = '[]'`, nil)
		return err
	})
	yesterday := day.Of(w.DB.Now()).AddDays(-1)

	daily := object{"frequency": "daily", "count": 1}
	for _, x := range []*world{w, closed} {
		x.Post(templates, x.rent("date", yesterday.String(), "pattern", daily)).Want(201)
	}

	later := w.rent("date", yesterday.AddDays(30).String(), "pattern", daily)
	w.Post(templates, later).Want(201)
	fixture.CloseBooks(closed.Team, yesterday.AddDays(10).String())

	for range 2 {
		for _, e := range recurring.Part().Every {
			if err := e.Do(t.Context(), w.DB); err != nil {
				t.Fatal(err)
			}
		}
	}

	if got := w.made(nil); got != yesterday.String() || closed.made(nil) != "" {
		t.Errorf("made %q and %q", got, closed.made(nil))
	}
}

// A page with more lines than an answer can hold is refused with the limit that works; nothing is cut.
func TestPagesOfTemplatesWithTooManyLines(t *testing.T) {
	t.Parallel()
	byHand(t)
	w := newWorld(t)

	lines := make(list, 100)
	for i := range lines {
		lines[i] = object{"assignment": "accountsReceivable", "amount": 1}
	}

	rent := w.Post(templates, w.rent("contactId", nil, "lines", lines, "type", "deposit")).Want(201).ID("id")
	w.Exec(`insert into transaction_template select (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid()))).*
		from transaction_template t, generate_series(1, 219) where t.team_id = @team and t.id = @id`, db.Args{"id": rent})

	if refused := w.Get(templates+"?limit=250").WantIssue("tooManyLines", "limit"); refused.Int("context.suggestedLimit") != 200 {
		t.Errorf("refused %s", refused.Body)
	}

	if got := w.Get(templates + "?limit=200").Want(200); got.Len("data") != 200 {
		t.Errorf("%d templates", got.Len("data"))
	}
}
