package transaction_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// listed are the descriptions on the first page of a list.
func listed(w *world, pairs ...string) []string {
	r := w.Get(fixture.Query("/transactions", pairs...)).Want(200)

	var page struct {
		Data []struct{ Description *string }
	}
	r.Into(&page)

	out := []string{}

	for _, row := range page.Data {
		if row.Description == nil {
			out = append(out, "null")
		} else {
			out = append(out, *row.Description)
		}
	}

	return out
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	add := func(body object) (one id.ID, shortRef string) {
		r := w.Post("/transactions", body).Want(201)
		return r.ID("id"), r.String("shortRef")
	}
	guest, _ := add(fixture.With(w.deposit("2026-01-10", 300), "description", "guest", "uniqueRef", "G-1"))
	_, repairRef := add(fixture.With(w.expense("2026-02-20", 200), "description", "repair 100%", "contactId", w.vendor))
	add(object{
		"type": "payout", "date": "2026-03-01", "description": "payout",
		"lines": list{object{"amount": 100, "listingId": w.villa, "contactId": w.owner}},
	})
	old, _ := add(fixture.With(w.deposit("2026-03-02", 50), "description", "archived"))
	w.Delete("/transactions/" + old.String() + "?onLocked=archive").Want(204)
	add(fixture.With(w.deposit("2025-12-31", 400), "description", "opening", "isOpeningBalance", true, "lines",
		list{object{"assignment": "openingBalance", "amount": 400, "listingId": w.listingWithOwner("Other")}}))

	tests := map[string]struct {
		query []string
		want  string
	}{
		"newest date first":   {nil, "archived payout repair 100% guest opening"},
		"oldest date first":   {[]string{"sort", "date"}, "opening guest repair 100% payout archived"},
		"largest first":       {[]string{"sort", "-amount"}, "opening guest repair 100% payout archived"},
		"smallest first":      {[]string{"sort", "amount"}, "archived payout repair 100% guest opening"},
		"newest row first":    {[]string{"sort", "-createdAt"}, "opening archived payout repair 100% guest"},
		"by description":      {[]string{"sort", "description"}, "archived guest opening payout repair 100%"},
		"type":                {[]string{"type", "expense"}, "repair 100%"},
		"types":               {[]string{"type", "expense,payout"}, "payout repair 100%"},
		"status":              {[]string{"status", "inactive"}, "archived"},
		"opening balances":    {[]string{"isOpeningBalance", "true"}, "opening"},
		"no opening balances": {[]string{"isOpeningBalance", "false", "status", "active"}, "payout repair 100% guest"},
		"line account":        {[]string{"accountId", w.accounts["5200"].String()}, "repair 100%"},
		"contact":             {[]string{"contactId", w.vendor.String()}, "repair 100%"},
		"line contact":        {[]string{"contactId", w.owner.String()}, "payout"},
		"listing":             {[]string{"listingIds", w.villa.String(), "status", "active"}, "payout repair 100% guest"},
		"unique reference":    {[]string{"uniqueRefs", "G-1,G-2"}, "guest"},
		"short reference":     {[]string{"shortRefs", repairRef}, "repair 100%"},
		"ids":                 {[]string{"ids", guest.String()}, "guest"},
		"search description":  {[]string{"search", "PAIR"}, "repair 100%"},
		"search reference":    {[]string{"search", "g-1"}, "guest"},
		"search contact":      {[]string{"search", "fix"}, "repair 100%"},
		"search is literal":   {[]string{"search", "0%"}, "repair 100%"},
		"search wildcard":     {[]string{"search", "r%r"}, ""},
		"one amount":          {[]string{"amount", "200"}, "repair 100%"},
		"amounts":             {[]string{"amount", "100...200"}, "payout repair 100%"},
		"no connection":       {[]string{"connectionId", "null", "type", "payout"}, "payout"},
		"a connection":        {[]string{"connectionIds", guest.String()}, ""},
		"month":               {[]string{"dateRange", "2026-02"}, "repair 100%"},
	}
	for name, test := range tests {
		if got := strings.Join(listed(w, test.query...), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}

	for _, bad := range [][]string{
		{"amount", "1..2"},
		{"amount", "200...100"},
		{"amount", "x"},
		{"connectionId", "none"},
		{"type", "gift"},
		{"sort", "-contact"},
		{"status", "all"},
		{"ids", "x"},
		{"limit", "0"},
	} {
		w.Get(fixture.Query("/transactions", bad...)).WantError(apierr.CodeBadRequest, "")
	}
}

func TestListFiltersOfState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	add := func(name string, body object) id.ID {
		return w.Post("/transactions", fixture.With(body, "description", name)).Want(201).ID("id")
	}

	w.Exec(`update account set banking_last4 = case code when '1000' then '1111' else '2222' end where team_id = @team and type = 'bank'`, nil)
	early := add("early", w.deposit("2026-01-10", 300))
	open := add("open", fixture.With(w.expense("2026-02-20", 200), "accountId", w.accounts["2200"]))
	add("paid", fixture.With(w.expense("2026-02-21", 100), "accountId", w.accounts["2200"], "payment", object{"date": "2026-03-05", "accountId": w.accounts["1010"]}))
	add("empty", w.deposit("2026-03-10", 0))
	owner := add("owner", w.expense("2026-04-10", 50))
	late := add("late", object{
		"type": "deposit", "date": "2026-05-10", "matchBankAccountLast4": "2222",
		"lines": list{object{"accountId": w.accounts["2300"], "amount": -70}},
	})
	fixture.CloseBooks(w.Team, "2026-02-01")
	w.statement("inReview", "2026-04-01", "2026-04-30", false)
	attached := add("attached", w.expense("2026-06-10", 90))
	w.Exec(`update ledger_entry set statement_id = @statement where team_id = @team and source_id = @id and party = 'owners'`,
		db.Args{"statement": w.id(), "id": attached})
	rule := fixture.BankRule(w.Team, "Rule")
	w.reconcile(late, "1010", &rule)
	w.reconcile(open, "1010", nil)

	tests := map[string]struct {
		query []string
		want  string
	}{
		"locked":               {[]string{"isLocked", "true"}, "attached late owner paid open early"},
		"unlocked":             {[]string{"isLocked", "false"}, "empty"},
		"with a journal":       {[]string{"hasActiveJournalEntries", "true"}, "attached late owner paid open early"},
		"without":              {[]string{"hasActiveJournalEntries", "false"}, "empty"},
		"own account":          {[]string{"last4", "1111"}, "attached owner empty early"},
		"account of a payment": {[]string{"last4", "2222"}, "late paid"},
		"any of the accounts":  {[]string{"last4", "2222,1111"}, "attached late owner empty paid early"},
		"unpaid":               {[]string{"paidStatus", "unpaid"}, "open"},
		"paid":                 {[]string{"paidStatus", "paid", "type", "expense"}, "attached owner paid"},
		"in between":           {[]string{"paidStatus", "underpaid,overpaid"}, ""},
		"paid in March":        {[]string{"paidAtRange", "2026-03"}, "empty paid"},
		"paid in February":     {[]string{"paidAtRange", "2026-02"}, ""},
		"reconciled":           {[]string{"reconciled", "true"}, "late open"},
		"not reconciled":       {[]string{"reconciled", "false"}, "attached owner empty paid early"},
		"matched by a rule":    {[]string{"matchedByBankRule", "true"}, "late"},
		"not matched":          {[]string{"matchedByBankRule", "false", "reconciled", "true"}, "open"},
		"all but some":         {[]string{"ids", "!" + early.String() + ",!" + open.String()}, "attached late owner empty paid"},
		"some but one":         {[]string{"ids", early.String() + "," + owner.String() + ",!" + owner.String()}, "early"},
		"ranges of amounts":    {[]string{"amount", "-100...-50,300,0...60"}, "late owner empty early"},
	}
	for name, test := range tests {
		if got := strings.Join(listed(w, test.query...), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	// A statement holds what came before it, a soft close what lies in it, save for those who may post there.
	w.Exec(`delete from statement where team_id = @team`, nil)

	for posters, want := range map[string]string{"{}": "attached late paid open early", "{" + w.User.String() + "}": "attached late open early"} {
		w.Exec(`update team set soft_closed_at = '2026-03-01', soft_close_posters = @posters::text::uuid[] where team_id = @team`, db.Args{"posters": posters})

		if got := strings.Join(listed(w, "isLocked", "true"), " "); got != want {
			t.Errorf("softly closed to all but %s: %q, want %q", posters, got, want)
		}
	}

	for _, bad := range []string{
		"last4=12", "last4=12a4", "paidStatus=due", "paidAtRange=x", "ids=!x", "ids=!!" + early.String(), "amount=1,2...1", "amount=1,", "isLocked=yes",
		"recurringTemplateId=x",
	} {
		w.Get("/transactions?"+bad).WantError(apierr.CodeBadRequest, "")
	}

	w.Post("/transactions", fixture.With(w.deposit("2026-05-10", 1), "matchBankAccountLast4", "9999")).WantIssue("notFound", "matchBankAccountLast4")
}

func (w *world) listingWithOwner(name string) id.ID {
	l := fixture.Listing(w.Team, name)
	w.ownership(l, "", "")

	return l
}

func TestListLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	made := w.Post("/transactions", w.deposit("2026-01-10", 300)).Want(201)
	if w.Get("/transactions").Want(200).Has("data.0.lines") {
		t.Error("lines without includeLines")
	}

	if got := w.Get("/transactions?includeLines=true").Want(200).String("data.0.lines.0.id"); got != made.String("lines.0.id") {
		t.Errorf("line %s", got)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	for range 3 {
		w.Post("/transactions", w.deposit("2026-01-10", 300)).Want(201)
	}

	first := w.Get("/transactions?limit=2").Want(200)
	if first.Len("data") != 2 || first.Int("pagination.total") != 3 || first.Int("pagination.totalPage") != 2 || first.Int("pagination.nextPage") != 2 {
		t.Errorf("got %s", first.Body)
	}

	second := w.Get("/transactions?limit=2&page=2").Want(200)
	if second.Len("data") != 1 || second.String("pagination.nextPage") != "null" || second.String("data.0.id") == first.String("data.1.id") {
		t.Errorf("got %s", second.Body)
	}
}

// Proves: PAG-33, PAG-34, PAG-35.
func TestDateRanges(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	for _, d := range []string{"2026-01-01", "2026-01-31", "2026-02-01", "2026-12-31", "2027-01-01"} {
		w.Post("/transactions", fixture.With(w.deposit(d, 1), "description", d)).Want(201)
	}

	tests := []struct {
		dateRange, inclusive string
		want                 []string
	}{
		{"2026", "", []string{"2026-12-31", "2026-02-01", "2026-01-31", "2026-01-01"}},
		{"2026-01-01...2026-12-31", "", []string{"2026-12-31", "2026-02-01", "2026-01-31", "2026-01-01"}},
		{"2026-01", "", []string{"2026-01-31", "2026-01-01"}},
		{"2026-01-31", "", []string{"2026-01-31"}},
		{"2026-01-31...2026-02-01", "", []string{"2026-02-01", "2026-01-31"}},
		{"2026-01-31...2026-02-01", "true", []string{"2026-02-01", "2026-01-31"}},
		{"2026-01-31...2026-02-01", "false", []string{"2026-01-31"}},
		{"2026-01-31", "false", []string{}},
		{"2026", "false", []string{"2026-02-01", "2026-01-31", "2026-01-01"}},
	}
	for _, test := range tests {
		pairs := []string{"dateRange", test.dateRange}
		if test.inclusive != "" {
			pairs = append(pairs, "isDateRangeEndInclusive", test.inclusive)
		}

		if got := listed(w, pairs...); !slices.Equal(got, test.want) {
			t.Errorf("%v: got %v, want %v", pairs, got, test.want)
		}
	}

	for _, bad := range []string{"26", "2026-13", "2026-02-30", "2026-W01", "2026-01...2026-02", "2026-02-01...2026-01-01", "2026-01-01..2026-01-02", "x"} {
		w.Get(fixture.Query("/transactions", "dateRange", bad)).WantError(apierr.CodeBadRequest, "").WantIssue("dateRange", "dateRange")
	}

	w.Get(fixture.Query("/transactions", "dateRange", "2026", "isDateRangeEndInclusive", "yes")).Want(400)
}

// Proves: DRY-36.
func TestOpeningBalances(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chalet := fixture.Listing(w.Team, "Chalet")
	w.ownership(chalet, "2026-01-01", "")

	path := func(l id.ID) string { return "/listings/" + l.String() + "/opening-balance" }

	made := w.Put(path(w.villa), object{"amount": 30000}).Want(200)
	if made.ID("listingId") != w.villa || made.Int("amount") != 30000 || made.String("currency") != "usd" {
		t.Errorf("got %s", made.Body)
	}

	wantBalances(t, w, map[string]int64{"1000": 30000, "2900": -30000})

	booked := w.Get("/transactions/" + made.String("transactionId")).Want(200)
	if booked.String("date") != "2025-12-31" || booked.String("isOpeningBalance") != "true" || booked.String("lines.0.party") != "owners" {
		t.Errorf("got %s", booked.Body)
	}
	// The second is owned from the first day on: its balance belongs to that owner.
	w.Put(path(chalet), object{"amount": -500, "currency": "EUR"}).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "currency")
	w.Put(path(chalet), object{"amount": -500}).Want(200)

	before := w.Get("/transactions").Body

	again := w.Put(path(w.villa), object{"amount": 30000}).Want(200)
	if string(again.Body) != string(made.Body) || string(w.Get("/transactions").Body) != string(before) {
		t.Error("putting it again changed something")
	}

	changed := w.Put(path(w.villa), object{"amount": 100}).Want(200)
	if changed.String("transactionId") != made.String("transactionId") || changed.Int("amount") != 100 {
		t.Errorf("got %s", changed.Body)
	}

	wantBalances(t, w, map[string]int64{"1000": -400, "2900": 400})

	all := w.Get("/listings/opening-balance").Want(200)
	if all.Int("pagination.total") != 2 || all.Int("data.0.amount")+all.Int("data.1.amount") != -400 {
		t.Errorf("got %s", all.Body)
	}

	one := w.Get("/listings/opening-balance?listingIds=" + chalet.String()).Want(200)
	if one.Len("data") != 1 || one.ID("data.0.listingId") != chalet || one.Int("data.0.amount") != -500 || one.String("data.0.currency") != "usd" {
		t.Errorf("got %s", one.Body)
	}

	w.Put(path(w.id()), object{"amount": 1}).WantError(apierr.CodeNotFound, "")
	w.Put(path(w.villa), object{"amount": 1, "currency": "xxx"}).WantError(apierr.CodeBadRequest, "")
	w.Put(path(fixture.Listing(w.Team, "Unowned")), object{"amount": 1}).WantError(apierr.CodeBadRequest, "").WantIssue("ownershipPeriodMissing", "id")
	w.Exec(`update team set statement_start_at = null where team_id = @team`, nil)
	w.Put(path(w.villa), object{"amount": 1}).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerStartDateMissing)
}

// Proves: RSN-34.
func TestOpeningBalanceBeingUpdated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `select from listing where team_id = @team and id = @id for update`, db.Args{"team": tx.Team, "id": w.villa})

		r := w.Put("/listings/"+w.villa.String()+"/opening-balance", object{"amount": 1}).
			WantError(apierr.CodeConflict, apierr.ReasonOpeningBalanceUpdateInProgress)
		if r.String("retryable") != "true" || r.Header.Get("Retry-After") == "" {
			t.Errorf("not retryable: %s", r.Body)
		}

		return err
	})
}

// A page with more lines than an answer can hold is refused with the limit that works; nothing is cut.
func TestPagesOfTooManyLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	lines := make(list, 100)
	for i := range lines {
		lines[i] = object{"assignment": "accountsReceivable", "amount": 1}
	}

	one := w.Post("/transactions", object{"type": "deposit", "date": "2026-02-05", "lines": lines}).Want(201).ID("id")
	w.Exec(`insert into transaction select (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'short_ref', 'copy' || n))).*
		from transaction t, generate_series(1, 219) n where t.team_id = @team and t.id = @id`, db.Args{"id": one})

	var columns string

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		columns, err = db.Get[string](ctx, tx, `select string_agg(column_name, ', ') from information_schema.columns
			where table_schema = current_schema() and table_name = 'transaction_line' and is_generated = 'NEVER' and column_name not in ('id', 'transaction_id')`, nil)

		return err
	})
	w.Exec(fmt.Sprintf(`insert into transaction_line (id, transaction_id, %[1]s) select gen_random_uuid(), t.id, %[1]s
		from (select * from transaction_line where team_id = @team and transaction_id = @id) l
		cross join (select id from transaction where team_id = @team and id <> @id) t`, columns),
		db.Args{"id": one})

	const path = "/transactions?includeLines=true"

	refused := w.Get(path+"&limit=250").WantError(apierr.CodeBadRequest, "").WantIssue("tooManyLines", "limit")
	if refused.Int("context.suggestedLimit") != 200 {
		t.Errorf("refused %s", refused.Body)
	}

	w.Get(path+"&limit=201&sort=-amount").WantIssue("tooManyLines", "limit")

	if got := w.Get(path + "&limit=200").Want(200); got.Len("data") != 200 || got.Len("data.199.lines") != 100 {
		t.Errorf("%d rows", got.Len("data"))
	}

	if got := w.Get(path + "&limit=250&offset=100").Want(200); got.Len("data") != 120 || got.Int("pagination.total") != 220 {
		t.Errorf("the rest has %d rows", got.Len("data"))
	}

	if got := w.Get("/transactions?limit=250").Want(200); got.Len("data") != 220 {
		t.Errorf("%d rows without lines", got.Len("data"))
	}
}

// A date that is probably a slip is reported, and one that cannot be meant is refused.
func TestDatesFarAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	year := day.Of(w.DB.Now()).AddYears(1)
	if got := w.Post("/transactions", w.deposit(year.String(), 5)).Want(201); got.Len("issues") != 0 {
		t.Errorf("a year ahead: %s", got.Body)
	}

	far := w.Post("/transactions", w.deposit(year.AddDays(1).String(), 5)).Want(201)
	if far.Len("issues") != 1 || far.String("issues.0.code") != "dateFarAhead" || far.String("issues.0.severity") != "warning" ||
		far.String("issues.0.context.date") != year.AddDays(1).String() || far.ID("issues.0.context.transactionId") != far.ID("id") {
		t.Errorf("further ahead: %s", far.Body)
	}

	listed := w.Get("/transactions?sort=-date&limit=2").Want(200)
	if listed.String("data.0.issues.0.code") != "dateFarAhead" || listed.Len("data.1.issues") != 0 {
		t.Errorf("listed %s", listed.Body)
	}

	bill := w.Post("/transactions", fixture.With(w.expense("2026-02-01", 100), "payment", object{"date": year.AddDays(9).String()})).Want(201)
	if bill.String("issues.0.context.date") != year.AddDays(9).String() {
		t.Errorf("a payment further ahead: %s", bill.Body)
	}

	for _, date := range []string{"0001-01-01", "1989-12-31", "9999-12-31", day.Of(w.DB.Now()).AddYears(10).AddDays(1).String()} {
		w.Post("/transactions", w.deposit(date, 5)).WantError(apierr.CodeBadRequest, "").WantIssue("dateOutOfRange", "date")
		w.Put("/transactions/"+far.String("id"), object{"date": date}).WantIssue("dateOutOfRange", "date")
		w.Get("/transactions?dateRange="+date).WantIssue("dateOutOfRange", "dateRange")
	}
}
