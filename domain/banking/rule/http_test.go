package rule_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// A rule reads as it was written, and with everything that it can say.
func TestRuleIsKeptAsItWasWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	made := w.Post(rules, object{
		"name": "Hardware", "status": "inactive", "priority": 7, "transactionType": "expense", "mode": "auto", "matchMode": "any",
		"conditions":          list{having("description", "startsWith", "  Home  Depot "), having("amount", "between", "100...2000"), having("reference", "notEquals", `"\_%`)},
		"descriptionOverride": "Hardware store", "usePriorMonthEnd": true, "vendorContactId": w.vendor, "accountIds": list{w.operating, w.trust},
		"lines": list{
			object{"splitMode": "remainder", "sortOrder": 9, "assignment": "accountsPayable", "descriptionOverride": "Rest"},
			object{"splitMode": "fixed", "sortOrder": 1, "fixedCentAmount": -250, "accountId": w.repairs, "party": "manager"},
			object{
				"splitMode": "percentage", "sortOrder": 1, "percentageBps": 33333, "accountId": w.repairs, "listingId": w.villa, "taxRateId": w.tax, "taxBehavior": "included",
				"markup": object{"amount": 500, "taxRateId": w.tax, "taxBehavior": "excluded"},
			},
		},
	}).Want(201)
	for path, want := range map[string]string{
		"name": "Hardware", "status": "inactive", "priority": "7", "transactionType": "expense", "mode": "auto", "matchMode": "any", "version": "1",
		"conditions.0.value": "  Home  Depot ", "conditions.1.operator": "between", "conditions.2.value": `"\_%`, "descriptionOverride": "Hardware store",
		"usePriorMonthEnd": "true", "vendorContactId": w.vendor.String(), "vendorContact.name": "Fix-It", "accountIds.0": w.operating.String(),
		"accountIds.1": w.trust.String(), "accounts.0.code": "1010", "accounts.1.code": "1000", "issues": "[]",
		"lines.0.fixedCentAmount": "-250", "lines.0.party": "manager", "lines.0.account.code": "5200", "lines.0.percentageBps": "null",
		"lines.1.percentageBps": "33333", "lines.1.listingId": w.villa.String(), "lines.1.listing.name": "Villa", "lines.1.taxRateId": w.tax.String(),
		"lines.1.taxBehavior": "included", "lines.1.markup.amount": "500", "lines.1.markup.taxRateId": w.tax.String(), "lines.1.markup.taxBehavior": "excluded",
		"lines.2.assignment": "accountsPayable", "lines.2.sortOrder": "9", "lines.2.descriptionOverride": "Rest", "lines.2.accountId": "null",
	} {
		if got := made.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	path := rules + "/" + made.String("id")
	if got := w.Get(path).Want(200); string(got.Body) != string(made.Body) {
		t.Errorf("read\n%s\nwritten\n%s", got.Body, made.Body)
	}

	if got := w.Get(path + "?version=1").Want(200); string(got.Body) != string(made.Body) {
		t.Errorf("version 1 is\n%s\nwritten\n%s", got.Body, made.Body)
	}

	short := w.Post(rules, w.depot()).Want(201)
	for path, want := range map[string]string{
		"status": "active", "priority": "0", "mode": "suggest", "matchMode": "all", "descriptionOverride": "null", "usePriorMonthEnd": "false", "vendorContactId": "null",
		"vendorContact": "null", "accountIds": "[]", "accounts": "[]", "lines.0.sortOrder": "0", "lines.0.party": "null", "lines.0.markup": "null",
	} {
		if got := short.String(path); got != want {
			t.Errorf("without a word about it, %s = %s, want %s", path, got, want)
		}
	}

	newWorld(t).Get(path).WantError(apierr.CodeNotFound, "")
}

// Every change is a version that can be read as it was; what changes nothing is none.
func TestVersionsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot("vendorContactId", w.vendor, "accountIds", list{w.trust}))
	first := w.Get(path).Want(200)
	line := first.String("lines.0.id")

	w.Put(path, object{"name": "Depot", "mode": "suggest", "lines": list{object{"splitMode": "remainder", "accountId": w.repairs}}}).Want(200)

	second := w.Put(path, object{"name": "Hardware", "vendorContactId": nil, "accountIds": list{}, "lines": list{
		object{"splitMode": "remainder", "accountId": w.repairs, "listingId": w.villa}, object{"splitMode": "fixed", "fixedCentAmount": 5, "accountId": w.repairs},
	}}).Want(200)
	if second.Int("version") != 2 || second.String("lines.0.id") != line || second.String("lines.1.id") == line || second.String("vendorContactId") != "null" ||
		second.String("accountIds") != "[]" || second.String("conditions") != first.String("conditions") {
		t.Errorf("changed %s", second.Body)
	}

	third := w.Put(path, object{
		"status": "inactive", "priority": 3, "mode": "auto", "matchMode": "any", "transactionType": "expense", "usePriorMonthEnd": true, "descriptionOverride": "Nails",
		"conditions": list{having("amount", "lessThan", "100")},
	}).Want(200)
	for field, want := range map[string]string{
		"version": "3", "name": "Hardware", "status": "inactive", "priority": "3", "mode": "auto", "matchMode": "any", "usePriorMonthEnd": "true",
		"descriptionOverride": "Nails", "conditions.0.value": "100", "lines.0.listing.name": "Villa",
	} {
		if got := third.String(field); got != want {
			t.Errorf("%s = %s, want %s", field, got, want)
		}
	}

	for version, want := range []*apitest.Response{first, second, third} {
		got := w.Get(fmt.Sprint(path, "?version=", version+1)).Want(200)
		for _, field := range []string{"version", "name", "status", "conditions", "lines", "accountIds", "vendorContact", "accounts", "createdAt", "updatedAt", "issues"} {
			if got.String(field) != want.String(field) {
				t.Errorf("version %d: %s = %s, was %s", version+1, field, got.String(field), want.String(field))
			}
		}
	}

	listed := w.Get(path + "/versions").Want(200)
	if listed.Int("pagination.total") != 3 || listed.Int("data.0.version") != 3 || listed.String("data.2.name") != "Depot" || listed.String("data.0.name") != "Hardware" {
		t.Errorf("versions %s", listed.Body)
	}

	if got := w.Get(path + "/versions?limit=1&page=2").Want(200); got.Len("data") != 1 || got.Int("data.0.version") != 2 {
		t.Errorf("the second page of versions is %s", got.Body)
	}

	w.Get(path+"?version=4").WantError(apierr.CodeNotFound, "")
	w.Get(path + "?version=0").Want(400)
	w.Get(rules+"/"+w.id().String()+"/versions").WantError(apierr.CodeNotFound, "")

	other := newWorld(t)
	for _, below := range []string{"", "?version=1", "/versions"} {
		other.Get(path+below).WantError(apierr.CodeNotFound, "")
	}

	other.Put(path, object{"name": "Mine"}).WantError(apierr.CodeNotFound, "")
	other.Delete(path).WantError(apierr.CodeNotFound, "")
	other.Delete(path+"?onLocked=archive").WantError(apierr.CodeNotFound, "")

	if got := w.Get(path).Want(200); string(got.Body) != string(third.Body) {
		t.Errorf("another team left %s of %s", got.Body, third.Body)
	}
}

// Whoever changes a rule at once takes turns: no version is lost or made twice.
func TestChangesTakeTurns(t *testing.T) {
	t.Parallel()

	const writers = 24

	w := newWorld(t)
	path := w.made(w.depot())
	answers := make([]*apitest.Response, writers)

	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			answers[i] = w.Put(path, object{"priority": i + 1, "descriptionOverride": fmt.Sprint("Writer ", i)})
		})
	}

	wait.Wait()

	seen := map[int64]string{}

	for i, a := range answers {
		if a.Status != 200 {
			t.Fatalf("writer %d was answered %d %s", i, a.Status, a.Body)
		}

		version := a.Int("version")
		if seen[version] != "" {
			t.Errorf("version %d was made by two", version)
		}

		seen[version] = a.String("descriptionOverride")
	}

	for version, want := range seen {
		if got := w.Get(fmt.Sprint(path, "?version=", version)).Want(200); got.String("descriptionOverride") != want {
			t.Errorf("version %d says %s, its writer was told %s", version, got.String("descriptionOverride"), want)
		}
	}

	if got := w.Get(path).Want(200); got.Int("version") != writers+1 || w.Get(path+"/versions").Want(200).Int("pagination.total") != writers+1 {
		t.Errorf("after %d changes: %s", writers, got.Body)
	}
}

func TestRefusedRules(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	refuses := w.Refuses(rules)
	line := func(pairs ...any) object {
		return w.depot("lines", list{fixture.With(object{"splitMode": "remainder", "accountId": w.repairs}, pairs...)})
	}
	when := func(field, operator, value string) object {
		return w.depot("conditions", list{having(field, operator, value)})
	}

	refuses("no name", w.depot("name", ""), "length", "name")
	refuses("a name of spaces", w.depot("name", "  "), "length", "name")
	refuses("a long name", w.depot("name", strings.Repeat("é", 256)), "length", "name")
	refuses("a type that is none", w.depot("transactionType", "transfer"), "enum", "transactionType")
	refuses("a status that is none", w.depot("status", "paused"), "enum", "status")
	refuses("a negative priority", w.depot("priority", -1), "range", "priority")
	refuses("no conditions", w.depot("conditions", list{}), "items", "conditions")
	refuses("too many conditions", w.depot("conditions", slicesOf(51, any(having("amount", "equals", "1")))), "items", "conditions")
	refuses("an operator of amounts on a text", when("description", "lessThan", "5"), "contradiction", "conditions.0.operator")
	refuses("an operator of texts on an amount", when("amount", "contains", "5"), "contradiction", "conditions.0.operator")
	refuses("an operator that is none", when("description", "matches", ".*"), "enum", "conditions.0.operator")
	refuses("a field that is none", when("payee", "equals", "x"), "enum", "conditions.0.type")
	refuses("a value of spaces", when("description", "contains", " \t"), "length", "conditions.0.value")
	refuses("a long value", when("description", "contains", strings.Repeat("x", 256)), "length", "conditions.0.value")
	refuses("a NUL in a value", when("description", "contains", "a\x00b"), "nulCharacter", "conditions.0.value")
	refuses("an amount with a sign", when("amount", "equals", "-5"), "malformed", "conditions.0.value")
	refuses("an amount with a point", when("amount", "equals", "5.00"), "malformed", "conditions.0.value")
	refuses("an amount beyond the safe range", when("amount", "lessThan", "9007199254740992"), "malformed", "conditions.0.value")
	refuses("a range the wrong way", when("amount", "between", "2...1"), "malformed", "conditions.0.value")
	refuses("a range where one amount is meant", when("amount", "equals", "1...2"), "malformed", "conditions.0.value")
	refuses("no lines", w.depot("lines", list{}), "items", "lines")
	refuses("too many lines", w.depot("lines", slicesOf(101, any(object{"splitMode": "remainder", "accountId": w.repairs}))), "items", "lines")
	refuses("no account", line("accountId", nil), "required", "lines.0.accountId")
	refuses("a fixed line without an amount", line("splitMode", "fixed"), "required", "lines.0.fixedCentAmount")
	refuses("an amount of nothing", line("splitMode", "fixed", "fixedCentAmount", 0), "zeroAmount", "lines.0.fixedCentAmount")
	refuses("a remainder with an amount", line("fixedCentAmount", 5), "contradiction", "lines.0.fixedCentAmount")
	refuses("half of a record", line("splitMode", "percentage", "percentageBps", 50000), "splitSum", "lines")
	refuses("more than a record", line("splitMode", "percentage", "percentageBps", 100001), "range", "lines.0.percentageBps")
	refuses("a fraction of a cent", line("splitMode", "fixed", "fixedCentAmount", 0.5), "integer", "lines.0.fixedCentAmount")
	refuses("an owner without a listing", line("party", "owners"), "required", "lines.0.listingId")
	refuses("a markup on the manager's cost", line("markup", object{"amount": 1}), "markupNotSupported", "lines.0.markup")
	refuses("a behavior without a rate", line("taxBehavior", "included"), "required", "lines.0.taxRateId")
	refuses("tax on a deposit", fixture.With(line("taxRateId", w.tax), "transactionType", "deposit"), "taxNotSupported", "lines.0.taxRateId")
	refuses("the month before, of a deposit", w.depot("transactionType", "deposit", "usePriorMonthEnd", true), "contradiction", "usePriorMonthEnd")
	refuses("an account twice", w.depot("accountIds", list{w.trust, w.trust}), "unique", "accountIds.1")
	refuses("an unknown field", w.depot("version", 7), "unknownField", "version")

	for what, x := range map[string]*world{"unknown": {villa: w.id(), vendor: w.id(), tax: w.id(), trust: w.id(), repairs: w.id()}, "another team's": other} {
		refuses(what+" contact", w.depot("vendorContactId", x.vendor), "notFound", "vendorContactId")
		refuses(what+" bank account", w.depot("accountIds", list{w.trust, x.trust}), "notFound", "accountIds.1")
		refuses(what+" account", line("accountId", x.repairs), "notFound", "lines.0.accountId")
		refuses(what+" listing", line("listingId", x.villa), "notFound", "lines.0.listingId")
		refuses(what+" tax rate", line("taxRateId", x.tax), "notFound", "lines.0.taxRateId")
		refuses(what+" tax rate of a markup", line("listingId", w.villa, "markup", object{"amount": 1, "taxRateId": x.tax}), "notFound", "lines.0.markup.taxRateId")
	}

	refuses("records of an account without any", w.depot("accountIds", list{w.repairs}), "notBankAccount", "accountIds.0")
	refuses("an account beside another assignment", line("assignment", "accountsPayable"), "assignmentMismatch", "lines.0.accountId")

	former := w.cost("Former")
	w.Put("/accounts/"+former.String(), object{"status": "inactive"}).Want(200)
	refuses("an archived account", line("accountId", former), "accountInactive", "lines.0.accountId")

	path := w.made(w.depot())
	before := w.Fingerprint()
	w.Put(path, object{"transactionType": "deposit", "usePriorMonthEnd": true}).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "usePriorMonthEnd")
	w.Put(path, object{"accountIds": list{other.trust}}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "accountIds.0")
	w.Put(path, object{"vendorContactId": other.vendor}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "vendorContactId")
	w.Put(path, object{"conditions": list{}}).Want(400)
	w.Put(rules+"/"+w.id().String(), object{"name": "None"}).WantError(apierr.CodeNotFound, "")
	w.Post(rules, `{"name": "`+strings.Repeat("x", 2<<20)+`"}`).WantError(apierr.CodePayloadTooLarge, "")

	if w.Fingerprint() != before {
		t.Error("what was refused left something behind")
	}
}

func slicesOf[T any](n int, v T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}

	return out
}

// Bank rules are of no family of dry runs; only their execution is. Proves: DRY-03, DRY-04.
func TestRulesRefuseDryRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot())
	before := w.Fingerprint()
	w.Post(rules+"?dryRun=true", w.depot()).WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "dryRun")
	w.Put(path+"?dryRun=true", object{"name": "Other"}).WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "dryRun")
	w.Delete(path+"?dryRun=true").WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "dryRun")
	w.Post(rules+"/preview?dryRun=true", object{"dateRange": "2026"}).WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "dryRun")

	if w.Fingerprint() != before {
		t.Error("a dry run changed something")
	}
}

// Records that a rule names can vanish: the rule says so, can be put away and named otherwise, and other rules work as
// before.
func TestVanishedReferencesAreFindings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	vendor, villa := w.Contact("vendor", "Gone"), w.Listing("Gone", w.Contact("owner", "Ben")).ID
	tax := w.Post("/tax-rates", object{"name": "Gone", "basisPoints": 1}).Want(201).ID("id")
	cost := w.cost("Gone")
	path := w.made(w.depot("mode", "auto", "vendorContactId", vendor, "lines", list{object{
		"splitMode": "remainder", "accountId": cost, "listingId": villa, "taxRateId": tax, "markup": object{"amount": 1, "taxRateId": tax},
	}}))

	whole := w.made(w.depot("name", "Whole", "priority", 1))
	if got := w.Get(path).Want(200); got.String("issues") != "[]" {
		t.Fatalf("issues before anything is gone: %s", got.String("issues"))
	}

	w.Exec(`delete from listing_ownership_member where team_id = @team and period_id in (select id from listing_ownership_period where team_id = @team and listing_id = @id)`, db.Args{"id": villa})
	w.Exec(`delete from listing_ownership_period where team_id = @team and listing_id = @id`, db.Args{"id": villa})
	w.Exec(`delete from listing where team_id = @team and id = @id`, db.Args{"id": villa})
	w.Delete("/contacts/" + vendor.String()).Want(204)
	w.Delete("/tax-rates/" + tax.String()).Want(204)
	w.Delete("/accounts/" + cost.String()).Want(204)

	listed := w.Get(rules).Want(200)
	if listed.Int("pagination.total") != 2 || listed.String("data.1.issues") != "[]" {
		t.Fatalf("listed %s", listed.Body)
	}

	want := map[string]id.ID{
		`["vendorContactId"]`: vendor, `["lines",0,"accountId"]`: cost, `["lines",0,"listingId"]`: villa, `["lines",0,"taxRateId"]`: tax,
		`["lines",0,"markup","taxRateId"]`: tax,
	}

	for i := range listed.Len("data.0.issues") {
		at := fmt.Sprint("data.0.issues.", i, ".")

		field := listed.String(at + "context.path")
		if listed.String(at+"code") != "notFound" || listed.String(at+"severity") != "error" || want[field].String() != listed.String(at+"context.id") {
			t.Errorf("issue %s", listed.String(fmt.Sprint("data.0.issues.", i)))
		}

		delete(want, field)
	}

	if len(want) > 0 {
		t.Errorf("not told: %v", want)
	}

	if listed.String("data.0.vendorContact") != "null" || listed.Has("data.0.lines.0.account") || listed.Has("data.0.lines.0.listing") {
		t.Errorf("names of what is gone: %s", listed.Body)
	}
	// References that are there may stay, and nothing else that is gone may be added.
	w.Put(path, object{"name": "Broken"}).Want(200)
	w.Put(whole, object{"vendorContactId": vendor}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "vendorContactId")
	w.record(w.trust, "2026-02-03", -700, "Depot 1")

	preview := w.Post(rules+"/preview", object{"dateRange": "2026-02"}).Want(200)
	if preview.String("rules.0.name") != "Broken" || preview.Len("rules.0.issues") != 5 || preview.String("data.0.isAutoApplicable") != "false" || preview.Len("data.0.matches") != 2 {
		t.Errorf("previewed %s", preview.Body)
	}

	w.Delete(path + "?onLocked=archive").Want(204)

	if got := w.Get(path).Want(200); got.String("status") != "inactive" || got.Int("version") != 3 {
		t.Errorf("archived %s", got.Body)
	}
	// A part that no account has been given.
	w.Put(whole, object{"lines": list{object{"splitMode": "remainder", "assignment": "deposit_channelFee"}}}).Want(200)
	w.Exec(`delete from account_assignment where team_id = @team and assignment = 'deposit_channelFee'`, nil)

	if got := w.Get(whole).Want(200); got.String("issues.0.code") != "requiredAccountMissing" || got.String("issues.0.context.assignment") != "deposit_channelFee" {
		t.Errorf("unassigned: %s", got.String("issues"))
	}
}

// A stored rule that no engine could be made of does not take the others down.
func TestBrokenRuleLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := w.made(w.depot("name", "Broken"))
	w.made(w.depot("name", "Whole", "priority", 1))
	w.Exec(`update bank_rule set lines = '[{"splitMode": "percentage", "percentageBps": 1, "assignment": "accountsPayable"}]' where team_id = @team and id = @id`,
		db.Args{"id": broken[len(rules)+1:]})
	w.record(w.trust, "2026-02-03", -700, "Depot 1")

	listed := w.Get(rules).Want(200)
	if listed.String("data.0.issues.0.code") != "splitSum" || listed.String("data.0.issues.0.context.path") != `["lines"]` || listed.String("data.1.issues") != "[]" {
		t.Errorf("listed %s", listed.Body)
	}

	got := w.Post(rules+"/preview", object{"dateRange": "2026-02"}).Want(200)
	if got.Int("pagination.total") != 1 || got.String("data.0.matches.0.name") != "Whole" || got.String("rules.0.issues.0.code") != "splitSum" {
		t.Errorf("previewed %s", got.Body)
	}
}

// A rule that has reconciled records stays, as inactive if need be; another goes with its versions.
// Proves: ERR-72, ERR-73, ERR-74.
func TestDeletedRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	used, free := w.made(w.depot("name", "Used")), w.made(w.depot("name", "Free"))
	record := w.record(w.trust, "2026-02-03", -700, "Depot 1")
	w.Exec(`update bank_record set matched_by_bank_rule = @rule where team_id = @team and id = @id`, db.Args{"id": record, "rule": used[len(rules)+1:]})

	refused := w.Delete(used).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if refused.String("context.lockReasons") != `["bankRecords"]` || refused.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("refused %s", refused.Body)
	}

	for range 2 { // the second changes nothing
		w.Delete(used + "?onLocked=archive").Want(204)

		if got := w.Get(used).Want(200); got.String("status") != "inactive" || got.Int("version") != 2 {
			t.Errorf("archived %s", got.Body)
		}
	}

	w.Put(free, object{"priority": 2}).Want(200)
	w.Delete(free).Want(204)
	w.Get(free).WantError(apierr.CodeNotFound, "")
	w.Delete(free).WantError(apierr.CodeNotFound, "")

	if got := w.Get(rules).Want(200); got.Int("pagination.total") != 1 {
		t.Errorf("listed %s", got.Body)
	}

	w.Delete(used + "?onLocked=delete").Want(400)
}

// A team has a thousand rules at the most, also when many add some at once.
func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seed := w.made(w.depot())
	w.Exec(`insert into bank_rule select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).*
		from bank_rule r, generate_series(1, 996) where r.team_id = @team and r.id = @id`, db.Args{"id": seed[len(rules)+1:]})

	var wait sync.WaitGroup

	answers := make([]*apitest.Response, 12)
	for i := range answers {
		wait.Go(func() { answers[i] = w.Post(rules, w.depot()) })
	}

	wait.Wait()

	made := 0

	for _, a := range answers {
		if a.Status == 201 {
			made++
			continue
		}

		if a.WantError(apierr.CodeBadRequest, ""); a.Int("context.maxRules") != 1000 {
			t.Errorf("refused %s", a.Body)
		}
	}

	if got := w.Get(rules + "?limit=1").Want(200); made != 3 || got.Int("pagination.total") != 1000 {
		t.Errorf("%d were made, there are %d", made, got.Int("pagination.total"))
	}
}

// A page with more lines than an answer can hold is refused with the limit that works.
func TestPagesOfRulesWithTooManyLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lines := append(slicesOf(99, any(object{"splitMode": "fixed", "fixedCentAmount": 1, "accountId": w.repairs})), object{"splitMode": "remainder", "accountId": w.repairs})
	seed := w.made(w.depot("lines", lines))
	w.Exec(`insert into bank_rule select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).*
		from bank_rule r, generate_series(1, 219) where r.team_id = @team and r.id = @id`, db.Args{"id": seed[len(rules)+1:]})

	if refused := w.Get(rules+"?limit=250").WantIssue("tooManyLines", "limit"); refused.Int("context.suggestedLimit") != 200 {
		t.Errorf("refused %s", refused.Body)
	}

	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
		select @team, gen_random_uuid(), @account, '2026-02-03', -1000, 'Depot', now(), now() from generate_series(1, 250)`, db.Args{"account": w.trust})

	if refused := w.Post(rules+"/preview?limit=250", object{"dateRange": "2026-02"}).WantIssue("tooManyLines", "limit"); refused.Int("context.suggestedLimit") != 200 {
		t.Errorf("refused %s", refused.Body)
	}

	if got := w.Post(rules+"/preview?limit=200", object{"dateRange": "2026-02"}).Want(200); got.Len("data") != 200 {
		t.Errorf("%d records", got.Len("data"))
	}
}

func TestListOfRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.made(w.depot("name", "a", "priority", 2, "accountIds", list{w.trust}))
	w.made(w.depot("name", "b", "priority", 1, "mode", "auto", "vendorContactId", w.vendor, "descriptionOverride", "Nails"))
	w.made(w.depot("name", "c", "priority", 2, "transactionType", "deposit", "conditions", list{having("description", "contains", `100% "pure"`)}))
	w.made(w.depot("name", "d", "status", "inactive", "lines", list{object{"splitMode": "remainder", "accountId": w.repairs, "listingId": w.villa}}))

	for query, want := range map[string]string{
		"":                                         "d b a c",
		"sort=-priority":                           "c a b d",
		"sort=name":                                "a b c d",
		"sort=createdAt":                           "a b c d",
		"status=active":                            "b a c",
		"mode=auto":                                "b",
		"transactionType=deposit":                  "c",
		"accountIds=" + w.trust.String():           "a",
		"accountIds=" + w.repairs.String():         "d b a c",
		"accountIds=!" + w.trust.String():          "d b c",
		"accountIds=" + w.operating.String():       "",
		"listingIds=" + w.villa.String():           "d",
		"contactIds=" + w.vendor.String():          "b",
		"contactIds=null":                          "d a c",
		"search=nail":                              "b",
		"search=DEPOT":                             "d b a",
		"search=100%25+%22":                        "c",
		"search=contains":                          "",
		"search=%25":                               "c",
		"accountIds=" + newWorld(t).trust.String(): "",
	} {
		got := w.Get(rules + "?" + query).Want(200)

		names := make([]string, got.Len("data"))
		for i := range names {
			names[i] = got.String(fmt.Sprint("data.", i, ".name"))
		}

		if is := strings.Join(names, " "); is != want {
			t.Errorf("%s lists %q, want %q", query, is, want)
		}
	}
}

// Bank records tell which active rules they meet, whatever state they are in; another team's are none of them.
func TestRecordsTellTheRulesThatTheyMeet(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	other.made(other.depot("name", "Foreign"))
	w.made(w.depot("name", "Late", "priority", 2))
	first := w.made(w.depot("name", "Soon", "priority", 1, "conditions", list{having("reference", "equals", "fit-1"), having("amount", "lessThan", "1000")}))
	w.made(w.depot("name", "Operating", "accountIds", list{w.operating}))
	w.made(w.depot("name", "Deposits", "transactionType", "deposit"))
	w.made(w.depot("name", "Put away", "status", "inactive"))
	broken := w.made(w.depot("name", "Broken"))
	w.Exec(`update bank_rule set lines = '[]' where team_id = @team and id = @id`, db.Args{"id": broken[len(rules)+1:]})
	record, bakery := w.record(w.trust, "2026-02-03", -700, "Depot 1"), w.record(w.trust, "2026-02-04", -700, "Bakery")
	w.Exec(`update bank_record set unique_ref = 'FIT-1', status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": record})

	got := w.Get("/bank-records/" + record.String()).Want(200)
	if got.Len("matchingRules") != 2 || got.String("matchingRules.0.name") != "Soon" || got.String("matchingRules.0.id") != first[len(rules)+1:] ||
		got.String("matchingRules.1.name") != "Late" {
		t.Errorf("the record meets %s", got.String("matchingRules"))
	}

	listed := w.Get("/bank-records?sort=date&includeMatchingRules=true&includeMatchingTransactions=true").Want(200)
	if listed.String("data.0.matchingRules") != got.String("matchingRules") || listed.String("data.1.id") != bakery.String() ||
		listed.String("data.1.matchingRules") != "[]" || listed.String("data.1.matchingTransactions") != "[]" {
		t.Errorf("listed %s", listed.Body)
	}

	if listed := w.Get("/bank-records").Want(200); listed.Has("data.0.matchingRules") || listed.Has("data.0.matchingTransactions") {
		t.Errorf("told unasked: %s", listed.Body)
	}
}

// Proves: AUTH-18.
func TestScopesOfRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot())
	body := object{"dateRange": "2026"}
	refused := func(r *apitest.Response) { r.WantError(apierr.CodeForbidden, "") }

	reader, writer, eraser := w.As([]string{"bank:read"}, nil), w.As([]string{"bank:write"}, nil), w.As([]string{"bank:delete"}, nil)
	for _, other := range []*apitest.Team{writer, eraser} {
		refused(other.Get(rules))
		refused(other.Get(path))
		refused(other.Get(path + "/versions"))
		refused(other.Post(rules+"/preview", body))
	}

	for _, other := range []*apitest.Team{reader, eraser} {
		refused(other.Post(rules, w.depot()))
		refused(other.Put(path, object{"name": "Other"}))
	}

	refused(reader.Delete(path))
	refused(writer.Delete(path))
	reader.Get(path + "/versions").Want(200)
	reader.Post(rules+"/preview", body).Want(200)
	writer.Put(path, object{"name": "Other"}).Want(200)
	eraser.Delete(path).Want(204)
}
