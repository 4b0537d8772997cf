package historic_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"stayledger/domain/settlement/historic"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/id"
	"stayledger/test/fixture"
	"stayledger/test/world"
)

const single = "/statements/historic"

func TestMain(m *testing.M) { apitest.Main(m) }

// past is a team that comes from another system: its villa is owned 60 to 40.
type past struct {
	*world.World
	ada, ben id.ID
	villa    world.Listing
}

func newPast(t *testing.T) *past {
	t.Helper()
	p := &past{World: world.New(t)}
	p.ada, p.ben = p.Contact("owner", "Ada"), p.Contact("owner", "Ben")
	p.villa.ID = p.Post("/listings", world.Object{"name": "Villa", "initialOwnership": world.Object{"members": world.Array{
		world.Object{"contactId": p.ada, "split": 60000}, world.Object{"contactId": p.ben, "split": 40000},
	}}}).Want(201).ID("id")
	p.villa.Period = p.Get("/listings/ownership-periods?listingIds=" + p.villa.ID.String()).Want(200).ID("data.0.id")

	return p
}

func (p *past) line(ref, code string, cents int64, pairs ...any) world.Object {
	p.T.Helper()
	return fixture.With(world.Object{"uniqueRef": ref, "type": "line", "accountId": p.Account(code), "centTotal": cents}, pairs...)
}

func payoutLine(ref string, cents int64, pairs ...any) world.Object {
	return fixture.With(world.Object{"uniqueRef": ref, "type": "payout", "centTotal": cents}, pairs...)
}

// month is a statement of the villa over a month of 2025.
func (p *past) month(month string, lines ...any) world.Object {
	last := map[string]string{"09": "30", "10": "31", "11": "30", "12": "31"}[month]

	return world.Object{
		"uniqueRef": "villa-2025-" + month, "listingId": p.villa.ID, "startAt": "2025-" + month + "-01", "endAt": "2025-" + month + "-" + last,
		"currency": "usd", "status": "published", "centBalanceStart": 0, "lines": append(world.Array{}, lines...),
	}
}

// posted is an entry of an imported statement.
type posted struct {
	ID, AccountID           id.ID
	ContactID               *id.ID
	CentTotal               int64
	Ledger, Status, Trigger string
	Date, Description       string
	ReservationID           *id.ID
}

func (p *past) entries(statement id.ID) (out []posted) {
	p.T.Helper()
	p.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[posted](ctx, tx, `
			select id, account_id, contact_id, cent_total, ledger, status, trigger_type as trigger, txn_at::text as date, description, reservation_id
			from ledger_entry where team_id = @team and statement_id = @id and party = 'owners' order by id`, db.Args{"team": tx.Team, "id": statement})

		return err
	})

	return out
}

// counts are the rows that a refused import leaves as they are.
func (p *past) counts() (n [3]int64) {
	p.T.Helper()
	p.Tx(func(ctx context.Context, tx *db.Tx) error {
		for i, table := range []string{"statement", "ledger_entry", "reservation"} {
			var err error
			if n[i], err = db.Get[int64](ctx, tx, `select count(*) from `+table+` where team_id = @team`, db.Args{"team": tx.Team}); err != nil {
				return err
			}
		}

		return nil
	})

	return n
}

func wantFields(t *testing.T, r *apitest.Response, want map[string]string) {
	t.Helper()

	for path, value := range want {
		if got := r.String(path); got != value {
			t.Errorf("%s = %s, want %s in %s", path, got, value, r.Body)
		}
	}
}

// Proves: HST-01, HST-02, HST-06, HST-07, HST-10, HST-12, HST-14, HST-15, HST-16, HST-17, HST-19, HST-20, HST-21, HST-22, HST-23, HST-24.
// Proves: HST-25, HST-26, HST-27, HST-33, HST-42.
func TestImportedStatement(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	before := p.counts()
	r := p.Post(single, fixture.With(p.month("11",
		p.line("a", "4000", 100, "description", "Rent", "date", "2025-11-03"), p.line("b", "4010", 20), p.line("c", "5200", -30),
		p.line("d", "5200", 5, "description", "Refund of a repair"), payoutLine("e", 50, "contactId", p.ben),
	), "centBalanceStart", 1000)).Want(201)
	wantFields(t, r, map[string]string{
		"uniqueRef": "villa-2025-11", "status": "published", "replaced": "false", "journalEntryCount": "5", "listingId": p.villa.ID.String(),
		"listingOwnershipPeriodId": p.villa.Period.String(), "startAt": "2025-11-01", "endAt": "2025-11-30", "currency": "usd",
		"financials": `{"centBalanceEnd":1045,"centBalanceStart":1000,"centExpenses":-25,"centNetRevenue":120,"centTotal":95,"centTransfer":-50}`,
	})

	entries := p.entries(r.ID("id"))
	if len(entries) != 5 {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}

	byText := map[string]posted{}
	for _, e := range entries {
		byText[e.Trigger+" "+e.Description] = e
		if e.Ledger != "historical" || e.Status != "inactive" {
			t.Errorf("an entry is %s and %s", e.Ledger, e.Status)
		}
	}

	if e := byText["historicalRevenue Rent"]; e.AccountID != p.Account("4000") || e.CentTotal != -100 || e.Date != "2025-11-03" {
		t.Errorf("the rent is %+v", e)
	}

	if e := byText["historicalExpense Refund of a repair"]; e.CentTotal != -5 || e.Date != "2025-11-30" {
		t.Errorf("the refund is %+v", e)
	}

	if e := byText["historicalPayout "]; e.AccountID != p.Account("2400") || e.CentTotal != 50 || e.ContactID == nil || *e.ContactID != p.ben {
		t.Errorf("the payout is %+v", e)
	}

	if after := p.counts(); after[0] != before[0]+1 || after[1] != before[1]+5 || after[2] != before[2] {
		t.Errorf("rows went from %v to %v", before, after)
	}
}

// Proves: HST-02, HST-03, HST-04, HST-05, HST-06, HST-07, HST-08, HST-11, HST-13, HST-14, HST-18, HST-29, HST-41, HST-48, OPEN-51, OPEN-52, ERR-82, OPEN-10.
func TestMalformedImports(t *testing.T) {
	t.Parallel()
	golden.List(t, "states", historic.Status("").Enum(), []string{"inReview", "published"})
	golden.List(t, "types of lines", historic.LineType("").Enum(), []string{"line", "payout"})
	p, other := newPast(t), newPast(t)
	stay := other.Stay(other.villa, "2026-01-09", 100)
	own := p.Stay(p.villa, "2026-01-09", 100)
	good := p.month("11", p.line("a", "4000", 100), payoutLine("b", 5))
	before := p.counts()

	lines := func(l ...any) world.Object { return fixture.With(good, "lines", append(world.Array{}, l...)) }
	for name, c := range map[string]struct {
		body        world.Object
		issue, path string
	}{
		"no reference":             {fixture.With(good, "uniqueRef", nil), "required", "uniqueRef"},
		"no listing":               {fixture.With(good, "listingId", nil), "required", "listingId"},
		"no uuid":                  {fixture.With(good, "listingId", "villa"), "", "listingId"},
		"listing of another team":  {fixture.With(good, "listingId", other.villa.ID), "notFound", "listingId"},
		"no start":                 {fixture.With(good, "startAt", nil), "required", "startAt"},
		"start in another form":    {fixture.With(good, "startAt", "01/11/2025"), "", "startAt"},
		"no end":                   {fixture.With(good, "endAt", nil), "required", "endAt"},
		"end in another form":      {fixture.With(good, "endAt", "2025-11-31"), "", "endAt"},
		"end before start":         {fixture.With(good, "endAt", "2025-10-31"), "dateOrder", "endAt"},
		"no currency":              {fixture.With(good, "currency", nil), "required", "currency"},
		"currency in upper case":   {fixture.With(good, "currency", "USD"), "", "currency"},
		"no such currency":         {fixture.With(good, "currency", "xqz"), "currency", "currency"},
		"no status":                {fixture.With(good, "status", nil), "required", "status"},
		"draft":                    {fixture.With(good, "status", "draft"), "", "status"},
		"no balance":               {fixture.With(good, "centBalanceStart", nil), "required", "centBalanceStart"},
		"broken balance":           {fixture.With(good, "centBalanceStart", 1.5), "", "centBalanceStart"},
		"broken closing balance":   {fixture.With(good, "centBalanceEnd", 1.5), "", "centBalanceEnd"},
		"no lines":                 {fixture.With(good, "lines", nil), "required", "lines"},
		"unknown field":            {fixture.With(good, "memo", "x"), "", "memo"},
		"no line reference":        {lines(p.line("", "4000", 1)), "", "lines.0.uniqueRef"},
		"line reference twice":     {lines(p.line("a", "4000", 1), p.line("b", "4000", 1), payoutLine("a", 1)), "duplicateLineRef", "lines.2.uniqueRef"},
		"another type":             {lines(p.line("a", "4000", 1, "type", "fee")), "", "lines.0.type"},
		"line without account":     {lines(p.line("a", "4000", 1, "accountId", nil)), "required", "lines.0.accountId"},
		"payout with account":      {lines(payoutLine("a", 1, "accountId", p.Account("2400"))), "accountNotSupported", "lines.0.accountId"},
		"line with contact":        {lines(p.line("a", "4000", 1, "contactId", p.ada)), "contactNotSupported", "lines.0.contactId"},
		"nothing":                  {lines(p.line("a", "4000", 0)), "zeroAmount", "lines.0.centTotal"},
		"too much":                 {lines(p.line("a", "4000", 1<<53-1), p.line("b", "4000", 1)), "range", "lines"},
		"account of another team":  {lines(p.line("a", "4000", 1), p.line("b", "4000", 1, "accountId", other.Account("4000"))), "notFound", "lines.1.accountId"},
		"stay of another team":     {lines(p.line("a", "4000", 1, "reservationId", stay)), "notFound", "lines.0.reservationId"},
		"unknown stay":             {lines(p.line("a", "4000", 1, "reservationId", p.ada)), "notFound", "lines.0.reservationId"},
		"stay in another currency": {fixture.With(lines(p.line("a", "4000", 1, "reservationId", own)), "currency", "eur"), "currencyMismatch", "lines.0.reservationId"},
		"contact of another team":  {lines(payoutLine("a", 1, "contactId", other.ada)), "notFound", "lines.0.contactId"},
		"listing without an owner": {fixture.With(good, "listingId", p.Post("/listings", world.Object{"name": "Barn"}).Want(201).ID("id")), "ownershipPeriodMissing", "listingId"},
	} {
		r := p.Post(single, c.body).WantError(apierr.CodeBadRequest, "")
		if c.issue != "" {
			r.WantIssue(c.issue, c.path)
		} else if !strings.Contains(string(r.Body), `"`+c.path[strings.LastIndexByte(c.path, '.')+1:]+`"`) {
			t.Errorf("%s: %s is not named in %s", name, c.path, r.Body)
		}
	}

	if after := p.counts(); after != before {
		t.Errorf("refused imports changed rows from %v to %v", before, after)
	}

	p.As([]string{"statements:read", "statements:write", "statements:publish"}, nil).Post(single, good).WantError(apierr.CodeForbidden, "")
	p.Post(single, good).Want(201)
}

// Proves: HST-09, OPEN-50.
func TestAnExplicitClosingBalanceStands(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	r := p.Post(single, fixture.With(p.month("11", p.line("a", "4000", 100)), "centBalanceStart", 1000, "centBalanceEnd", 7)).Want(201)
	wantFields(t, r, map[string]string{"financials.centBalanceEnd": "7", "financials.centTotal": "100", "financials.centBalanceStart": "1000"})

	empty := p.Post(single, p.month("12")).Want(201)
	wantFields(t, empty, map[string]string{"financials.centBalanceEnd": "0", "journalEntryCount": "0"})
}

// Proves: HST-44, HST-45, HST-46.
func TestAnImportIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	first := p.Post(single, p.month("11", p.line("a", "4000", 100), p.line("b", "5200", -10))).Want(201)
	old := p.entries(first.ID("id"))
	p.Post(single, p.month("12", p.line("a", "4000", 1))).Want(201) // a later one does not hold it
	again := p.Post(single, fixture.With(p.month("11", p.line("a", "4000", 70)), "status", "inReview", "endAt", "2025-11-29")).Want(200)
	wantFields(t, again, map[string]string{
		"id": first.String("id"), "replaced": "true", "journalEntryCount": "1", "status": "inReview", "endAt": "2025-11-29",
		"financials.centTotal": "70", "financials.centBalanceEnd": "70",
	})

	now := p.entries(first.ID("id"))
	if len(now) != 1 || now[0].CentTotal != -70 || now[0].ID == old[0].ID {
		t.Errorf("entries went from %+v to %+v", old, now)
	}

	s := p.Get("/statements/" + first.String("id")).Want(200)
	wantFields(t, s, map[string]string{"uniqueRef": "villa-2025-11", "status": "inReview", "total": "70", "startAt": "2025-11-01", "endAt": "2025-11-29"})
	// Sent again as it is, the entries are new ones all the same.
	p.Post(single, fixture.With(p.month("11", p.line("a", "4000", 70)), "status", "inReview", "endAt", "2025-11-29")).Want(200)

	if last := p.entries(first.ID("id")); len(last) != 1 || last[0].ID == now[0].ID {
		t.Errorf("the entries are still %+v", last)
	}

	moved := p.Post(single, fixture.With(p.month("09", p.line("a", "4000", 2)), "uniqueRef", "villa-2025-11")).Want(200)
	if moved.String("id") != first.String("id") || moved.String("startAt") != "2025-09-01" {
		t.Errorf("moved to %s", moved.Body)
	}

	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "other")).Want(201)
}

// Proves: HST-47.
func TestTheReferenceOfALiveStatement(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.Stay(p.villa, "2026-01-09", 100)
	p.Publish("2026-01", p.villa)
	p.Exec(`update statement set unique_ref = 'live' where team_id = @team`, nil)
	before := p.Fingerprint()
	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "live")).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef).WantIssue("duplicateUniqueRef", "uniqueRef")

	if p.Fingerprint() != before {
		t.Error("a refused import changed something")
	}
}

// An import belongs to its listing: its reference replaces nothing of another one.
//
// Proves: HST-44, HST-47, OPEN-52.
func TestTheReferenceOfAnotherListingsImport(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	barn := p.Listing("Barn", p.ada)
	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "mine")).Want(201)
	before := p.Fingerprint()
	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "mine", "listingId", barn.ID)).
		WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef).WantIssue("duplicateUniqueRef", "uniqueRef")

	if p.Fingerprint() != before {
		t.Error("a refused import changed something")
	}

	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "mine")).Want(200)
}

// A payout goes to an owner: no other statement would ever show it.
//
// Proves: HST-19.
func TestAPayoutToNobodyWhoOwns(t *testing.T) {
	t.Parallel()
	p := newPast(t)

	stranger := p.Contact("owner", "Eve")
	for contact, code := range map[id.ID]string{stranger: "notMember", id.New(p.DB.Now()): "notFound"} {
		p.Post(single, p.month("11", payoutLine("p", 100, "contactId", contact))).
			WantError(apierr.CodeBadRequest, "").WantIssue(code, "lines.0.contactId")
	}

	p.Post(single, p.month("11", payoutLine("p", 100, "contactId", p.ada))).Want(201)
}

// Proves: HST-28, HST-48, HST-49, OPEN-52.
func TestDaysOfImports(t *testing.T) {
	t.Parallel()
	p := newPast(t)

	first := p.Post(single, fixture.With(p.month("11"), "startAt", "2025-10-20", "endAt", "2025-11-09")).Want(201)
	for name, days := range map[string][2]string{
		"its first day": {"2025-10-01", "2025-10-20"}, "its last day": {"2025-11-09", "2025-11-30"}, "inside": {"2025-11-01", "2025-11-02"},
		"around": {"2025-10-01", "2025-12-31"}, "the same": {"2025-10-20", "2025-11-09"},
	} {
		r := p.Post(single, fixture.With(p.month("11"), "uniqueRef", name, "startAt", days[0], "endAt", days[1])).
			WantError(apierr.CodeConflict, apierr.ReasonStatementExists).WantIssue("statementExists", "startAt")
		if r.String("context.statementIds") != `["`+first.String("id")+`"]` {
			t.Errorf("%s: the statement is not named in %s", name, r.Body)
		}
	}

	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "euros", "currency", "eur")).Want(201)
	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "after", "startAt", "2025-11-10", "endAt", "2025-11-10")).Want(201)
	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "before", "startAt", "2025-10-19", "endAt", "2025-10-19")).Want(201)

	// One ownership period covers it, from its first day to the day before its end.
	barn := p.Post("/listings", world.Object{"name": "Barn"}).Want(201).ID("id")
	for _, days := range [][2]any{{"2025-01-01", "2025-07-01"}, {"2025-07-01", nil}} {
		p.Exec(`insert into listing_ownership_period (team_id, id, listing_id, start_at, end_at, created_at, updated_at) values (@team, @id, @listing, @start, @end, @now, @now)`,
			db.Args{"id": id.New(p.DB.Now()), "listing": barn, "start": days[0], "end": days[1], "now": p.DB.Now()})
	}

	for name, days := range map[string][2]string{"before": {"2024-12-31", "2025-01-05"}, "across": {"2025-06-30", "2025-07-01"}} {
		p.Post(single, fixture.With(p.month("11"), "uniqueRef", name, "listingId", barn, "startAt", days[0], "endAt", days[1])).
			WantError(apierr.CodeBadRequest, "").WantIssue("ownershipPeriodMissing", "listingId")
	}

	own := fixture.With(p.month("11"), "uniqueRef", "own", "listingId", barn, "startAt", "2025-01-01", "endAt", "2025-06-30")
	// Rule HST-28: its periods have no members.
	p.Post(single, fixture.With(own, "lines", world.Array{payoutLine("a", 1, "contactId", p.ada)})).
		WantError(apierr.CodeBadRequest, "").WantIssue("ownershipMembersMissing", "listingId")
	p.Post(single, fixture.With(own, "lines", world.Array{p.line("a", "4000", 1)})).Want(201)
}

// Proves: HST-19, HST-30, HST-50, HST-51, OPEN-52.
func TestPayoutsAreSplit(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	r := p.Post(single, p.month("11", payoutLine("a", 101), payoutLine("b", -101), payoutLine("c", 1), payoutLine("d", 7, "contactId", p.ben))).Want(201)
	wantFields(t, r, map[string]string{"journalEntryCount": "6", "financials.centTransfer": "-8", "financials.centBalanceEnd": "-8"})

	got := map[id.ID][]int64{}
	for _, e := range p.entries(r.ID("id")) {
		got[*e.ContactID] = append(got[*e.ContactID], e.CentTotal)
	}

	for _, amounts := range got {
		slices.Sort(amounts)
	}

	if encode(t, got[p.ada]) != `[-61,1,61]` || encode(t, got[p.ben]) != `[-40,7,40]` {
		t.Errorf("split into %v", got)
	}

	p.Exec(`delete from account_assignment where team_id = @team and assignment = 'payout_distribution'`, nil)

	missing := p.Post(single, p.month("12", payoutLine("a", 1))).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
	if missing.String("context.assignments") != `["payout_distribution"]` {
		t.Errorf("the account is not named in %s", missing.Body)
	}

	p.Post(single, p.month("12", p.line("a", "4000", 1))).Want(201)
}

func encode(t *testing.T, v any) string {
	t.Helper()

	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

// Imported statements tell their own balances, so they come in any order; a live statement rests on what came before
// it.
func TestTheOrderOfImports(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	first := p.Post(single, p.month("12")).Want(201)
	p.Post(single, p.month("10")).Want(201)
	p.Stay(p.villa, "2026-01-09", 100)
	p.Publish("2026-01", p.villa)
	r := p.Post(single, p.month("11")).WantError(apierr.CodeConflict, apierr.ReasonStatementFutureExists)
	wantFields(t, r, map[string]string{
		"context.blockingStatementId": p.Statement(p.villa, "2026-01").String(), "context.blockingStatementStartAt": "2026-01-01",
		"context.blockingStatementStatus": "published", "context.nextAction": "returnStatementsToDraft",
	})
	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "villa-2025-12")).WantError(apierr.CodeConflict, apierr.ReasonStatementFutureExists)

	again := p.Post(single, p.month("12", p.line("a", "4000", 5))).Want(200)
	if again.String("id") != first.String("id") {
		t.Errorf("replaced %s", again.Body)
	}

	barn := p.Listing("Barn", p.ada)
	p.Post(single, fixture.With(p.month("11"), "uniqueRef", "barn", "listingId", barn.ID)).Want(201)
}

// A statement that was paid keeps what its payouts rest on.
// Proves: RSN-60.
func TestAPaidImportKeepsItsPlace(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.Post("/listings/ownership-periods", world.Object{
		"listingId": p.villa.ID, "startAt": "2025-12-01", "onConflict": "truncate", "members": world.Array{world.Object{"contactId": p.ada, "split": 100000}},
	})
	s := p.Post(single, p.month("12", p.line("a", "4000", 500))).Want(201).ID("id")
	p.Post("/transactions", world.Object{
		"type": "payout", "date": "2026-01-05", "accountId": p.Account("1000"), "contactId": p.ada,
		"lines": world.Array{world.Object{"amount": 300, "listingId": p.villa.ID, "contactId": p.ada, "ownerStatementId": s}},
	}).Want(201)

	for name, change := range map[string][]any{
		"another currency": {"currency", "eur"}, "back to review": {"status", "inReview"},
		"another ownership period": {"startAt", "2025-11-01", "endAt", "2025-11-30"},
	} {
		r := p.Post(single, fixture.With(p.month("12"), change...)).WantError(apierr.CodeConflict, apierr.ReasonStatementHasPayouts)
		if r.String("context.statementIds") != `["`+s.String()+`"]` {
			t.Errorf("%s: %s", name, r.Body)
		}
	}

	p.Post(single, p.month("12", p.line("a", "4000", 600))).Want(200)
}

// Imports of one reference that come at the same time take turns: one makes the statement, the others replace it.
func TestImportsAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := newPast(t)

	var group sync.WaitGroup

	answers := make([]*apitest.Response, 6)
	for i := range answers {
		group.Go(func() {
			// The harness would send a dry run first and compare the whole team, which the others are changing.
			answers[i] = p.Call("POST", single+"?dryRun=false", p.month("11", p.line("a", "4000", int64(i+1)), p.line("b", "5200", -1)))
		})
	}

	group.Wait()

	made, ids := 0, map[string]bool{}

	for _, r := range answers {
		if r.Status == 201 {
			made++
		} else {
			r.Want(200)
		}

		ids[r.String("id")] = true
	}

	if n := p.counts(); made != 1 || len(ids) != 1 || n[0] != 1 || n[1] != 2 {
		t.Errorf("%d were made, of ids %v; rows are %v", made, ids, n)
	}
}
