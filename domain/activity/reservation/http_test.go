package reservation_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// books is a team with the standard chart, a listing and its owner's period.
type books struct {
	*apitest.Team
	t               testing.TB
	listing, period id.ID
}

func newBooks(t testing.TB) *books {
	t.Helper()
	return booksWith(t, reservation.Part().Handlers)
}

// booksWith is newBooks with other handlers of tasks.
func booksWith(t testing.TB, handlers map[job.Kind]job.Handler) *books {
	t.Helper()

	endpoints := parts.Join(reservation.Part(), mapping.Part(), fee.Part(), team.Part(team.Config{Journals: ledger.Sources{reservation.Source()}}), operation.Part(time.Hour), journal.Part(), ledger.Part(), transaction.Part()).Endpoints
	b := &books{t: t, Team: apitest.New(t, apitest.Config{Endpoints: endpoints, Handlers: handlers})}
	fixture.StandardChart(b.Team)
	b.Tx(mapping.InstallStandard)
	b.listing = fixture.Listing(b.Team, "Villa")
	b.period = fixture.Period(b.Team, b.listing, "", "")

	return b
}

func (b *books) account(code string) id.ID {
	return fixture.Accounts(b.Team)[code]
}

// stay is the body of the stay of worked example A, with changes in name, value pairs.
func (b *books) stay(changes ...any) map[string]any {
	body := map[string]any{
		"listingId": b.listing, "checkIn": "2026-01-29", "checkOut": "2026-02-03", "guestName": "Ada", "lines": []any{
			map[string]any{"type": "rent", "amount": 100_000},
			map[string]any{"type": "cleaningFee", "amount": 15_000},
			map[string]any{"type": "tax", "amount": 13_800},
		},
	}

	for i := 0; i+1 < len(changes); i += 2 {
		name, _ := changes[i].(string)
		body[name] = changes[i+1]
	}

	return body
}

// entries are the stored entries as text: date, account code, party, amount.
func (b *books) entries() (entries []string) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		entries, err = db.Select[string](ctx, tx, `
			select concat_ws(' ', e.txn_at, a.code || case e.party when 'owners' then 'o' when 'manager' then 'm' else '' end, e.cent_total)
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team order by 1`, db.Args{"team": tx.Team})

		return err
	})

	return entries
}

func (b *books) wantEntries(expected ...string) {
	b.t.Helper()
	slices.Sort(expected)

	if got := b.entries(); !slices.Equal(got, expected) {
		b.t.Fatalf("got %q\nwant %q", got, expected)
	}
}

// pay records an active deposit for a reservation: an amount to guest deposits, less what the processor keeps.
func (b *books) pay(reservationID id.ID, amount, merchantFee int64) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		deposit := tx.NewID()

		stmts := []db.Stmt{{
			SQL: `insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
				select @team, @id::uuid, substr(@id::uuid::text, 25), 'deposit', '2026-01-05', 'usd', account_id, 0, @now, @now from account_assignment
				where team_id = @team and assignment = 'payout_bankAccount'`,
			Args: db.Args{"team": tx.Team, "id": deposit, "now": tx.Now},
		}}
		for i, l := range []struct {
			assignment string
			amount     int64
		}{{"accountsReceivable", amount}, {"deposit_merchantFee", -merchantFee}} {
			stmts = append(stmts, db.Stmt{
				SQL: `insert into transaction_line (team_id, id, transaction_id, position, assignment, account_id, amount, total, reservation_id)
					select @team, @id, @deposit, @position, assignment, account_id, @amount, @amount, @reservation from account_assignment
					where team_id = @team and assignment = @assignment`,
				Args: db.Args{"team": tx.Team, "id": tx.NewID(), "deposit": deposit, "position": i, "amount": l.amount, "reservation": reservationID, "assignment": l.assignment},
			})
		}

		if err := tx.Pipeline(ctx, stmts...); err != nil {
			return err
		}

		_, err := reservation.Refresh(ctx, tx, []id.ID{reservationID}, ledger.Lenience{})

		return err
	})
}

func (b *books) fee(changes ...any) map[string]any {
	body := map[string]any{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "creditParty": "manager",
		"debitParty": "owners", "creditAccountId": b.account("4100"), "debitAccountId": b.account("5100"),
		"listingSubscriptions": []any{map[string]any{"listingId": b.listing}},
	}

	for i := 0; i+1 < len(changes); i += 2 {
		name, _ := changes[i].(string)
		body[name] = changes[i+1]
	}

	return body
}

// Proves: DRY-42.
func TestReservationAndItsJournal(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	r := b.Post("/reservations", b.stay("uniqueRef", "r-1", "userdata", map[string]any{"vip": true})).Want(201)

	path := "/reservations/" + r.String("id")
	for at, want := range map[string]string{
		"status": "booked", "generalLedgerStatus": "active", "currency": "usd", "listing.name": "Villa", "financials.total": "128800",
		"financials.balance": "128800", "payment.status": "unpaid", "journalStatus.status": "current", "lock.status": "open", "userdata.vip": "true",
	} {
		if got := r.String(at); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}

	if r.Len("lines") != 3 || r.Len("issues") != 0 || len(r.String("shortRef")) != 8 {
		t.Errorf("%s", r.Body)
	}

	b.wantEntries("2026-01-29 2000 128800", "2026-01-29 4000o -100000", "2026-01-29 4010o -15000", "2026-01-29 2100 -13800")

	b.pay(r.ID("id"), 64_400, 1_898)

	if got := b.Get(path).Want(200); got.String("payment.status") != "underpaid" || got.Int("payment.received") != 64_400 || got.Int("financials.balance") != 64_400 {
		t.Errorf("after a payment: %s", got.Body)
	}

	b.Put(path, map[string]any{"checkIn": "2026-01-30", "guestName": nil, "lines": []any{map[string]any{"type": "rent", "amount": 64_400}}}).Want(200)
	b.wantEntries("2026-01-30 2000 64400", "2026-01-30 4000o -64400")

	if got := b.Get(path).Want(200); got.String("payment.status") != "paid" || got.String("guestName") != "null" || got.String("uniqueRef") != "r-1" {
		t.Errorf("after the change: %s", got.Body)
	}

	b.Put(path, map[string]any{"status": "canceled", "cancelledAt": "2026-01-10"}).Want(200)
	b.wantEntries()

	if got := b.Get(path).Want(200); got.String("payment.status") != "overpaid" || got.Int("payment.expected") != 0 || got.Len("lines") != 1 {
		t.Errorf("after the cancellation: %s", got.Body)
	}

	b.Put(path, map[string]any{"status": "booked", "generalLedgerStatus": "inactive"}).Want(200)
	b.wantEntries()
}

// A new reservation takes null wherever one that is read has it.
func TestNullOfANewReservation(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	fields := []string{
		"uniqueRef", "appId", "sourceId", "guestName", "bookerName", "guests", "confirmationCode", "pmsReferenceCode", "bookedAt", "cancelledAt",
		"bookingPlatform", "generalLedgerPostingAt",
	}

	body := b.stay("lines", []any{map[string]any{"type": "rent", "amount": 100_000, "description": nil, "accountId": nil, "uniqueRef": nil}})
	for _, name := range fields {
		body[name] = nil
	}

	r := b.Get("/reservations/" + b.Post("/reservations", body).Want(201).String("id")).Want(200)
	for _, path := range append(fields, "lines.0.description", "lines.0.uniqueRef") {
		if got := r.String(path); got != "null" {
			t.Errorf("%s is %s, want null", path, got)
		}
	}
}

func TestReservationRefusals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	unknown := id.New(b.DB.Now())
	line := func(changes ...any) []any {
		l := map[string]any{"type": "rent", "amount": 1}

		for i := 0; i+1 < len(changes); i += 2 {
			name, _ := changes[i].(string)
			l[name] = changes[i+1]
		}

		return []any{l}
	}
	refused := b.Refuses("/reservations")
	refused("no nights", b.stay("checkOut", "2026-01-29"), "dateOrder", "checkOut")
	refused("eleven years", b.stay("checkIn", "2015-01-29"), "range", "checkOut")
	refused("unknown listing", b.stay("listingId", unknown), "notFound", "listingId")
	refused("unknown account", b.stay("lines", line("accountId", unknown)), "notFound", "lines.0.accountId")
	refused("unknown currency", b.stay("currency", "xxx"), "currency", "currency")
	refused("impossible date", b.stay("checkIn", "2026-02-30"), "date", "checkIn")
	refused("unknown field", b.stay("dryRun", true), "unknownField", "dryRun")
	refused("unknown status", b.stay("status", "tentative"), "enum", "status")
	refused("amount beyond 2^53", b.stay("lines", line("amount", int64(9007199254740992))), "unsafeNumber", "lines.0.amount")
	refused("sum beyond 2^53", b.stay("lines", append(line("amount", int64(9007199254740991)), line("amount", int64(9007199254740991))...)), "range", "lines")
	refused("missing check-in", func() map[string]any { body := b.stay(); delete(body, "checkIn"); return body }(), "required", "checkIn")
	b.Post("/reservations", b.stay("uniqueRef", "same")).Want(201)
	b.Post("/reservations", b.stay("uniqueRef", "same")).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	b.Get("/reservations/"+unknown.String()).WantError(apierr.CodeNotFound, "")
	b.Put("/reservations/"+unknown.String(), map[string]any{}).WantError(apierr.CodeNotFound, "")

	foreign := newBooks(t)
	foreign.Post("/reservations", foreign.stay("listingId", b.listing)).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "listingId")
}

// Money that was booked for a stay keeps its currency from changing.
func TestCurrencyOfAPaidReservation(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	stay := b.Post("/reservations", b.stay()).Want(201)
	path := "/reservations/" + stay.String("id")
	b.Put(path, map[string]any{"currency": "EUR"}).Want(200)
	b.Put(path, map[string]any{"currency": "usd"}).Want(200)
	b.pay(stay.ID("id"), 500, 0)
	b.Put(path, map[string]any{"currency": "eur"}).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "currency")
	b.Put(path, map[string]any{"currency": "USD", "guestName": "Ada"}).Want(200)
}

func TestUnmappedLinesAreReported(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	spa := map[string]any{"type": "spa", "amount": 500}

	r := b.Post("/reservations", b.stay("lines", []any{spa, map[string]any{"type": "rent", "amount": 1_000}, spa})).Want(201)
	if r.Len("issues") != 1 || r.String("issues.0.code") != "unassignedAccount" || r.String("issues.0.context.lineType") != "spa" || r.String("issues.0.severity") != "error" {
		t.Errorf("%s", r.Body)
	}

	b.wantEntries("2026-01-29 2000 1000", "2026-01-29 4000o -1000")

	spa["accountId"] = b.account("4020")
	if r = b.Put("/reservations/"+r.String("id"), map[string]any{"lines": []any{spa}}).Want(200); r.Len("issues") != 0 {
		t.Errorf("%s", r.Body)
	}

	b.wantEntries("2026-01-29 2000 500", "2026-01-29 4020o -500")
}

func TestMissingAssignment(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Exec(`delete from account_assignment where team_id = @team and assignment = 'accountsReceivable'`, nil)

	got := b.Post("/reservations", b.stay()).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
	if got.String("context.assignments.0") != "accountsReceivable" {
		t.Errorf("%s", got.Body)
	}

	b.Post("/reservations", b.stay("lines", []any{})).Want(201)
}

func TestMerchantFeeRecharge(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	r := b.Post("/reservations", b.stay()).Want(201)
	b.Post("/recurring-fees", b.fee("name", "Merchant fee", "type", "merchantFee", "formula", "merchantFee", "defaultRate", 100_000,
		"creditAccountId", b.account("4120"), "debitAccountId", b.account("5120"))).Want(201)

	revenue := []string{"2026-01-29 2000 128800", "2026-01-29 4000o -100000", "2026-01-29 4010o -15000", "2026-01-29 2100 -13800"}
	b.wantEntries(revenue...)
	b.pay(r.ID("id"), 64_400, 1_898)
	b.pay(r.ID("id"), 64_400, 1_898)
	b.wantEntries(append(revenue, "2026-01-29 5120o 3796", "2026-01-29 4120m -3796")...)

	if got := b.Get("/reservations/" + r.String("id")).Want(200); got.String("payment.status") != "paid" {
		t.Errorf("%s", got.Body)
	}
}

// Proves: BKC-05, DRY-13, RSN-16, RSN-53, RSN-63.
func TestLocks(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	r := b.Post("/reservations", b.stay()).Want(201)
	path := "/reservations/" + r.String("id")

	b.Exec(`update team set books_closed_at = '2026-01-30' where id = @team`, nil)

	locked := b.Put(path, map[string]any{"checkIn": "2026-01-30"}, "x-ignore-books-closed-at", "true").WantError(apierr.CodeForbidden, apierr.ReasonReservationLocked)
	if locked.String("context.lockReason") != "period" || locked.String("context.booksClosedAt") != "2026-01-30" {
		t.Errorf("%s", locked.Body)
	}

	b.Post("/reservations", b.stay()).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	b.Post("/reservations", b.stay("generalLedgerPostingAt", "2026-01-30")).Want(201)

	if got := b.Put(path, map[string]any{"guestName": "Grace"}).Want(200); got.String("lock.status") != "locked" || got.String("lock.booksClosed.date") != "2026-01-30" {
		t.Errorf("what is not posted can change: %s", got.Body)
	}

	statement := id.New(b.DB.Now())
	b.Exec(`update team set books_closed_at = null where id = @team`, nil)
	b.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
			expenses, payouts, balance_end, reserve, created_at, updated_at)
		values (@team, @id, 's1', @period, @listing, 'published', 'usd', '2026-01-01', '2026-01-31', 0, 0, 0, 0, 0, 0, @now, @now)`,
		db.Args{"id": statement, "period": b.period, "listing": b.listing, "now": b.DB.Now()})

	refused := b.Post("/reservations", b.stay()).WantError(apierr.CodeForbidden, apierr.ReasonStatementPeriod)
	if refused.String("context.lockReason") != "statement" || refused.String("context.statementIds.0") != statement.String() {
		t.Errorf("%s", refused.Body)
	}

	b.Post("/reservations", b.stay("checkIn", "2026-02-01")).Want(201)

	if got := b.Get(path).Want(200); got.String("lock.statementPeriod.hits.0.openFrom") != "2026-02-01" {
		t.Errorf("%s", got.Body)
	}

	b.Exec(`update ledger_entry set statement_id = @statement where team_id = @team and party = 'owners' and txn_at < '2026-02-01'`, db.Args{"statement": statement})
	b.Put(path, map[string]any{"status": "canceled"}).WantError(apierr.CodeForbidden, apierr.ReasonReservationLocked)

	if got := b.Get(path).Want(200); got.String("lock.ownerStatement.ids.0") != statement.String() || got.String("status") != "booked" {
		t.Errorf("%s", got.Body)
	}
}

// Proves: PAG-33, PAG-34, PAG-35.
func TestList(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	var ids []string

	for i, c := range [][]any{
		{"guestName", "zoe", "checkIn", "2026-01-31", "bookedAt", "2025-06-01", "bookingPlatform", "Airbnb"},
		{"guestName", "Adam", "checkIn", "2026-01-01", "confirmationCode", "HM50%"},
		{"guestName", nil, "checkIn", "2025-12-31", "bookedAt", "2025-05-01", "status", "canceled"},
	} {
		body := b.stay(append(c, "uniqueRef", "r"+strconv.Itoa(i))...)
		if body["guestName"] == nil {
			delete(body, "guestName")
		}

		ids = append(ids, b.Post("/reservations", body).Want(201).String("id"))
	}

	paid, err := id.Parse(ids[1])
	if err != nil {
		t.Fatal(err)
	}

	b.pay(paid, 128_799, 100)
	b.Exec(`update listing_ownership_period set business_model = 'co_host', start_at = '2026-01-15' where team_id = @team`, nil)
	b.Put("/reservations/"+ids[2], map[string]any{"type": "ownerStay"}).Want(200)

	shortRef := b.Get("/reservations/" + ids[1]).Want(200).String("shortRef")
	for query, want := range map[string]string{
		"":                             "r0 r1 r2",
		"sort=checkIn":                 "r2 r1 r0",
		"sort=guestName":               "r1 r0 r2",
		"sort=-guestName":              "r0 r1 r2",
		"sort=bookedAt":                "r2 r0 r1",
		"sort=-bookedAt":               "r0 r2 r1",
		"date=2026":                    "r0 r1",
		"date=2026-01":                 "r0 r1",
		"date=2026-01-01...2026-01-31": "r0 r1",
		"date=2026-01-01...2026-01-31&isDateRangeEndInclusive=false": "r1",
		"date=2025&dateField=bookedAt":                               "r0 r2",
		"date=2026-02-03&dateField=checkOut":                         "r0 r1 r2",
		"status=canceled":                                            "r2",
		"search=ADA":                                                 "r1",
		"search=50%25":                                               "r1",
		"search=_":                                                   "",
		"bookingChannel=airbnb":                                      "r0",
		"listingId=" + b.listing.String() + "&status=booked":         "r0 r1",
		"listingId=" + b.period.String():                             "",
		"limit=1&page=2":                                             "r1",
		"ids=!" + ids[0]:                                             "r1 r2",
		"ids=" + ids[0] + "," + ids[2]:                               "r0 r2",
		"ids=" + ids[0] + ",!" + ids[0]:                              "",
		"paidStatus=unpaid":                                          "r0",
		"paidStatus=underpaid":                                       "r1",
		"paidStatus=overpaid":                                        "",
		"paidStatus=paid":                                            "r2",
		"paidStatus=!paid":                                           "r0 r1",
		"shortRefs=" + shortRef:                                      "r1",
		"uniqueRefs=r0,r2":                                           "r0 r2",
		"type=ownerStay":                                             "r2",
		"type=guest":                                                 "r0 r1",
		"businessModel=co_host":                                      "r0",
		"businessModel=managed":                                      "",
		"lineType=rent,none":                                         "r0 r1 r2",
		"lineType=none":                                              "",
		"dateField=payment&date=2026-01-05":                          "r1",
		"dateField=payment&date=2026-02":                             "",
		"dateField=intersection&date=2026-01-31":                     "r0 r1 r2",
		"dateField=intersection&date=2026-01-30":                     "r1 r2",
		"dateField=intersection&date=2026-02-03":                     "",
		"amount=128800":                                              "r0 r1",
		"amount=-5...0":                                              "r2",
		"amount=128801...200000":                                     "",
	} {
		got := b.Get("/reservations?" + query).Want(200)

		refs := ""
		for i := range got.Len("data") {
			if refs != "" {
				refs += " "
			}

			refs += got.String("data." + strconv.Itoa(i) + ".uniqueRef")
		}

		if refs != want {
			t.Errorf("%s: %s, want %s", query, refs, want)
		}
	}

	if got := b.Get("/reservations").Want(200); got.Has("data.0.lines") || got.String("data.0.financials.total") != "128800" {
		t.Errorf("%s", got.Body)
	}

	if got := b.Get("/reservations?includeLines=true").Want(200); got.Len("data.0.lines") != 3 {
		t.Errorf("%s", got.Body)
	}

	for _, wrong := range []string{"date=2026-1", "date=2026-01-01..2026-01-02", "date=2026-01-02...2026-01-01"} {
		b.Get("/reservations?"+wrong).WantError(apierr.CodeBadRequest, "").WantIssue("dateRange", "date")
	}

	for _, wrong := range []string{"amount=2...1", "amount=1..2", "amount=1.5", "amount=9999999999999999...1"} {
		b.Get("/reservations?"+wrong).WantError(apierr.CodeBadRequest, "")
	}

	b.Get("/reservations?dateField=arrival").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "dateField")
}

// Proves: INIT-36, INIT-37, INIT-38, DRY-53, AUTH-23.
func TestRefreshJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one, two := b.Post("/reservations", b.stay()).Want(201).String("id"), b.Post("/reservations", b.stay("checkIn", "2026-01-15")).Want(201).String("id")

	const path = "/reservations/journal-entries"

	expected := b.entries()

	single := b.Post(path, map[string]any{"ids": []string{one}}).Want(200)
	if single.String("data.0.id") != one || single.String("data.0.journalStatus.status") != "current" || single.Int("total") != 1 || single.Has("operationId") {
		t.Errorf("%s", single.Body)
	}

	b.wantEntries(expected...)

	b.Exec(`delete from ledger_entry where team_id = @team`, nil)

	several := b.Post(path, map[string]any{"ids": []string{one, two}}).Want(202)
	if several.String("type") != "reservation-journal-refresh" || several.String("status") != "queued" || several.Has("data") {
		t.Errorf("%s", several.Body)
	}

	b.Work()
	b.wantEntries(expected...)

	b.Exec(`delete from ledger_entry where team_id = @team`, nil)
	b.Post(path, map[string]any{}).Want(202)
	b.Work()
	b.wantEntries(expected...)

	b.Exec(`delete from ledger_entry where team_id = @team`, nil)
	b.Exec(`update team set books_closed_at = '2026-01-20' where id = @team`, nil)
	b.Post(path, map[string]any{"ids": []string{two}, "lockPolicy": "strict"}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	b.Post(path, map[string]any{"ids": []string{two}}).Want(200)
	b.wantEntries()

	unknown := id.New(b.DB.Now()).String()
	b.Post(path, map[string]any{"ids": []string{one, unknown}}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "ids.1")
	b.Post(path, map[string]any{"ids": []string{}}).WantError(apierr.CodeBadRequest, "")
	b.Post(path+"?dryRun=true", map[string]any{"ids": []string{one}}).WantError(apierr.CodeBadRequest, "")
	b.As([]string{"reservations:write"}, nil).Post(path, map[string]any{}).WantError(apierr.CodeForbidden, "")
}

func TestRefreshTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee()).Want(201)

	var ids []id.ID
	for i := range 12 {
		ids = append(ids, b.Post("/reservations", b.stay("checkIn", "2026-01-"+strconv.Itoa(10+i))).Want(201).ID("id"))
	}

	b.Exec(`update team set default_revenue_recognition = 'proRata' where id = @team`, nil)

	refresh := func() (change ledger.Change) {
		b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			change, err = reservation.Refresh(ctx, tx, ids, ledger.Lenience{})
			return err
		})

		return change
	}
	// Each stay has revenue and a fee, once before and in two months after.
	if got := refresh(); got != (ledger.Change{Added: 48, Removed: 24}) {
		t.Errorf("first: %+v", got)
	}

	if got := refresh(); !got.IsZero() {
		t.Errorf("second: %+v", got)
	}
}

// Transactions that know a reservation by its confirmation code or guest are looked for when it takes such a name on or
// gives it up, no more.
func TestWaitingTransactions(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	elsewhere := b.Post("/reservations", b.rent("elsewhere", 100)).Want(201)
	b.pay(elsewhere.ID("id"), 100, 3)
	b.Exec(`update transaction_line set reservation_id = null, match_confirmation_code = case position when 0 then 'HM1' end,
		match_stripe_guest_ref = case position when 1 then 'cus_1' end where team_id = @team`, nil)

	started := 0
	starts := func(what string, n int) {
		t.Helper()

		started += n
		if got := b.Get("/operations").Want(200); got.Len("items") != started {
			t.Errorf("%s: %s", what, got.Body)
		}
	}
	starts("no name", 0)

	path := "/reservations/" + b.Post("/reservations", b.rent("one", 100, "confirmationCode", "HM1")).Want(201).String("id")

	starts("a new reservation", 1)
	b.Put(path, object{"guestName": "Ann", "lines": []any{}}).Want(200)
	starts("another field", 0)
	b.Put(path, object{"confirmationCode": "HM2"}).Want(200)
	starts("the code given up", 1)
	b.Put(path, object{"metadata": object{"stripeGuestRef": "cus_1"}}).Want(200)
	starts("a guest", 1)
	b.Put(path, object{"status": "inactive"}).Want(200)
	starts("an inactive reservation", 1)
	b.Post("/reservations/batch", object{"data": []any{object{"uniqueRef": "one", "guests": 2}, object{"uniqueRef": "elsewhere", "confirmationCode": "HM1"}}}).Want(200)
	starts("a batch", 1)
}
