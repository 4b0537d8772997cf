// Package merge_test merges contacts and listings of whole teams, and holds the books afterwards to those before.
package merge_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/id"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = world.Object
	array  = world.Array
)

// scene is a team with two listings of one owner, of which the second is there twice.
type scene struct {
	*world.World

	ada, vendor id.ID
	house, twin world.Listing
}

func newScene(t *testing.T) *scene {
	t.Helper()

	s := &scene{World: world.New(t)}
	s.ada, s.vendor = s.Contact("owner", "Ada"), s.Contact("vendor", "Fix-It")
	s.house, s.twin = s.Listing("House", s.ada), s.Listing("House again", s.ada)

	return s
}

// path returns the path of a merge.
func path(noun string, from id.ID) string { return "/" + noun + "/" + from.String() + "/merge" }

// plan runs a merge dry and returns the plan.
func (s *scene) plan(noun string, from, into id.ID) *apitest.Response {
	s.T.Helper()

	before := s.Fingerprint()
	p := s.Post(path(noun, from)+"?dryRun=true", object{"intoId": into}).Want(200)

	if after := s.Fingerprint(); after != before {
		s.T.Errorf("the plan changed rows:\n%s\n%s", before, after)
	}

	if p.Value("applied") != false {
		s.T.Errorf("a dry run says that it was applied: %s", p.Body)
	}

	return p
}

// try merges with a hash.
func (s *scene) try(noun string, from, into id.ID, hash any, headers ...string) *apitest.Response {
	s.T.Helper()
	return s.Post(path(noun, from)+"?dryRun=false", object{"intoId": into, "planHash": hash}, headers...)
}

// merge plans and merges.
func (s *scene) merge(noun string, from, into id.ID) *apitest.Response {
	s.T.Helper()
	return s.try(noun, from, into, s.plan(noun, from, into).String("planHash")).Want(200)
}

// rows selects texts of the team.
func (s *scene) rows(sql string, args db.Args) (out []string) {
	s.T.Helper()

	if args == nil {
		args = db.Args{}
	}

	args["team"] = s.ID

	s.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[string](ctx, tx, sql, args)
		return err
	})

	return out
}

// entries returns the entries of the ledger without their ids, in order.
func (s *scene) entries(columns string) []string {
	s.T.Helper()

	return s.rows(`select concat_ws(' ', `+columns+`, sum(cent_total)) from ledger_entry where team_id = @team and status = 'active'
		group by `+columns+` having sum(cent_total) <> 0 order by 1`, nil)
}

const (
	inTotal    = `ledger, account_id, party, txn_at, currency`
	byListing  = inTotal + `, listing_id`
	completely = byListing + `, source_id, txn_code, ownership_period_id, contact_id, reservation_id, transaction_id`
)

// figures are the sums of statements that are compared.
var figures = []string{
	"total", "financials.balanceStart", "financials.netRevenue", "financials.expenses", "financials.payouts", "financials.balanceEnd",
}

// drafts adds up the statements of the months of January to March.
func (s *scene) drafts() []string {
	s.T.Helper()

	var out []string

	for _, month := range []string{"2026-01", "2026-02", "2026-03"} {
		got := s.Get("/statements?limit=250&month=" + month).Want(200)
		sums := map[string]int64{}

		for i := range got.Len("data") {
			for _, field := range figures {
				sums[field] += got.Int("data." + strconv.Itoa(i) + "." + field)
			}
		}

		for _, field := range figures {
			out = append(out, month+" "+field+" "+strconv.FormatInt(sums[field], 10))
		}
	}

	return out
}

// trial returns the trial balance of the year.
func (s *scene) trial() string {
	s.T.Helper()
	return string(s.Get("/reports/trial-balance?startDate=2026&endDate=2026").Want(200).Body)
}

// rederive derives all journals of the team anew.
func (s *scene) rederive() {
	s.T.Helper()
	s.Post("/transactions/journal-entries", object{})
	s.Post("/reservations/journal-entries", object{})
	s.Work()
}

// trade books some months of random business for a listing, a part of it with a vendor.
func (s *scene) trade(r *rand.Rand, l world.Listing) {
	s.T.Helper()

	date := func() string { return "2026-0" + strconv.Itoa(1+r.IntN(3)) + "-" + strconv.Itoa(110 + r.IntN(17))[1:] }

	for range 2 + r.IntN(3) {
		s.Stay(l, date(), 10_000+r.Int64N(90_000))
	}

	for range 1 + r.IntN(3) {
		s.Post("/transactions", object{"type": "expense", "date": date(), "contactId": s.vendor, "accountId": s.Account("1000"), "lines": array{
			object{"accountId": s.Account("5200"), "amount": 100 + r.IntN(5_000), "listingId": l.ID},
			object{"accountId": s.Account("5200"), "amount": 77, "contactId": s.vendor},
		}}).Want(201)
	}

	s.Post("/general-ledger/journals", object{"date": date(), "lines": array{
		object{"accountId": s.Account("1000"), "centTotal": 1_000}, object{"accountId": s.Account("5200"), "centTotal": -1_000, "listingId": l.ID, "contactId": s.vendor},
	}}).Want(201)
}

// The books of two listings of one owner are the same in total before and after they become one; afterwards they are as
// a derivation of everything makes them, and nothing names the listing that went.
//
// Proves: RSN-31, RSN-32.
func TestMergedListingsHaveTheSameBooks(t *testing.T) {
	t.Parallel()

	for seed := range uint64(3) {
		s := newScene(t)
		r := rand.New(rand.NewPCG(seed, 7))

		s.trade(r, s.house)
		s.trade(r, s.twin)
		s.Post("/transactions/recurring-templates", object{
			"type": "expense", "date": "2027-01-01", "pattern": object{"frequency": "monthly"},
			"lines": array{object{"accountId": s.Account("5200"), "amount": 5000, "listingId": s.twin.ID}},
		}).Want(201)
		s.Post("/bank-rules", object{
			"name": "Rule", "priority": 1, "transactionType": "expense", "mode": "suggest",
			"conditions": array{object{"type": "description", "operator": "contains", "value": "x"}},
			"lines":      array{object{"splitMode": "remainder", "accountId": s.Account("5200"), "listingId": s.twin.ID}},
		}).Want(201)
		s.Work()
		s.history("waits", "listingId", s.twin.ID)

		total, trial, drafts := s.entries(inTotal), s.trial(), s.drafts()
		done := s.merge("listings", s.twin.ID, s.house.ID)

		if done.Value("applied") != true || done.Value("blockedBy") != nil {
			t.Errorf("%s", done.Body)
		}

		golden.List(t, "entries in total", s.entries(inTotal), total)
		golden.List(t, "statements in total", s.drafts(), drafts)

		if now := s.trial(); now != trial {
			t.Errorf("the trial balance is\n%s\nand was\n%s", now, trial)
		}

		// All of it is on one listing now, and everything that could make more of it speaks of that one.
		exact := s.entries(completely)
		s.rederive()
		golden.List(t, "entries as derived anew", s.entries(completely), exact)
		s.wantGone(s.twin.ID, "listing", "audit_action", "audit_event", "audit_reference", "api_idempotency", "bank_rule_version", "ledger_balance_kept", "ledger_delta", "ledger_listing_kept")

		if l := s.Get("/listings/" + s.twin.ID.String()).Want(200); l.String("status") != "inactive" {
			t.Errorf("the listing is still in use: %s", l.Body)
		}

		if bad := s.Untold(); len(bad) > 0 {
			t.Errorf("changes without events: %s", strings.Join(bad, "\n"))
		}
	}
}

// wantGone looks for an id in all tables of the team but some.
func (s *scene) wantGone(one id.ID, but ...string) {
	s.T.Helper()

	tables := s.rows(`select table_name::text from information_schema.columns where table_schema = 'public' and column_name = 'team_id' and @team::uuid is not null
		and table_name in (select c.relname::text from pg_class c where c.relkind = 'r') order by 1`, nil)
	for _, table := range tables {
		if slices.Contains(but, table) {
			continue
		}

		if found := s.rows(`select t::text from `+table+` t where t.team_id = @team and position(@id in t::text) > 0`, db.Args{"id": one.String()}); len(found) > 0 {
			s.T.Errorf("%s still names what was merged: %s", table, found)
		}
	}
}

// A contact that is there twice, as a vendor: the books of each listing stay, and all that named it names the other.
//
// Proves: RSN-31, RSN-32.
func TestMergedVendorsHaveTheSameBooks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := rand.New(rand.NewPCG(3, 9))

	s.trade(r, s.house)

	first := s.vendor
	s.vendor = s.Contact("vendor", "Fix It Ltd")
	s.trade(r, s.twin)
	s.Put("/contacts/"+first.String(), object{"uniqueRef": "V-1"}).Want(200)
	s.Post("/transactions/recurring-templates", object{
		"type": "expense", "date": "2027-01-01", "contactId": first, "pattern": object{"frequency": "monthly"},
		"lines": array{object{"accountId": s.Account("5200"), "amount": 5000, "contactId": first}},
	}).Want(201)
	s.Post("/bank-rules", object{
		"name": "Rule", "priority": 1, "transactionType": "expense", "mode": "suggest", "vendorContactId": first,
		"conditions": array{object{"type": "description", "operator": "contains", "value": "x"}},
		"lines":      array{object{"splitMode": "remainder", "accountId": s.Account("5200")}},
	}).Want(201)

	for _, account := range []struct {
		of        id.ID
		isDefault bool
	}{{first, true}, {s.vendor, true}, {first, false}} {
		s.Exec(`insert into payee_method (team_id, id, contact_id, status, account_holder, account_type, last4, routing_last4, numbers, is_default, chosen_at, verified_at, created_at, updated_at)
			values (@team, @id, @of, 'verified', 'Fix-It', 'checking', '1234', '1234', '', @default, @at, @at, @at, @at)`,
			db.Args{"id": id.New(s.DB.Now()), "of": account.of, "default": account.isDefault, "at": s.DB.Now()})
	}

	s.paid(first)
	s.history("old", "contactId", first)
	s.Work()
	s.history("waits", "contactId", first)

	each, drafts, trial := s.entries(byListing), s.drafts(), s.trial()
	s.merge("contacts", first, s.vendor)
	golden.List(t, "entries by listing", s.entries(byListing), each)
	golden.List(t, "statements", s.drafts(), drafts)

	if now := s.trial(); now != trial {
		t.Errorf("the trial balance is\n%s\nand was\n%s", now, trial)
	}

	exact := s.entries(completely)
	s.rederive()
	golden.List(t, "entries as derived anew", s.entries(completely), exact)
	s.wantGone(first, "contact", "audit_action", "audit_event", "audit_reference", "api_idempotency", "bank_rule_version")

	if got := s.rows(`select count(*) filter (where is_default) || ' of ' || count(*) from payee_method where team_id = @team and contact_id = @id`,
		db.Args{"id": s.vendor}); got[0] != "1 of 3" {
		t.Errorf("default methods: %s", got)
	}

	if c := s.Get("/contacts/" + s.vendor.String()).Want(200); c.String("uniqueRef") != "V-1" {
		t.Errorf("%s", c.Body)
	}

	if bad := s.Untold(); len(bad) > 0 {
		t.Errorf("changes without events: %s", strings.Join(bad, "\n"))
	}

	// Both say so, and each refers to the other.
	golden.List(t, "events of the merge", s.rows(`select e.entity_id::text || ' ' || r.id::text from audit_event e
		cross join lateral jsonb_to_recordset(e.refs) r (role text, id uuid) where e.team_id = @team and e.type = 'merged' and r.role = 'owner' order by 1`, nil),
		sorted(first.String()+" "+s.vendor.String(), s.vendor.String()+" "+first.String()))
}

func sorted(texts ...string) []string {
	slices.Sort(texts)
	return texts
}

// The shares of two owners of one listing add up, and an owner who signs in sees the listings of the other from then on.
func TestMergedOwnersShareAdds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	bob, again := s.Contact("owner", "Bob"), s.Contact("owner", "Bob2")
	both := s.Listing("Both", bob, s.ada, again)
	alone := s.Listing("Alone", again)
	s.Stay(both, "2026-01-10", 30_000)
	s.Stay(alone, "2026-01-10", 20_000)

	user := id.New(s.DB.Now())
	s.System(apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `with u as (insert into access_user (id, kind, name, created_at) values (@user, 'person', 'Bob', now()) returning id)
			insert into access_member (team_id, user_id, contact_id, scopes, created_at) select @team, id, @contact, '{statements:read}', now() from u`,
			db.Args{"team": s.ID, "user": user, "contact": again})

		return err
	}))

	each := s.entries(completely)
	s.merge("contacts", again, bob)
	golden.List(t, "entries", s.entries(completely), each)

	p := s.Get("/listings/ownership-periods?ids=" + both.Period.String()).Want(200)
	if p.Len("data.0.members") != 2 || p.ID("data.0.members.0.contactId") != bob || p.Int("data.0.members.0.split") != 66_667 {
		t.Errorf("%s", p.Body)
	}

	if got := s.rows(`select contact_id::text from access_member where team_id = @team and user_id = @user`, db.Args{"user": user}); got[0] != bob.String() {
		t.Errorf("the owner sees what is of %s", got)
	}

	s.Publish("2026-01")

	if got := s.As([]string{"statements:read"}, &bob).Get("/statements?month=2026-01").Want(200); got.Len("data") != 2 {
		t.Errorf("the owner sees %s", got.Body)
	}
}

// A merge asks for the plan that somebody has seen: without one, after a change of anything in it, or for another target
// it changes nothing.
//
// Proves: RSN-31, RSN-32.
func TestAMergeNeedsItsPlan(t *testing.T) {
	t.Parallel()

	for noun, changes := range map[string]map[string]func(s *scene){
		"contacts": {
			"nothing but a bill":  func(s *scene) { s.bill(s.vendor) },
			"the contact":         func(s *scene) { s.Put("/contacts/"+s.vendor.String(), object{"phone": "1"}).Want(200) },
			"the one that stays":  func(s *scene) { s.Put("/contacts/"+s.other("contacts").String(), object{"phone": "1"}).Want(200) },
			"what the books hold": func(s *scene) { s.bill(s.vendor); s.close("2026-02-01") },
		},
		"listings": {
			"a bill":             func(s *scene) { s.Expense(s.twin, "2026-02-01", 100) },
			"a stay":             func(s *scene) { s.Stay(s.twin, "2026-02-01", 100) },
			"a fee of the other": func(s *scene) { s.fee(s.house) },
			"owners of the other": func(s *scene) {
				s.Put("/listings/ownership-periods/"+s.house.Period.String(), object{"reserve": 5}).Want(202)
			},
		},
	} {
		for name, change := range changes {
			s := newScene(t)
			from, into := s.one(noun), s.other(noun)
			s.bill(s.vendor)
			s.Stay(s.twin, "2026-01-10", 5_000)

			hash := s.plan(noun, from, into).String("planHash")
			if again := s.plan(noun, from, into).String("planHash"); again != hash {
				t.Errorf("%s: the hash of the same plan differs", noun)
			}

			before := s.Fingerprint()

			s.Post(path(noun, from)+"?dryRun=false", object{"intoId": into}).WantError(apierr.CodeConflict, apierr.ReasonMergeDryRunRequired)
			s.try(noun, from, into, strings.Repeat("0", 64)).WantError(apierr.CodeConflict, apierr.ReasonMergePlanChanged)
			// The plan is of one direction.
			s.try(noun, into, from, hash).WantError(apierr.CodeConflict, apierr.ReasonMergePlanChanged)

			if after := s.Fingerprint(); after != before {
				t.Errorf("%s: a refused merge changed rows", noun)
			}

			change(s)

			if r := s.try(noun, from, into, hash); r.Status != 409 || r.String("reason") != string(apierr.ReasonMergePlanChanged) {
				t.Errorf("%s, %s: %d %s", noun, name, r.Status, r.Body)
			}
		}
	}
}

// one returns the record of a noun that goes, and other the one that stays.
func (s *scene) one(noun string) id.ID {
	if noun == "contacts" {
		return s.vendor
	}

	return s.twin.ID
}

func (s *scene) other(noun string) id.ID {
	s.T.Helper()

	if noun == "listings" {
		return s.house.ID
	}

	found := s.Get("/contacts?search=Second").Want(200)
	if found.Len("data") == 0 {
		return s.Contact("vendor", "Second")
	}

	return found.ID("data.0.id")
}

// bill books a bill of a vendor in January.
func (s *scene) bill(vendor id.ID) {
	s.T.Helper()
	s.Post("/transactions", object{"type": "expense", "date": "2026-01-10", "contactId": vendor, "accountId": s.Account("1000"), "lines": array{
		object{"accountId": s.Account("5200"), "amount": 900, "listingId": s.house.ID},
	}}).Want(201)
}

// close closes the books before a day.
func (s *scene) close(at string) {
	s.T.Helper()
	s.Post("/team/books-closing", object{"booksClosedAt": at, "reason": "Done"}).Want(201)
}

// fee charges a listing a fee of its own.
func (s *scene) fee(l world.Listing) id.ID {
	s.T.Helper()

	one := s.Post("/recurring-fees", object{
		"name": "Fee " + l.ID.String(), "type": "managementFee", "rateType": "percentage", "defaultRate": 20_000, "formula": "rent",
		"debitAccountId": s.Account("5100"), "debitParty": "owners", "creditAccountId": s.Account("4100"), "creditParty": "manager",
	}).Want(201).ID("id")
	s.Post("/recurring-fees/listing-periods", object{"recurringFeeId": one, "listingId": l.ID}).Want(201)

	return one
}

// Nothing that a statement or closed books hold moves: the plan counts it, and the merge is refused.
func TestNothingLockedMoves(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		noun, lock string
		reason     apierr.Reason
	}{
		{"contacts", "statement", apierr.ReasonStatementAttachment},
		{"contacts", "books", apierr.ReasonBooksClosed},
		{"listings", "statement", apierr.ReasonStatementAttachment},
		{"listings", "books", apierr.ReasonBooksClosed},
	} {
		s := newScene(t)
		from, into := s.one(c.noun), s.other(c.noun)
		s.bill(s.vendor)
		s.Expense(s.twin, "2026-01-10", 700)

		if c.lock == "statement" {
			s.Publish("2026-01")
		} else {
			s.close("2026-02-01")
		}

		p := s.plan(c.noun, from, into)
		if p.String("blockedBy") != string(c.reason) || !strings.Contains(string(p.Body), `"lockedCount":1`) {
			t.Errorf("%s, %s: %s", c.noun, c.lock, p.Body)
		}

		before := s.entries(completely)
		s.try(c.noun, from, into, p.String("planHash")).WantError(apierr.CodeConflict, c.reason)
		golden.List(t, "entries", s.entries(completely), before)
	}
}

// An owner of a listing with a statement stays its owner, whatever the entries are.
func TestAnOwnerOnAStatementStays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	again := s.Contact("owner", "Ada2")
	s.Stay(s.house, "2026-01-10", 5_000)
	s.Publish("2026-01", s.house)

	p := s.plan("contacts", s.ada, again)
	if p.String("blockedBy") != string(apierr.ReasonStatementAttachment) {
		t.Errorf("%s", p.Body)
	}

	s.try("contacts", s.ada, again, p.String("planHash")).WantError(apierr.CodeConflict, apierr.ReasonStatementAttachment)
}

// Entries do not come under a statement that the other listing has already.
func TestNothingComesUnderAStatement(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Stay(s.house, "2026-01-10", 5_000)
	s.Publish("2026-01", s.house)
	s.Stay(s.twin, "2026-01-12", 5_000)

	before := s.entries(completely)
	s.Post(path("listings", s.twin.ID)+"?dryRun=true", object{"intoId": s.house.ID}).WantError(apierr.CodeForbidden, apierr.ReasonReservationLocked)
	golden.List(t, "entries", s.entries(completely), before)
}

// Owners never change by a merge: periods on free days move, those of the same owners are absorbed, others refuse it.
func TestOwnersOfMergedListings(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name        string
		house, twin object // first and last days, and the owner of the second
		other       bool
		want        int
	}{
		{"the same days", object{}, object{}, false, 200},
		{"days within", object{}, object{"startAt": "2026-01-01", "endAt": "2026-02-01"}, false, 200},
		{"days before", object{"startAt": "2026-01-01"}, object{"endAt": "2026-01-01"}, true, 200},
		{"days beyond", object{"startAt": "2026-01-01"}, object{"startAt": "2025-12-01"}, false, 409},
		{"another owner", object{}, object{}, true, 409},
	} {
		s := newScene(t)
		bob := s.Contact("owner", "Bob")
		s.Put("/listings/ownership-periods/"+s.house.Period.String(), c.house).Want(202)

		twin := object{"startAt": nil}
		maps.Copy(twin, c.twin)

		if c.other {
			twin["members"] = array{object{"contactId": bob, "split": 100_000}}
		}

		s.Put("/listings/ownership-periods/"+s.twin.Period.String(), twin).Want(202)
		s.Work()
		s.Stay(s.twin, "2026-01-10", 7_000)

		owners := s.entries(inTotal)

		p := s.Post(path("listings", s.twin.ID)+"?dryRun=true", object{"intoId": s.house.ID})
		if p.Status != c.want {
			t.Errorf("%s: %s", c.name, p.Body)
			continue
		}

		if c.want != 200 {
			if p.ID("context.conflictingPeriodIds.0") != s.twin.Period {
				t.Errorf("%s: %s", c.name, p.Body)
			}

			continue
		}

		s.try("listings", s.twin.ID, s.house.ID, p.String("planHash")).Want(200)
		golden.List(t, "entries", s.entries(inTotal), owners)
	}
}

// A fee of one listing does not begin to be charged to what was at the other.
func TestFeesOfMergedListings(t *testing.T) {
	t.Parallel()

	for _, side := range []string{"house", "twin", "both"} {
		s := newScene(t)

		var one id.ID
		if side != "twin" {
			one = s.fee(s.house)
		} else {
			s.fee(s.twin)
		}

		want := 409
		if side == "both" {
			want = 200

			s.Post("/recurring-fees/listing-periods", object{"recurringFeeId": one, "listingId": s.twin.ID}).Want(201)
		}

		s.Work()
		s.Stay(s.twin, "2026-01-10", 7_000)

		before := s.entries(inTotal)

		p := s.Post(path("listings", s.twin.ID)+"?dryRun=true", object{"intoId": s.house.ID})
		if p.Status != want {
			t.Errorf("%s: %s", side, p.Body)
			continue
		}

		if want == 200 {
			s.try("listings", s.twin.ID, s.house.ID, p.String("planHash")).Want(200)
			golden.List(t, "entries", s.entries(inTotal), before)
		}
	}
}

// history imports history of the general ledger with entries that name records in a field, and one that names none.
func (s *scene) history(ref, field string, records ...id.ID) {
	s.T.Helper()

	entry := func(code string, cents int) object {
		return object{"date": "2025-11-30", "txnRef": ref, "accountId": s.Account(code), "centTotal": cents}
	}

	entries := array{entry("1000", 1_000*len(records))}

	for _, r := range records {
		e := entry("2400", -1_000)
		e[field] = r
		entries = append(entries, e)
	}

	s.Post("/general-ledger/historical?dryRun=false", object{"entries": entries}).Want(202)
}

// paid adds a payment of January to a contact, and a link that shows the contact a statement.
func (s *scene) paid(contact id.ID) {
	s.T.Helper()

	next := func() id.ID { return id.New(s.DB.Now()) }
	connection := next()
	transaction := s.Post("/transactions", object{"type": "expense", "date": "2026-01-10", "contactId": contact, "accountId": s.Account("1000"), "lines": array{
		object{"accountId": s.Account("5200"), "amount": 900, "listingId": s.house.ID},
	}}).Want(201).ID("id")

	s.Exec(`with connected as (
			insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
			values (@team, @connection, @ref, 'nacha', 'Bank', 'active', @at, @at)),
		batch as (insert into payment_batch (team_id, id, connection_id, created_at) values (@team, @id, @connection, @at)),
		link as (insert into access_owner_link (team_id, id, statement_id, contact_id, hash, created_by, expires_at, created_at)
			values (@team, @id, @id, @contact, @id::uuid::text::bytea, @id, @at, @at))
		insert into payment (team_id, id, short_ref, connection_id, batch_id, transaction_id, contact_id, payee_method_id, funding_account_id, amount, currency, date,
			status, created_at, updated_at)
		select @team, @id, @ref, @connection, @id, @transaction, @contact, m.id, @bank, 900, 'usd', '2026-01-10', 'paid', @at, @at
		from payee_method m where m.team_id = @team and m.contact_id = @contact and m.is_default`, db.Args{
		"connection": connection, "ref": connection.ShortRef(), "id": next(), "transaction": transaction, "contact": contact,
		"bank": s.Account("1000"), "at": s.DB.Now(),
	})
}

// Imported history names the listing that stays, too, and is otherwise what it was.
func TestHistoryOfMergedListings(t *testing.T) {
	t.Parallel()
	s := newScene(t)

	s.history("old-1", "listingId", s.house.ID, s.twin.ID)
	s.Work()

	history := func(listing string) []string {
		return s.rows(`select concat_ws(' ', id, account_id, txn_at, cent_total, status, txn_code, party, `+listing+`)
			from ledger_entry where team_id = @team and ledger = 'historical' order by 1`, nil)
	}

	want := history(`case when listing_id is not null then '` + s.house.ID.String() + `' end`)
	s.merge("listings", s.twin.ID, s.house.ID)
	golden.List(t, "entries", history("listing_id"), want)
}

func TestMergesThatCannotBe(t *testing.T) {
	t.Parallel()
	s, foreign := newScene(t), newScene(t)
	unknown := id.New(s.DB.Now())
	euro := s.Post("/listings", object{"name": "Euro", "defaultCurrency": "eur"}).Want(201).ID("id")
	gone := s.Post("/listings", object{"name": "Gone"}).Want(201).ID("id")
	s.Put("/listings/"+gone.String(), object{"status": "inactive"}).Want(200)

	group := s.Post("/listings", object{"name": "Group"}).Want(201).ID("id")
	member := s.Post("/listings", object{"name": "Member"}).Want(201).ID("id")
	s.Put("/listings/"+member.String()+"/parent", object{"parentId": group})
	s.Work()

	for _, c := range []struct {
		noun       string
		from, into id.ID
		issue      string
	}{
		{"contacts", s.ada, unknown, "notFound"},
		{"contacts", s.ada, foreign.ada, "notFound"},
		{"contacts", s.ada, s.ada, "contradiction"},
		{"contacts", s.ada, s.vendor, "contradiction"},
		{"listings", s.twin.ID, foreign.house.ID, "notFound"},
		{"listings", s.twin.ID, s.twin.ID, "contradiction"},
		{"listings", s.twin.ID, euro, "contradiction"},
		{"listings", s.twin.ID, gone, "inactive"},
	} {
		s.Post(path(c.noun, c.from), object{"intoId": c.into}).WantError(apierr.CodeBadRequest, "").WantIssue(c.issue, "intoId")
	}

	for _, pair := range [][2]id.ID{{group, s.house.ID}, {s.house.ID, group}, {member, s.house.ID}, {s.house.ID, member}} {
		s.Post(path("listings", pair[0]), object{"intoId": pair[1]}).WantError(apierr.CodeBadRequest, apierr.ReasonListingInGroup)
	}

	s.Post(path("contacts", foreign.ada), object{"intoId": s.ada}).WantError(apierr.CodeNotFound, "")
	s.Post(path("listings", foreign.house.ID), object{"intoId": s.house.ID}).WantError(apierr.CodeNotFound, "")
	s.Post(path("listings", unknown), object{"intoId": s.house.ID}).WantError(apierr.CodeNotFound, "")
}

// Blocks of nights go along, and nights that are blocked at both listings refuse the merge.
func TestBlocksOfMergedListings(t *testing.T) {
	t.Parallel()
	s := newScene(t)

	block := func(l world.Listing, from, to string) {
		s.Post("/calendar-blocks", object{"listingIds": array{l.ID}, "startAt": from, "endAt": to}).Want(202)
		s.Work()
	}

	block(s.twin, "2027-01-01", "2027-01-05")
	block(s.house, "2027-01-04", "2027-01-06")
	s.Post(path("listings", s.twin.ID)+"?dryRun=true", object{"intoId": s.house.ID}).WantError(apierr.CodeConflict, "")

	other := s.Listing("House once more", s.ada)
	block(other, "2027-01-06", "2027-01-08")
	s.merge("listings", other.ID, s.house.ID)

	if got := s.Get("/calendar-blocks?listingIds=" + s.house.ID.String()).Want(200); got.Len("data") != 2 {
		t.Errorf("%s", got.Body)
	}
}

// Of many merges at once one is done, and a repeated request gets the same answer.
func TestMergesAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Stay(s.twin, "2026-01-10", 7_000)
	s.bill(s.vendor)

	other := s.other("contacts")
	total := s.entries(inTotal)
	hashes := map[string]string{
		"listings": s.plan("listings", s.twin.ID, s.house.ID).String("planHash"), "contacts": s.plan("contacts", s.vendor, other).String("planHash"),
	}

	for noun, hash := range hashes {
		var (
			wait sync.WaitGroup
			all  [24]*apitest.Response
		)

		for i := range all {
			wait.Go(func() { all[i] = s.try(noun, s.one(noun), s.other(noun), hash) })
		}

		wait.Wait()

		done := 0

		for _, r := range all {
			if r.Status == 200 {
				done++
			} else if r.Status != 409 {
				t.Errorf("%s: %d %s", noun, r.Status, r.Body)
			}
		}

		if done != 1 {
			t.Errorf("%s: %d of 24 merges were done", noun, done)
		}
	}

	golden.List(t, "entries", s.entries(inTotal), total)

	// The key keeps the first answer, and the plan would refuse a second one.
	third := s.Contact("vendor", "Third")
	hash := s.plan("contacts", third, other).String("planHash")
	first := s.try("contacts", third, other, hash, "Idempotency-Key", "merge-once").Want(200)

	if again := s.try("contacts", third, other, hash, "Idempotency-Key", "merge-once").Want(200); string(again.Body) != string(first.Body) {
		t.Errorf("%s\n%s", again.Body, first.Body)
	}
}
