package fee_test

import (
	"context"
	"slices"
	"testing"

	"stayledger/domain/account"
	"stayledger/domain/fee"
	"stayledger/domain/reservation"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type books struct {
	*apitest.Team
	t             testing.TB
	listing       id.ID
	credit, debit id.ID
}

func newBooks(t testing.TB) *books {
	t.Helper()
	endpoints := slices.Concat(fee.Endpoints(reservation.RefreshListings), reservation.Endpoints())
	b := &books{t: t, Team: apitest.New(t, apitest.Config{Endpoints: endpoints})}
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := account.InstallStandard(ctx, tx); err != nil {
			return err
		}
		b.listing = tx.NewID()
		if _, err := tx.Exec(ctx, `insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at)
			values (@team, @id, 'l1', 'Villa', 'usd', @now, @now)`, db.Args{"team": tx.Team, "id": b.listing, "now": tx.Now}); err != nil {
			return err
		}
		for code, to := range map[string]*id.ID{"4100": &b.credit, "5100": &b.debit} {
			v, err := db.Get[id.ID](ctx, tx, `select id from account where team_id = @team and code = @code`, db.Args{"team": tx.Team, "code": code})
			if err != nil {
				return err
			}
			*to = v
		}
		return nil
	})
	return b
}

// fee is the body of a 20 % management fee, with changes in name, value pairs; a nil value removes the field.
func (b *books) fee(changes ...any) map[string]any {
	body := map[string]any{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "creditParty": "manager",
		"debitParty": "owners", "creditAccountId": b.credit, "debitAccountId": b.debit,
	}
	for i := 0; i+1 < len(changes); i += 2 {
		name, _ := changes[i].(string)
		if body[name] = changes[i+1]; changes[i+1] == nil {
			delete(body, name)
		}
	}
	return body
}

func (b *books) subscriptions(periods ...map[string]any) []any {
	out := []any{}
	for _, p := range periods {
		p["listingId"] = b.listing
		out = append(out, p)
	}
	return out
}

// charged is what the owners are charged in the ledger, in cents.
func (b *books) charged() (cents int64) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		cents, err = db.Get[int64](ctx, tx, `select coalesce(sum(cent_total), 0)::bigint from ledger_entry where team_id = @team and account_id = @account`,
			db.Args{"team": tx.Team, "account": b.debit})
		return err
	})
	return cents
}

func (b *books) wantCharged(want int64) {
	b.t.Helper()
	if got := b.charged(); got != want {
		b.t.Errorf("charged %d, want %d", got, want)
	}
}

func (b *books) stay() {
	b.t.Helper()
	b.Post("/reservations", map[string]any{"listingId": b.listing, "checkIn": "2026-01-29", "checkOut": "2026-02-03", "lines": []any{
		map[string]any{"type": "rent", "amount": 100_000},
	}}).Want(201)
}

// Proves: DRY-40.
func TestFeeAndItsJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay()
	f := b.Post("/recurring-fees", b.fee("uniqueRef", "f-1", "listingSubscriptions", b.subscriptions(map[string]any{"endAt": "2026-01-29"},
		map[string]any{"startAt": "2026-01-29", "rate": 10_000}))).Want(201)
	if f.String("status") != "active" || f.String("creditAccount.name") != "Management commission revenue" || f.Len("listingPeriods") != 2 ||
		f.Len("bookingChannelsFilter") != 0 || f.String("revenueRecognition") != "null" {
		t.Errorf("%s", f.Body)
	}
	b.wantCharged(10_000)
	path := "/recurring-fees/" + f.String("id")
	b.Put(path, map[string]any{"listingSubscriptions": b.subscriptions(map[string]any{})}).Want(200)
	b.wantCharged(20_000)
	b.Put(path, map[string]any{"rateType": "flat", "defaultRate": 2_500, "revenueRecognition": "checkOut"}).Want(200)
	b.wantCharged(2_500)
	if got := b.Put(path, map[string]any{"bookingChannelsFilter": []string{"airbnb"}, "uniqueRef": nil}).Want(200); got.String("uniqueRef") != "null" ||
		got.String("revenueRecognition") != "checkOut" || got.String("name") != "Management" {
		t.Errorf("%s", got.Body)
	}
	b.wantCharged(0)
	b.Put(path, map[string]any{"bookingChannelsFilter": []string{}, "revenueRecognition": nil}).Want(200)
	b.wantCharged(2_500)
	b.Put(path, map[string]any{"status": "inactive"}).Want(200)
	b.wantCharged(0)
	if got := b.Get(path).Want(200); got.Len("listingPeriods") != 1 || got.String("status") != "inactive" {
		t.Errorf("%s", got.Body)
	}
	b.Get("/recurring-fees?status=inactive&type=managementFee&search=MANAG").Want(200).Value("data.0.id")
	if got := b.Get("/recurring-fees?status=active").Want(200); got.Len("data") != 0 {
		t.Errorf("%s", got.Body)
	}
}

func TestFeesLeaveLockedJournalsAlone(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay()
	b.Exec(`update team set books_closed_at = '2026-02-01' where id = @team`, nil)
	b.Post("/recurring-fees", b.fee("listingSubscriptions", b.subscriptions(map[string]any{}))).Want(201)
	b.wantCharged(0)
}

// The lock of a fee names what holds the entries that it made, in the list as well as in the single read.
func TestFeeLock(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	period, statement := id.New(b.DB.Now()), id.New(b.DB.Now())
	b.Exec(`insert into listing_ownership_period (team_id, id, listing_id, created_at, updated_at) values (@team, @id, @listing, now(), now())`,
		db.Args{"id": period, "listing": b.listing})
	b.stay()
	path := "/recurring-fees/" + b.Post("/recurring-fees", b.fee("listingSubscriptions", b.subscriptions(map[string]any{}))).Want(201).String("id")
	b.Post("/recurring-fees", b.fee("name", "Unused")).Want(201)
	if got := b.Get(path).Want(200); got.String("lock.status") != "open" || got.String("lock.booksClosed") != "null" || got.String("lock.reconciled") != "null" {
		t.Errorf("%s", got.Body)
	}
	b.Exec(`update team set books_closed_at = '2026-01-29' where id = @team`, nil)
	if got := b.Get(path); got.String("lock.status") != "open" {
		t.Errorf("%s", got.Body)
	}
	b.Exec(`update team set books_closed_at = '2026-01-30' where id = @team`, nil)
	b.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
			expenses, payouts, balance_end, reserve, created_at, updated_at)
		values (@team, @id, 's1', @period, @listing, 'published', 'usd', '2026-01-01', '2026-01-31', 0, 0, 0, 0, 0, 0, now(), now())`,
		db.Args{"id": statement, "period": period, "listing": b.listing})
	b.Exec(`update ledger_entry set statement_id = @statement where team_id = @team and party = 'owners'`, db.Args{"statement": statement})
	list := b.Get("/recurring-fees?sort=name").Want(200)
	for at, r := range map[string]*apitest.Response{"lock": b.Get(path).Want(200), "data.0.lock": list} {
		for name, want := range map[string]string{
			".status": "locked", ".booksClosed.date": "2026-01-30", ".ownerStatement.ids.0": statement.String(),
			".statementPeriod.hits.0.listingId": b.listing.String(), ".statementPeriod.hits.0.txnAt": "2026-01-29", ".statementPeriod.hits.0.openFrom": "2026-02-01",
		} {
			if got := r.String(at + name); got != want {
				t.Errorf("%s is %s, want %s", at+name, got, want)
			}
		}
	}
	if list.String("data.1.lock.status") != "open" {
		t.Errorf("%s", list.Body)
	}
}

func TestFeeRefusals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	unknown := id.New(b.DB.Now())
	for name, c := range map[string]struct {
		body       map[string]any
		code, path string
	}{
		"unknown credit account": {b.fee("creditAccountId", unknown), "notFound", "creditAccountId"},
		"unknown debit account":  {b.fee("debitAccountId", unknown), "notFound", "debitAccountId"},
		"unknown listing":        {b.fee("listingSubscriptions", []any{map[string]any{"listingId": unknown}}), "notFound", "listingSubscriptions.0.listingId"},
		"no formula":             {b.fee("formula", nil), "formulaInvalid", "formula"},
		"wrong formula":          {b.fee("formula", "rent +"), "formulaInvalid", "formula"},
		"unknown line type":      {b.fee("formula", "rent + rnet"), "formulaInvalid", "formula"},
		"wrong flat formula":     {b.fee("rateType", "flat", "formula", "?"), "formulaInvalid", "formula"},
		"overlap":                {b.fee("listingSubscriptions", b.subscriptions(map[string]any{}, map[string]any{})), "overlap", "startAt"},
		"empty period":           {b.fee("listingSubscriptions", b.subscriptions(map[string]any{"startAt": "2026-01-02", "endAt": "2026-01-02"})), "order", "endAt"},
		"unknown type":           {b.fee("type", "tip"), "enum", "type"},
		"no name":                {b.fee("name", nil), "required", "name"},
	} {
		t.Log(name)
		b.Post("/recurring-fees", c.body).WantError(apierr.CodeBadRequest, "").WantIssue(c.code, c.path)
	}
	if got := b.Post("/recurring-fees", b.fee("formula", "rent + rnet")); got.Int("context.position") != 8 {
		t.Errorf("%s", got.Body)
	}
	b.Post("/recurring-fees", b.fee("uniqueRef", "f")).Want(201)
	b.Post("/recurring-fees", b.fee()).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	b.Post("/recurring-fees", b.fee("name", "Other", "uniqueRef", "f")).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	b.Get("/recurring-fees/"+unknown.String()).WantError(apierr.CodeNotFound, "")
	b.Put("/recurring-fees/"+unknown.String(), map[string]any{}).WantError(apierr.CodeNotFound, "")
}

// Proves: DRY-41, ERR-111.
func TestListingPeriods(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay()
	feeID := b.Post("/recurring-fees", b.fee()).Want(201).String("id")
	const path = "/recurring-fees/listing-periods"
	b.wantCharged(0)
	p := b.Post(path, map[string]any{"recurringFeeId": feeID, "listingId": b.listing, "startAt": "2026-01-01", "rate": 5_000}).Want(201)
	if p.String("recurringFee.name") != "Management" || p.String("endAt") != "null" || p.Int("rate") != 5_000 {
		t.Errorf("%s", p.Body)
	}
	b.wantCharged(5_000)
	own := path + "/" + p.String("id")
	b.Put(own, map[string]any{"rate": nil}).Want(200)
	b.wantCharged(20_000)
	b.Post(path, map[string]any{"recurringFeeId": feeID, "listingId": b.listing, "startAt": "2027-01-01"}).WantError(apierr.CodeBadRequest, "").WantIssue("overlap", "startAt")
	b.Put(own, map[string]any{"endAt": "2026-01-01"}).WantError(apierr.CodeBadRequest, "").WantIssue("order", "endAt")
	b.Put(own, map[string]any{"endAt": "2026-01-29"}).Want(200)
	b.wantCharged(0)
	b.Post(path, map[string]any{"recurringFeeId": feeID, "listingId": b.listing, "startAt": "2026-01-29"}).Want(201)
	b.wantCharged(20_000)
	if got := b.Get(path + "?recurringFeeId=" + feeID + "&listingIds=" + b.listing.String() + "&sort=-startAt").Want(200); got.Len("data") != 2 || got.String("data.0.startAt") != "2026-01-29" {
		t.Errorf("%s", got.Body)
	}
	b.Delete(own).Want(204)
	b.Delete(own).WantError(apierr.CodeNotFound, "")
	b.Put(own, map[string]any{}).WantError(apierr.CodeNotFound, "")
	if got := b.Get(path).Want(200); got.Len("data") != 1 {
		t.Errorf("%s", got.Body)
	}
	b.Get(path+"?recurringFeeId=abc").WantError(apierr.CodeBadRequest, "").WantIssue("uuid", "recurringFeeId")
	unknown := id.New(b.DB.Now())
	b.Post(path, map[string]any{"recurringFeeId": unknown, "listingId": unknown}).WantError(apierr.CodeBadRequest, "").
		WantIssue("notFound", "recurringFeeId").WantIssue("notFound", "listingId")
}

func TestFeesOfAnotherTeamAreUnknown(t *testing.T) {
	t.Parallel()
	b, other := newBooks(t), newBooks(t)
	feeID := b.Post("/recurring-fees", b.fee()).Want(201).String("id")
	other.Get("/recurring-fees/"+feeID).WantError(apierr.CodeNotFound, "")
	other.Post("/recurring-fees/listing-periods", map[string]any{"recurringFeeId": feeID, "listingId": other.listing}).
		WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "recurringFeeId")
	other.Post("/recurring-fees", other.fee("creditAccountId", b.credit)).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "creditAccountId")
}
