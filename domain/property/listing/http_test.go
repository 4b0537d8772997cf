package listing_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// Proves: DRY-37.
func TestListingLife(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, bob := owner(x, "Ada"), owner(x, "Bob")

	r := x.Post("/listings", object{
		"name": "Cabin", "uniqueRef": "pms-1", "defaultCurrency": "EUR", "address": object{"city": "Aspen"},
		"initialOwnership": object{
			"startAt": "2020-01-01", "members": []object{member(ada, 60_000), member(bob, 40_000)}, "reserve": 20_000, "businessModel": "co_host",
		},
	}).Want(201)
	for path, want := range map[string]string{
		"name": "Cabin", "defaultCurrency": "eur", "status": "active", "source": "null", "parent": "null", "address.city": "Aspen",
		"activeOwnership.members.0.split": "60000", "activeOwnership.members.1.contactId": bob.String(), "activeOwnership.startAt": "2020-01-01",
		"activeOwnership.endAt": "null", "activeOwnership.reserve": "20000", "activeOwnership.businessModel": "co_host",
		"activeOwnership.setListingInactive": "false", "activeOwnership.lock.status": "open", "activeRecurringFeePeriods": "[]",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	if x.Post("/listings?dryRun=true", object{"name": "Dry"}).Want(201); x.Get("/listings").Int("pagination.total") != 1 {
		t.Error("the dry run stored a listing")
	}

	path := "/listings/" + r.String("id")

	changed := x.Put(path, object{"name": "Chalet", "address": nil}).Want(200)
	if changed.String("name") != "Chalet" || changed.String("address") != "null" || changed.String("uniqueRef") != "pms-1" {
		t.Errorf("changed to %s", changed.Body)
	}

	x.Delete(path).Want(204)
	x.Get(path).WantError(apierr.CodeNotFound, "")

	if got := x.Get("/listings/ownership-periods").Int("pagination.total"); got != 0 {
		t.Errorf("%d ownership periods are left", got)
	}
}

func TestListingRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada := owner(x, "Ada")
	x.Post("/listings", object{"name": "A", "uniqueRef": "a"}).Want(201)
	x.Post("/listings", object{"name": "B", "uniqueRef": "a"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	b := home(x, "B").String()
	x.Put("/listings/"+b, object{"uniqueRef": "a"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	x.Put("/listings/"+b, object{"defaultCurrency": "abc"}).WantError(apierr.CodeBadRequest, "").WantIssue("currency", "defaultCurrency")
	x.Post("/listings", object{"name": "C", "initialOwnership": object{"members": []object{member(ada, 99_999)}}}).
		WantError(apierr.CodeBadRequest, "").WantIssue("splitSum", "initialOwnership.members")
}

// Proves: RSN-24.
func TestListingWithStaysAheadStaysActive(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	path := "/listings/" + home(x, "Cabin").String()
	cabin := x.Get(path).ID("id")
	fixture.Stay(x, cabin, "booked", "2020-01-01", "2020-01-05")
	fixture.Stay(x, cabin, "canceled", "2998-01-01", "2998-01-05")
	x.Put(path, object{"status": "inactive"}).Want(200)
	x.Put(path, object{"status": "active"}).Want(200)
	fixture.Stay(x, cabin, "booked", "2999-01-01", "2999-01-05")
	x.Put(path, object{"status": "inactive"}).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)

	if r := x.Delete(path+"?onLocked=archive").WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.Has("context.suggestedOnLocked") {
		t.Errorf("got %s", r.Body)
	}
}

// Proves: ERR-72, ERR-73, ERR-74, RSN-24.
func TestListingInUse(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	cabin := home(x, "Cabin")
	path := "/listings/" + cabin.String()
	fixture.Stay(x, cabin, "booked", "2020-01-01", "2020-01-05")

	r := x.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if r.String("context.lockReasons") != `["reservations"]` || r.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("got %s", r.Body)
	}

	x.Delete(path + "?onLocked=archive").Want(204)

	if got := x.Get(path).Want(200).String("status"); got != "inactive" {
		t.Errorf("the status is %s", got)
	}
}

func TestActiveFees(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	cabin, account, category, fee := home(x, "Cabin"), id.New(x.DB.Now()), id.New(x.DB.Now()), id.New(x.DB.Now())
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, 'C', 'asset', 1, now())`,
		db.Args{"id": category})
	x.Exec(`insert into account (team_id, id, name, type, category_id, created_at, updated_at) values (@team, @id, 'A', 'ledger', @category, now(), now())`,
		db.Args{"id": account, "category": category})
	x.Exec(`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id,
			debit_account_id, created_at, updated_at)
		values (@team, @id, 'Commission', 'managementFee', 'rent', 'percentage', 20000, 'manager', 'owners', @account, @account, now(), now())`,
		db.Args{"id": fee, "account": account})

	for _, days := range [][2]string{{"2000-01-01", "2001-01-01"}, {"2001-01-01", "2999-01-01"}} {
		x.Exec(`insert into fee_listing_period (team_id, id, fee_id, listing_id, start_at, end_at, rate, created_at, updated_at)
			values (@team, @id, @fee, @listing, @start::text::date, @end::text::date, 15000, now(), now())`,
			db.Args{"id": id.New(x.DB.Now()), "fee": fee, "listing": cabin, "start": days[0], "end": days[1]})
	}

	home(x, "Without fees")

	r := x.Get("/listings?sort=name").Want(200)
	for path, want := range map[string]string{
		"rate": "15000", "startAt": "2001-01-01", "endAt": "2999-01-01", "recurringFee.name": "Commission", "recurringFee.type": "managementFee",
		"recurringFee.rateType": "percentage", "recurringFee.defaultRate": "20000", "recurringFee.id": fee.String(),
	} {
		if got := r.String("data.0.activeRecurringFeePeriods.0." + path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	if r.Len("data.0.activeRecurringFeePeriods") != 1 || r.Len("data.1.activeRecurringFeePeriods") != 0 {
		t.Errorf("got %s", r.Body)
	}

	for wanted, want := range map[string][]string{
		"active": {"Cabin"}, "inactive": {"Without fees"}, "managementFee": {"Cabin"}, "cleaningFee": {}, "!managementFee": {"Without fees"},
		"!cleaningFee": {"Cabin", "Without fees"}, fee.String(): {"Cabin"}, cabin.String(): {},
	} {
		if got := names(x.Get("/listings?sort=name&activeRecurringFeePeriods=" + wanted)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", wanted, got, want)
		}
	}

	x.Get("/listings?activeRecurringFeePeriods=!active").WantIssue("malformed", "activeRecurringFeePeriods")
}

func names(r *apitest.Response) []string {
	r.Want(200)

	out := []string{}
	for i := range r.Len("data") {
		out = append(out, r.String(fmt.Sprintf("data.%d.name", i)))
	}

	return out
}

// Proves: PAG-18, PAG-20, PAG-21, PAG-22, PAG-28.
func TestListingLists(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada := owner(x, "Ada")
	a, b, c := home(x, "a hut"), home(x, "B lodge"), home(x, "C cabin")
	period(x, a, ada, "2000-01-01", "2001-01-01").Want(201)
	period(x, b, ada, "2000-01-01", "").Want(201)
	x.Exec(`update listing set parent_id = @parent where team_id = @team and id = @id`, db.Args{"parent": b, "id": c})
	x.Put("/listings/"+a.String(), object{"status": "inactive"}).Want(200)

	for query, want := range map[string][]string{
		"sort=name":                             {"a hut", "B lodge", "C cabin"},
		"sort=-name":                            {"C cabin", "B lodge", "a hut"},
		"sort=-createdAt":                       {"C cabin", "B lodge", "a hut"},
		"sort=name&limit=2&page=2":              {"C cabin"},
		"status=inactive":                       {"a hut"},
		"search=LODGE":                          {"B lodge"},
		"contactId=" + ada.String():             {"a hut", "B lodge", "C cabin"},
		"activeOwnership=true":                  {"B lodge", "C cabin"},
		"activeOwnership=false":                 {"a hut"},
		"parent=" + b.String():                  {"C cabin"},
		"parent=null":                           {"a hut", "B lodge"},
		"ids=" + a.String():                     {"a hut"},
		"ids=!" + a.String():                    {"B lodge", "C cabin"},
		"ids=" + a.String() + ",!" + b.String(): {"a hut"},
	} {
		if got := names(x.Get("/listings?" + query)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}

	if r := x.Get("/listings/" + c.String()); r.String("parent.name") != "B lodge" {
		t.Errorf("the parent is %s", r.String("parent"))
	}

	x.Get("/listings?parent=none").WantError(apierr.CodeBadRequest, "").WantIssue("uuid", "parent")
	x.Get("/listings?connection=1").WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "connection")
}

// Proves: PAG-31.
func TestOtherTeamsListingsAreUnknown(t *testing.T) {
	t.Parallel()
	x, y := newTeam(t), newTeam(t)
	ada, cabin := owner(x, "Ada"), home(x, "Cabin")

	p := period(x, cabin, ada, "", "").Want(201).String("id")
	for _, path := range []string{"/listings/" + cabin.String(), "/listings/ownership-periods/" + p} {
		y.Get(path).WantError(apierr.CodeNotFound, "")
		y.Put(path, object{}).WantError(apierr.CodeNotFound, "")
		y.Delete(path).WantError(apierr.CodeNotFound, "")
	}

	for _, query := range []string{
		"/listings?ids=" + cabin.String(), "/listings?contactId=" + ada.String(), "/listings/ownership-periods?ids=" + p,
		"/listings/ownership-periods?listingIds=" + cabin.String(),
	} {
		if got := y.Get(query).Want(200).Int("pagination.total"); got != 0 {
			t.Errorf("%s finds %d rows", query, got)
		}
	}

	period(y, cabin, owner(y, "Own"), "", "").WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "listingId")
	period(y, home(y, "Own"), ada, "", "").WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "members.0.contactId")
}

func TestReadsForOtherPackages(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, a, b := owner(x, "Ada"), home(x, "A"), home(x, "B")
	period(x, a, ada, "2021-01-01", "").Want(201)
	period(x, a, ada, "", "2021-01-01").Want(201)
	period(x, b, ada, "2022-01-01", "2023-01-01").Want(201)
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		all, err := listing.Periods(ctx, tx, nil)
		if err != nil {
			return err
		}

		if len(all) != 2 || len(all[a]) != 2 || len(all[b]) != 1 || all[a][0].StartAt != nil || all[a][1].StartAt.String() != "2021-01-01" ||
			all[b][0].Members[0] != (listing.Member{ContactID: ada, Split: listing.Whole}) {
			t.Errorf("all periods: %+v", all)
		}

		some, err := listing.Periods(ctx, tx, []id.ID{b})
		if err != nil {
			return err
		}

		if len(some) != 1 || len(some[b]) != 1 {
			t.Errorf("some periods: %+v", some)
		}

		found, err := listing.ByID(ctx, tx, []id.ID{a, id.New(tx.Now)})
		if len(found) != 1 || found[a].Name != "A" || found[a].DefaultCurrency != "usd" {
			t.Errorf("listings: %+v", found)
		}

		return err
	})
}
