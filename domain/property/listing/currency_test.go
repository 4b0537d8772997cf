package listing_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// The currency of a listing can be corrected until something was made with it: its amounts would mean other money.
func TestCurrencyOfAListingInUse(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		use     func(x *scene)
		reasons string
	}{
		"nothing is there":               {func(*scene) {}, ""},
		"owners without a reserve":       {func(x *scene) { x.period(0) }, ""},
		"an entry of a reserve":          {func(x *scene) { post(x.Team, x.home, x.period(20_000), "2026-01-05") }, `["journalEntries","reserves"]`},
		"an entry":                       {func(x *scene) { post(x.Team, x.home, x.period(0), "2026-01-05") }, `["journalEntries"]`},
		"an entry of a member":           {func(x *scene) { x.member() }, `["journalEntries"]`},
		"an entry in another currency":   {func(x *scene) { x.foreign() }, ""},
		"a flat fee and a foreign entry": {func(x *scene) { x.foreign(); x.charge("flat", nil) }, `["journalEntries"]`},
		"a reserve":                      {func(x *scene) { x.period(20_000) }, `["reserves"]`},
		"a flat fee":                     {func(x *scene) { x.charge("flat", nil) }, ""},
		"a flat rate of its own":         {func(x *scene) { x.charge("flat", 3_000) }, `["recurringFees"]`},
		"a percentage of its own":        {func(x *scene) { x.charge("percentage", 3_000) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			x := &scene{Team: newTeam(t)}
			x.home = home(x.Team, "Cabin")
			test.use(x)

			path := "/listings/" + x.home.String()

			// The currency that it has is no change.
			x.Put(path, object{"defaultCurrency": "USD", "name": "Chalet"}).Want(200)

			if test.reasons == "" {
				x.Put(path, object{"defaultCurrency": "gbp"}).Want(200).WantFields("", object{"defaultCurrency": "gbp", "name": "Chalet"})
				return
			}

			r := x.Put(path, object{"defaultCurrency": "gbp", "name": "House"}).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
			r.WantIssue("currencyMismatch", "defaultCurrency")

			if got := r.String("context.lockReasons"); got != test.reasons {
				t.Errorf("the reasons are %s, want %s", got, test.reasons)
			}

			x.Get(path).WantFields("", object{"defaultCurrency": "usd", "name": "Chalet"})
		})
	}
}

// scene is a team with a listing in dollars.
type scene struct {
	*apitest.Team
	home id.ID
}

// period gives the listing an owner since ever, with a reserve in cents.
func (x *scene) period(reserve int) id.ID {
	ada := owner(x.Team, "Ada")

	return x.Post("/listings/ownership-periods", object{
		"listingId": x.home, "members": []object{member(ada, 100_000)}, "reserve": reserve,
	}).Want(201).ID("id")
}

// member makes the listing a group, and posts an entry of a member.
func (x *scene) member() {
	p := x.period(0)
	flat := home(x.Team, "Flat")
	x.Put("/listings/"+flat.String()+"/parent", object{"parentId": x.home}).Want(200)
	post(x.Team, flat, p, "2026-01-05")
}

// foreign posts an entry in another currency than that of the listing.
func (x *scene) foreign() {
	postIn(x.Team, x.home, x.period(0), "2026-01-05", "gbp")
}

// charge charges the listing a fee, with a rate of its own unless that is nil.
func (x *scene) charge(rateType string, rate any) {
	category, account, fee := id.New(x.DB.Now()), id.New(x.DB.Now()), id.New(x.DB.Now())
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, 'F', 'asset', 1, now())`,
		db.Args{"id": category})
	x.Exec(`insert into account (team_id, id, name, type, category_id, created_at, updated_at) values (@team, @id, 'F', 'ledger', @category, now(), now())`,
		db.Args{"id": account, "category": category})
	x.Exec(`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id,
			debit_account_id, created_at, updated_at)
		values (@team, @id, 'Fee', 'managementFee', 'rent', @type, 20000, 'manager', 'owners', @account, @account, now(), now())`,
		db.Args{"id": fee, "type": rateType, "account": account})
	x.Exec(`insert into fee_listing_period (team_id, id, fee_id, listing_id, rate, created_at, updated_at)
		values (@team, @id, @fee, @listing, @rate, now(), now())`, db.Args{"id": id.New(x.DB.Now()), "fee": fee, "listing": x.home, "rate": rate})
}
