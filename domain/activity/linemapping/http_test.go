package linemapping_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// A type that an import brought is found, mapped and changed; the importer is asked once for each change that can let
// lines be posted.
func TestATypeIsMappedAndTheImporterAsked(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.noteUnmapped("airbnb", "resolution")
	b.wantPosted()

	found := b.Get(mappings + "?status=unmapped").Want(200)
	one := mappings + "/" + found.String("data.0.id")

	b.Put(one, object{"description": "Paid for damage"}).Want(200).WantFields("", object{
		"status": "unmapped", "lineType": "resolution", "appId": "airbnb", "accountId": nil, "assignment": nil,
	})
	b.wantPosted()

	b.Put(one, object{"accountId": b.accounts["4020"], "party": "manager"}).Want(200).WantFields("", object{
		"status": "mapped", "accountId": b.accounts["4020"].String(), "account.name": "Guest fees", "assignment": nil, "party": "manager",
		"description": "Paid for damage",
	})
	b.wantPosted("airbnb:resolution")

	b.Put(one, object{"assignment": "deposit_coHostPayout", "party": nil}).Want(200).WantFields("", object{
		"status": "mapped", "accountId": nil, "account": nil, "assignment": "deposit_coHostPayout", "party": nil,
	})
	b.wantPosted("airbnb:resolution")

	b.Put(one, object{"accountId": b.accounts["4000"], "lineType": "Resolution payout"}).Want(200).WantFields("", object{
		"accountId": b.accounts["4000"].String(), "assignment": nil, "lineType": "Resolution payout",
	})
	b.wantPosted("airbnb:Resolution payout")

	b.Put(one, object{"status": "excluded"}).Want(200).WantFields("", object{"status": "excluded", "accountId": nil})
	b.wantPosted("airbnb:Resolution payout")

	b.Put(one, object{"status": "unmapped"}).Want(200).WantFields("", object{"status": "unmapped"})
	b.wantPosted()

	b.Delete(one).Want(204)
	b.wantPosted("airbnb:Resolution payout")
	b.Get(one).WantError(apierr.CodeNotFound, "")
	b.wantPosted()
}

// A request that is refused leaves nothing for the importer.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	rent, unknown := b.accounts["4000"], id.New(b.DB.Now()).String()
	made := b.Post(mappings, object{"lineType": "resolution", "accountId": rent}).Want(201).String("id")
	other := b.Post(mappings, object{"lineType": "resolution", "appId": "airbnb", "accountId": rent}).Want(201).String("id")
	b.wantPosted(":resolution", "airbnb:resolution")

	b.Post(mappings, object{"lineType": "RESOLUTION", "accountId": rent}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	b.Put(mappings+"/"+other, object{"appId": nil}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)

	refuses := b.Refuses(mappings)
	refuses("mapped without an account", object{"lineType": "x", "status": "mapped"}, "required", "accountId")
	refuses("an unknown account", object{"lineType": "x", "accountId": unknown}, "notFound", "accountId")
	refuses("excluded with an account", object{"lineType": "x", "status": "excluded", "accountId": rent}, "contradiction", "accountId")
	refuses("unmapped with an assignment", object{"lineType": "x", "status": "unmapped", "assignment": "deposit_reserve"}, "contradiction", "assignment")
	refuses("an account and an assignment", object{"lineType": "x", "accountId": rent, "assignment": "deposit_reserve"}, "contradiction", "assignment")
	refuses("an unknown assignment", object{"lineType": "x", "assignment": "rent"}, "enum", "assignment")
	refuses("no line type", object{"lineType": "", "accountId": rent}, "length", "lineType")
	refuses("an unknown party", object{"lineType": "x", "accountId": rent, "party": "guests"}, "enum", "party")
	refuses("a line type of 101 letters", object{"lineType": strings.Repeat("x", 101), "accountId": rent}, "length", "lineType")
	refuses("an app without a name", object{"lineType": "x", "appId": "", "accountId": rent}, "length", "appId")
	refuses("a description of 1001 letters", object{"lineType": "x", "description": strings.Repeat("x", 1001)}, "length", "description")

	b.Put(mappings+"/"+made, object{"accountId": nil, "status": "mapped"}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "accountId")

	gone := mappings + "/" + unknown
	b.Get(gone).WantError(apierr.CodeNotFound, "")
	b.Put(gone, object{"status": "excluded"}).WantError(apierr.CodeNotFound, "")
	b.Delete(gone).WantError(apierr.CodeNotFound, "")

	b.wantPosted()
	b.wantRows("", ":resolution mapped", "airbnb:resolution mapped")
}

// Proves: DRY-56.
func TestChangesHaveNoDryRun(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one := mappings + "/" + b.Post(mappings, object{"lineType": "resolution", "accountId": b.accounts["4000"]}).Want(201).String("id")
	b.wantPosted(":resolution")

	before := b.Fingerprint()

	b.Put(one+"?dryRun=true", object{"status": "excluded"}).WantError(apierr.CodeBadRequest, "")
	b.Post(mappings+"?dryRun=true", object{"lineType": "tax", "status": "excluded"}).WantError(apierr.CodeBadRequest, "")
	b.Delete(one+"?dryRun=true").WantError(apierr.CodeBadRequest, "")

	if b.Fingerprint() != before {
		t.Error("a refused dry run has changed rows")
	}
}

// Mappings of a team are those of no other team, whose rows are not found and whose accounts are unknown.
func TestAnotherTeamHasItsOwn(t *testing.T) {
	t.Parallel()
	b, foreign := newBooks(t), newBooks(t)
	one := mappings + "/" + b.Post(mappings, object{"lineType": "resolution", "accountId": b.accounts["4000"]}).Want(201).String("id")

	foreign.Get(one).WantError(apierr.CodeNotFound, "")
	foreign.Put(one, object{"status": "excluded"}).WantError(apierr.CodeNotFound, "")
	foreign.Delete(one).WantError(apierr.CodeNotFound, "")
	foreign.Post(mappings, object{"lineType": "resolution", "accountId": b.accounts["4000"]}).WantIssue("notFound", "accountId")
	foreign.wantRows("")
	foreign.noteUnmapped("", "resolution")
	foreign.wantRows("", ":resolution unmapped")
	b.wantRows("", ":resolution mapped")

	if found := foreign.find("", "resolution"); found != "waits" {
		t.Errorf("the mapping of another team decides: %s", found)
	}
}

// A team without a general ledger has no line mappings.
func TestWithoutBooks(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.KeepLedger(false)
	b.Get(mappings).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
	b.Post(mappings, object{"lineType": "resolution", "status": "excluded"}).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
}

func TestFiltersAndSorts(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post(mappings, object{"lineType": "Resolution", "accountId": b.accounts["4000"], "description": "Paid for damage"}).Want(201)
	b.Post(mappings, object{"lineType": "resolution", "appId": "airbnb", "accountId": b.accounts["4020"]}).Want(201)
	b.Post(mappings, object{"lineType": "coHost", "assignment": "deposit_coHostPayout"}).Want(201)
	b.Post(mappings, object{"lineType": "withheldTax", "status": "excluded"}).Want(201)
	b.noteUnmapped("vrbo", "bond")

	all := []string{"vrbo:bond unmapped", ":coHost mapped", ":Resolution mapped", "airbnb:resolution mapped", ":withheldTax excluded"}

	for query, want := range map[string][]string{
		"":                         all,
		"?sort=-createdAt&limit=1": {all[0]},
		"?sort=status&limit=1":     {all[4]},
		"?lineType=RESOLUTION":     {all[2], all[3]},
		"?lineType=bond,coHost":    {all[0], all[1]},
		"?appId=airbnb":            {all[3]},
		"?appId=null":              {all[1], all[2], all[4]},
		"?appId=null,vrbo":         {all[0], all[1], all[2], all[4]},
		"?status=excluded":         {all[4]},
		"?status=unmapped":         {all[0]},
		"?accountIds=null":         {all[0], all[1], all[4]},
		"?accountIds=" + b.accounts["4000"].String(): {all[2]},
		"?search=solut":        {all[2], all[3]},
		"?search=AIRB":         {all[3]},
		"?search=damage":       {all[2]},
		"?search=guest%20fees": {all[3]},
		"?lineType=resolution&appId=vrbo&status=mapped": nil,
	} {
		b.wantRows(query, want...)
	}
}

// An account that a mapping names is kept, and one that an assignment names as well.
func TestAnAccountThatAMappingNamesIsKept(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	free := b.accounts["4110"].String()
	one := mappings + "/" + b.Post(mappings, object{"lineType": "resolution", "accountId": free}).Want(201).String("id")

	refused := b.Delete("/accounts/"+free).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
	if got := refused.String("context.lockReasons"); got != `["lineMappings"]` {
		t.Errorf("the reasons are %s", got)
	}

	b.Put(one, object{"assignment": "deposit_reserve"}).Want(200)
	b.Delete("/accounts/" + free).Want(204)
}
