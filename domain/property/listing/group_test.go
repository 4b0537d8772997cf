package listing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// join puts a listing into a group.
func join(x *apitest.Team, unit, group id.ID, startAt string) *apitest.Response {
	body := object{"parentId": group}
	if startAt != "" {
		body["startAt"] = startAt
	}

	return x.Put("/listings/"+unit.String()+"/parent", body)
}

// house is a team with a chart, and a group of two flats with Ada as its owner and a commission.
type house struct {
	*apitest.Team
	ada, house, one, two, period id.ID
	fee                          string
}

// newHouse makes the house in a team with the standard chart.
func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{Team: newLedgerTeam(t)}
	h.Tx(account.InstallStandard)
	h.Tx(mapping.InstallStandard)
	h.ada = owner(h.Team, "Ada")
	h.house, h.one, h.two = home(h.Team, "House"), home(h.Team, "Flat 1"), home(h.Team, "Flat 2")
	h.period = h.own(h.house, h.ada, "")
	h.fee = h.commission("Commission", object{"listingId": h.house}).Want(201).String("id")

	h.join(h.one, "")
	h.join(h.two, "")

	return h
}

// own makes a contact the owner of a listing, lets its journals follow and returns the period.
func (h *house) own(on, by id.ID, start string) id.ID {
	period(h.Team, on, by, start, "").Want(202)
	h.Work()

	return h.Get(periods + "?listingIds=" + on.String()).Want(200).ID("data.0.id")
}

// join puts a listing into the house and lets its journals follow.
func (h *house) join(listing id.ID, startAt string) {
	join(h.Team, listing, h.house, startAt).Want(202)
	h.Work()
}

// leave takes a listing out of the house, lets its journals follow and returns the listing.
func (h *house) leave(listing id.ID) *apitest.Response {
	path := "/listings/" + listing.String()
	h.Delete(path + "/parent").Want(202)
	h.Work()

	return h.Get(path).Want(200)
}

// commission creates a recurring fee of 20 % of the rent.
func (h *house) commission(name string, on ...object) *apitest.Response {
	accounts := fixture.Accounts(h.Team)

	return h.Post("/recurring-fees", object{
		"name": name, "type": "managementFee", "rateType": "percentage", "formula": "rent", "defaultRate": 20_000,
		"creditParty": "manager", "debitParty": "owners", "creditAccountId": accounts["4100"], "debitAccountId": accounts["5100"],
		"listingSubscriptions": on,
	})
}

// book books two stays and a repair, each on the listing given for it.
func (h *house) book(first, second, repaired id.ID) {
	for i, v := range []id.ID{first, second} {
		h.Post("/reservations", object{"listingId": v, "checkIn": "2026-03-10", "checkOut": "2026-03-12", "lines": []object{
			{"type": "rent", "amount": 100_000 + 7*i},
		}}).Want(201)
	}

	h.Post("/transactions", object{"type": "expense", "date": "2026-03-11", "lines": []object{
		{"accountId": fixture.Accounts(h.Team)["5200"], "amount": 5_000, "listingId": repaired},
	}}).Want(201)
}

// owners returns the entries of owners on a listing by period, as "period account cents".
func (h *house) owners(on id.ID) (out []string) {
	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[string](ctx, tx, `select concat_ws(' ', coalesce(e.ownership_period_id::text, 'nobody'), a.code, sum(e.cent_total)::text)
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team and e.party = 'owners' and e.listing_id = @listing and e.status = 'active' group by e.ownership_period_id, a.code
			having sum(e.cent_total) <> 0 order by 1`, db.Args{"team": tx.Team, "listing": on})

		return err
	})

	return out
}

// statement reads the draft of a listing's month.
func (h *house) statement(on id.ID) *apitest.Response {
	listed := h.Get("/statements?month=2026-03&listingIds=" + on.String()).Want(200)
	return h.Get("/statements/" + listed.String("data.0.id")).Want(200)
}

// A group with two flats has the statement that one listing with the same stays, repair, owner and fee has. Entries name
// the flat, and the period of the group.
func TestStatementOfAGroupIsThatOfOneListing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.book(h.one, h.two, h.two)

	whole := home(h.Team, "Whole")
	alone := h.own(whole, h.ada, "")
	h.commission("Second commission", object{"listingId": whole}).Want(201)
	h.book(whole, whole, whole)

	group, one := h.statement(h.house), h.statement(whole)
	for _, figure := range []string{"balanceStart", "netRevenue", "expenses", "payouts", "balanceEnd", "available"} {
		if group.String("financials."+figure) != one.String("financials."+figure) {
			t.Errorf("%s is %s, want %s", figure, group.String("financials."+figure), one.String("financials."+figure))
		}
	}

	if group.Int("financials.netRevenue") != 160_006 || group.Int("financials.expenses") != -5_000 {
		t.Errorf("the group has %d and %d", group.Int("financials.netRevenue"), group.Int("financials.expenses"))
	}

	for _, flat := range []id.ID{h.one, h.two} {
		for _, entry := range h.owners(flat) {
			if !strings.HasPrefix(entry, h.period.String()) {
				t.Errorf("an entry of a flat is %s", entry)
			}
		}
	}

	if got := h.owners(whole); len(h.owners(h.house)) != 0 || len(got) == 0 || !strings.HasPrefix(got[0], alone.String()) {
		t.Errorf("the entries are %v and %v", h.owners(h.house), got)
	}
}

// The journals of members follow changes of the group: of its owners, of its fees, and of who is in it.
func TestMembersFollowTheirGroup(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.book(h.one, h.two, h.two)

	// Another owner from March on.
	bob := owner(h.Team, "Bob")
	h.Post(periods, object{"listingId": h.house, "startAt": "2026-03-01", "members": []object{member(bob, 100_000)}, "onConflict": "truncate"}).Want(202)
	h.Work()

	second := h.Get(periods + "?contactId=" + bob.String()).Want(200).String("data.0.id")

	for _, entry := range append(h.owners(h.one), h.owners(h.two)...) {
		if !strings.HasPrefix(entry, second) {
			t.Errorf("after the owners changed an entry is %s", entry)
		}
	}

	// Another rate.
	before := h.owners(h.one)
	h.Put("/recurring-fees/"+h.fee, object{"defaultRate": 30_000}).Want(200)
	h.Work()

	if after := h.owners(h.one); slices.Equal(before, after) || !slices.ContainsFunc(after, func(e string) bool { return strings.HasSuffix(e, " 5100 30000") }) {
		t.Errorf("after the fee changed the entries are %v", after)
	}

	// Outside of the group there is neither an owner nor a fee.
	if got := h.leave(h.one); got.String("parent") != "null" || got.String("activeOwnership") != "null" {
		t.Errorf("taken out as %s", got.Body)
	}

	for _, entry := range h.owners(h.one) {
		if !strings.HasPrefix(entry, "nobody") || strings.Contains(entry, " 5100 ") {
			t.Errorf("an entry outside of the group is %s", entry)
		}
	}

	h.Delete("/listings/"+h.one.String()+"/parent").WantError(apierr.CodeNotFound, "")
}

// Proves: INIT-48, INIT-50.
func TestGroupOutsideGeneralLedger(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	group, unit := home(x, "House"), home(x, "Flat")
	ada := owner(x, "Ada")
	own := period(x, group, ada, "2020-01-01", "").Want(201).String("id")

	r := join(x, unit, group, "").Want(200)
	if r.Has("operationId") || r.ID("id") != unit || r.ID("parent.id") != group || r.String("activeOwnership.id") != own {
		t.Errorf("answered %s", r.Body)
	}

	if r = x.Delete("/listings/" + unit.String() + "/parent").Want(200); r.Has("operationId") || r.ID("id") != unit || r.String("parent") != "null" {
		t.Errorf("answered %s", r.Body)
	}

	if got := x.Get("/operations").Int("total"); got != 0 {
		t.Errorf("%d operations", got)
	}
}

// In a team with a general ledger both changes are acknowledged, and a dry run of them has the same schema.
// Proves: INIT-47, INIT-49, DRY-39.
func TestGroupInAGeneralLedger(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	unit := home(k.Team, "Flat")
	path := "/listings/" + unit.String() + "/parent"
	stay := k.Post("/reservations", object{"listingId": unit, "checkIn": "2026-03-10", "checkOut": "2026-03-12", "lines": []object{
		{"type": "rent", "amount": 100_000},
	}}).Want(201).String("id")
	k.Work()

	acknowledged := func(r *apitest.Response) {
		t.Helper()

		if r.Want(202); r.String("type") != "listing-journal-refresh" || r.String("resource.type") != "listing" || r.ID("resource.id") != unit || r.Has("parent") {
			t.Errorf("answered %s", r.Body)
		}
	}
	owned := func(want string) {
		t.Helper()
		k.Work()

		var found []string

		k.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			found, err = db.Select[string](ctx, tx, `select distinct coalesce(ownership_period_id::text, 'nobody') from ledger_entry
				where team_id = @team and party = 'owners' and reservation_id = @stay`, db.Args{"team": tx.Team, "stay": stay})

			return err
		})

		if !slices.Equal(found, []string{want}) {
			t.Errorf("the stay is of %v, want %s", found, want)
		}
	}

	before := k.Fingerprint()
	acknowledged(k.Put(path+"?dryRun=true", object{"parentId": k.cabin}))

	if k.Fingerprint() != before {
		t.Error("the dry run stored something")
	}

	acknowledged(k.Put(path, object{"parentId": k.cabin}))
	owned(k.first.String())

	before = k.Fingerprint()
	acknowledged(k.Delete(path + "?dryRun=true"))

	if k.Fingerprint() != before || k.Get("/listings/"+unit.String()).ID("parent.id") != k.cabin {
		t.Error("the dry run stored something")
	}

	acknowledged(k.Delete(path))
	owned("nobody")

	// The operation of a changed period names the group and derives its members, too.
	acknowledged(k.Put(path, object{"parentId": k.cabin}))
	k.Work()

	ack := k.Post(periods, object{"listingId": k.cabin, "startAt": "2026-03-01", "members": []object{member(k.bob, 100_000)}, "onConflict": "truncate"}).Want(202)
	if ack.ID("resource.id") != k.cabin {
		t.Errorf("answered %s", ack.Body)
	}

	owned(k.Get(periods + "?contactId=" + k.bob.String()).String("data.0.id"))
}

// Proves: RSN-26, RSN-27.
func TestGroupRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	loose, flat := home(h.Team, "Loose"), "/listings/"+h.one.String()

	// One group, one level.
	join(h.Team, h.one, h.house, "").WantError(apierr.CodeConflict, apierr.ReasonListingInGroupAlready)
	join(h.Team, h.one, loose, "").WantError(apierr.CodeConflict, apierr.ReasonListingInGroupAlready)
	join(h.Team, loose, loose, "").WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "parentId")
	join(h.Team, loose, h.one, "").WantError(apierr.CodeBadRequest, apierr.ReasonListingInGroup).WantIssue("contradiction", "parentId")

	if r := join(h.Team, h.house, loose, "").WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons.0") != "groupedListings" {
		t.Errorf("%s", r.Body)
	}

	// Listings that do not exist.
	join(h.Team, id.New(h.DB.Now()), loose, "").WantError(apierr.CodeNotFound, "")
	join(h.Team, loose, id.New(h.DB.Now()), "").WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "parentId")
	h.Delete("/listings/"+loose.String()+"/parent").WantError(apierr.CodeNotFound, "")
	h.Delete("/listings/"+id.New(h.DB.Now()).String()+"/parent").WantError(apierr.CodeNotFound, "")

	// Owners and fees are values of the group.
	period(h.Team, h.one, h.ada, "", "").WantError(apierr.CodeBadRequest, apierr.ReasonListingInGroup)
	h.Post("/recurring-fees/listing-periods", object{"recurringFeeId": h.fee, "listingId": h.one}).WantError(apierr.CodeBadRequest, apierr.ReasonListingInGroup)
	h.commission("Another", object{"listingId": loose}, object{"listingId": h.one}).WantError(apierr.CodeBadRequest, apierr.ReasonListingInGroup).
		WantIssue("contradiction", "listingSubscriptions.1.listingId")

	// A group that has members stays.
	if r := h.Delete("/listings/"+h.house.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); !strings.Contains(r.String("context.lockReasons"), "groupedListings") {
		t.Errorf("%s", r.Body)
	}

	if got := h.Get(flat).ID("parent.id"); got != h.house {
		t.Errorf("the flat is in %s", got)
	}
}

// What a listing has itself ends on the first day in the group, and what it had before stays and counts.
// Proves: RSN-26.
func TestOwnPeriodsEndInAGroup(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	bob, loose := owner(h.Team, "Bob"), home(h.Team, "Loose")
	own := h.own(loose, bob, "2020-01-01")
	charged := h.Post("/recurring-fees/listing-periods", object{"recurringFeeId": h.fee, "listingId": loose, "rate": 50_000}).Want(201).ID("id")
	h.book(loose, loose, loose)

	// Without a day both are in the way, and with one from which they begin.
	for _, startAt := range []string{"", "2020-01-01"} {
		got := join(h.Team, loose, h.house, startAt).WantError(apierr.CodeConflict, "").String("context.conflictingPeriodIds")
		if !strings.Contains(got, own.String()) || startAt == "" && !strings.Contains(got, charged.String()) {
			t.Errorf("in the way from %q: %s", startAt, got)
		}
	}

	h.join(loose, "2026-03-11")

	if a, b := h.Get(periods+"/"+own.String()).String("endAt"), h.Get("/recurring-fees/listing-periods?ids="+charged.String()).String("data.0.endAt"); a != "2026-03-11" || b != a {
		t.Errorf("they end on %s and %s", a, b)
	}

	// The stays are recognized on the 10th and the repair is of the 11th.
	got := h.owners(loose)
	if want := []string{own.String() + " 4000 -200007", own.String() + " 5100 100004", h.period.String() + " 5200 5000"}; !sameText(got, want) {
		t.Errorf("the entries are %v, want %v", got, want)
	}

	// What it had stays as it is.
	h.Put(periods+"/"+own.String(), object{"reserve": 5}).WantError(apierr.CodeBadRequest, apierr.ReasonListingInGroup)
	h.Put("/recurring-fees/listing-periods/"+charged.String(), object{"rate": 5}).WantError(apierr.CodeBadRequest, apierr.ReasonListingInGroup)
	h.Put("/recurring-fees/"+h.fee, object{"listingSubscriptions": []object{
		{"listingId": h.house}, {"listingId": loose, "endAt": "2026-03-11", "rate": 50_000},
	}}).Want(200)
}

// sameText reports whether both have the same texts.
func sameText(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Statements of the group keep the entries that they show, and so does the listing's own period.
func TestStatementsHoldMembers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.book(h.one, h.one, h.one)

	held := fixture.Statement(h.Team, h.period, "published", "2026-03-01", "2026-03-31")

	got := h.Delete("/listings/"+h.one.String()+"/parent").WantError(apierr.CodeForbidden, apierr.ReasonStatementAttachment)
	if got.String("context.lockReason") != "statement" || got.ID("context.statementIds.0") != held {
		t.Errorf("%s", got.Body)
	}

	// The other flat has no entries, so nothing of it is in the statement.
	h.leave(h.two)

	loose := home(h.Team, "Loose")
	own := h.own(loose, h.ada, "")
	fixture.Statement(h.Team, own, "published", "2026-03-01", "2026-03-31")
	join(h.Team, loose, h.house, "2026-03-15").WantError(apierr.CodeForbidden, apierr.ReasonStatementAttachment)
	h.join(loose, "2026-04-01")
}

// Lists show and find what members have from their group.
func TestListsKnowGroups(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home(h.Team, "Loose")

	flats := []string{"Flat 1", "Flat 2", "House"}
	for query, want := range map[string][]string{
		"activeOwnership=true":                  flats,
		"activeOwnership=false":                 {"Loose"},
		"activeRecurringFeePeriods=active":      flats,
		"activeRecurringFeePeriods=inactive":    {"Loose"},
		"activeRecurringFeePeriods=" + h.fee:    flats,
		"issue=missingOwnershipOrDeactivation":  {"Loose"},
		"issue=missingFeesAndCommission":        {"Loose"},
		"contactIds=" + h.ada.String():          flats,
		"parent=" + h.house.String():            {"Flat 1", "Flat 2"},
		"activeRecurringFeePeriods=cleaningFee": {},
	} {
		if got := names(h.Get("/listings?sort=name&" + query)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}

	got := h.Get("/listings/" + h.one.String())
	if got.ID("activeOwnership.id") != h.period || got.ID("activeOwnership.listingId") != h.house || got.String("activeRecurringFeePeriods.0.recurringFee.id") != h.fee {
		t.Errorf("the flat shows %s", got.Body)
	}

	if n := h.Get("/recurring-fees?listingIds=" + h.one.String()).Int("pagination.total"); n != 1 {
		t.Errorf("%d fees of the flat", n)
	}

	h.book(h.one, h.two, h.two)

	if n := h.Get("/reservations?businessModel=managed").Int("pagination.total"); n != 2 {
		t.Errorf("%d stays are managed", n)
	}
}

// The event of a listing that joins or leaves a group says so.
func TestGroupIsInTheAudit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)

	var changes []string

	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		changes, err = db.Select[string](ctx, tx, `select v.changes::text from audit_event v where v.team_id = @team and v.entity_id = @id and v.type = 'updated'`,
			db.Args{"team": tx.Team, "id": h.one})

		return err
	})

	if len(changes) != 1 || !strings.Contains(changes[0], `parentId`) || !strings.Contains(changes[0], h.house.String()) {
		t.Errorf("the events are %v", changes)
	}
}

// Listings that are put into each other at once end in one level.
func TestGroupsHaveOneLevel(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	homes := make([]id.ID, 6)
	for i := range homes {
		homes[i] = home(x, fmt.Sprintf("Home %d", i))
	}

	var wait sync.WaitGroup

	for i := range 24 {
		path, group := "/listings/"+homes[i%6].String()+"/parent?dryRun=false", homes[(i+1+i/6)%6]

		wait.Go(func() {
			got := x.Call("PUT", path, object{"parentId": group})
			if got.Status >= 500 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}

	wait.Wait()

	var members, nested int

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		if members, err = db.Get[int](ctx, tx, `select count(*) from listing where team_id = @team and parent_id is not null`, db.Args{"team": tx.Team}); err != nil {
			return err
		}

		nested, err = db.Get[int](ctx, tx, `select count(*) from listing l join listing g on g.team_id = l.team_id and g.id = l.parent_id
			where l.team_id = @team and g.parent_id is not null`, db.Args{"team": tx.Team})

		return err
	})

	if members == 0 || nested != 0 {
		t.Errorf("%d listings are in groups, %d of them in groups within groups", members, nested)
	}
}

// Proves: PAG-31.
func TestOtherTeamsGroupsAreUnknown(t *testing.T) {
	t.Parallel()
	x, y := newTeam(t), newTeam(t)
	house, flat := home(x, "House"), home(x, "Flat")
	own := home(y, "Own")

	join(x, flat, house, "").Want(200)
	join(y, own, house, "").WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "parentId")
	join(y, flat, own, "").WantError(apierr.CodeNotFound, "")
	y.Delete("/listings/"+flat.String()+"/parent").WantError(apierr.CodeNotFound, "")
}

// Days of a span are those that no other one has, day by day.
func TestSpansWithoutOthersAreSetsOfDays(t *testing.T) {
	t.Parallel()
	first := *on(t, "2026-01-01")
	covers := func(s listing.Span, d day.Day) bool {
		p := listing.Period{StartAt: s.Start, EndAt: s.End}
		return p.Covers(d)
	}

	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.Map(span(first), func(p *listing.Period) listing.Span { return listing.Span{Start: p.StartAt, End: p.EndAt} })
		s, others := drawn.Draw(t, "span"), rapid.SliceOfN(drawn, 0, 4).Draw(t, "others")
		parts := s.Without(others)

		for i := -1; i <= 14; i++ {
			d := first.AddDays(i)
			want := covers(s, d) && !slices.ContainsFunc(others, func(o listing.Span) bool { return covers(o, d) })

			n := 0

			for _, p := range parts {
				if covers(p, d) {
					n++
				}
			}

			if want != (n == 1) || n > 1 {
				t.Fatalf("day %s is in %d parts, want %t", d, n, want)
			}
		}
	})
}
