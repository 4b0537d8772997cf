package rule_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/banking/rule"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

const preview = rules + "/preview"

// match is a row of a preview.
type match struct {
	BankRecord struct {
		ID     id.ID
		Amount money.Cents
	}
	Matches []struct {
		BankRuleID *id.ID
		Name       string
		Conditions []int
	}
	IsAutoApplicable bool
	Reason           *string
	Transaction      map[string]any
}

// previewed reads all pages of a preview.
func (w *world) previewed(body object, limit int) (all []match) {
	w.T.Helper()

	for number := 1; ; number++ {
		var found struct {
			Data       []match
			Pagination struct {
				Total    int
				NextPage *int
			}
		}
		w.Post(fmt.Sprint(preview, "?limit=", limit, "&page=", number), body).Want(200).Into(&found)

		if all = append(all, found.Data...); found.Pagination.NextPage == nil {
			if found.Pagination.Total != len(all) {
				w.T.Errorf("the pages have %d records, the total is %d", len(all), found.Pagination.Total)
			}

			return all
		}
	}
}

// A preview says what the engine decides about the same records, adds up to the cent, and books nothing: no table of
// the team changes.
// Proves: DRY-65.
func TestPreviewIsWhatTheEngineDecides(t *testing.T) {
	t.Parallel()

	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t)
	w.made(w.depot("name", "Thirds", "priority", 3, "mode", "auto", "lines", list{
		object{"splitMode": "percentage", "percentageBps": 33333, "accountId": w.repairs},
		object{"splitMode": "percentage", "percentageBps": 33333, "accountId": w.repairs, "listingId": w.villa},
		object{"splitMode": "remainder", "accountId": w.repairs, "party": "manager"},
	}))
	w.made(w.depot("name", "Fixed", "priority", 2, "conditions", list{having("amount", "lessThan", "3000"), having("description", "notContains", "garden")}, "lines", list{
		object{"splitMode": "fixed", "fixedCentAmount": 1500, "accountId": w.repairs}, object{"splitMode": "remainder", "accountId": w.repairs},
	}, "accountIds", list{w.operating}))
	w.made(w.depot("name", "Month before", "priority", 1, "matchMode", "any", "usePriorMonthEnd", true, "mode", "auto", "conditions", list{
		having("amount", "equals", "777"), having("description", "endsWith", "Rent"),
	}))
	w.made(w.depot("name", "In", "transactionType", "deposit", "conditions", list{having("amount", "greaterThan", "0")}, "lines", list{
		object{"splitMode": "percentage", "percentageBps": 100000, "accountId": w.rent},
	}, "descriptionOverride", "Came in"))
	w.made(w.depot("name", "Put away", "status", "inactive", "conditions", list{having("amount", "greaterThan", "0")}))

	texts := []string{"Home Depot 12", "GARDEN  depot", "Office rent", "Payout", ""}
	for range 120 {
		w.record([]id.ID{w.trust, w.operating}[random.IntN(2)], fmt.Sprintf("2026-%02d-%02d", 1+random.IntN(3), 1+random.IntN(28)),
			[]int64{-777, -1, 0, -1499, -1500, -2999, -100_001, 777, 12345}[random.IntN(9)], texts[random.IntN(len(texts))])
	}

	all := w.records()
	w.Exec(`update bank_record set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": all[0].ID})
	w.Exec(`update bank_record set account_id = null, currency = 'usd' where team_id = @team and id = @id`, db.Args{"id": all[1].ID})
	w.Exec(`update bank_record set type = 'balance', balance = 5, amount = 0 where team_id = @team and id = @id`, db.Args{"id": all[2].ID})
	// Its date is far from those of the records, so that it explains none of them.
	paid := w.Post("/transactions", object{"type": "expense", "date": "2026-08-01", "accountId": w.trust, "lines": list{object{"accountId": w.repairs, "amount": 1}}}).Want(201).ID("id")
	w.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		select @team, @id, @transaction, account_id, -1, now() from bank_record where team_id = @team and id = @id`, db.Args{"id": all[3].ID, "transaction": paid})

	engine, err := rule.Compile(w.stored())
	if err != nil {
		t.Fatal(err)
	}

	pass := engine.Pass()

	before := w.Fingerprint()
	for _, body := range []object{
		{"dateRange": "2026"},
		{"dateRange": "2026-02"},
		{"dateRange": "2026-01-10...2026-03-05", "isDateRangeEndInclusive": false},
		{"dateRange": "2026", "accountIds": list{w.operating}},
		{"dateRange": "2025"},
	} {
		var want []rule.Record

		for _, r := range w.records() {
			date, of := r.Date.String(), r.AccountID

			within := map[any]bool{
				"2026": true, "2026-02": strings.HasPrefix(date, "2026-02"), "2026-01-10...2026-03-05": date >= "2026-01-10" && date < "2026-03-05", "2025": false,
			}[body["dateRange"]] && (body["accountIds"] == nil || of == w.operating)
			if d := pass.Decide(&r); within && d.Rule != nil {
				want = append(want, r)
			}
		}

		got := w.previewed(body, 17)
		if len(got) != len(want) {
			t.Fatalf("%v: %d records, the engine takes %d", body, len(got), len(want))
		}

		for i := range got {
			w.same(&got[i], &want[i], pass)
		}
	}

	if after := w.Fingerprint(); after != before {
		t.Errorf("a preview changed rows:\n%s\n%s", before, after)
	}
}

// same holds a row of a preview to what the engine decides about the record.
func (w *world) same(got *match, r *rule.Record, pass *rule.Pass) {
	w.T.Helper()

	d := pass.Decide(r)
	if got.BankRecord.ID != r.ID || got.IsAutoApplicable != d.Auto() || (got.Reason == nil) != (d.Transaction != nil) || got.Reason != nil && *got.Reason != string(d.Reason) {
		w.T.Errorf("record %+v is previewed as %+v, decided %+v", r, got, d)
	}

	var want map[string]any

	encoded, err := json.Marshal(d.Transaction)
	if err != nil {
		w.T.Fatal(err)
	}

	if err := json.Unmarshal(encoded, &want); err != nil {
		w.T.Fatal(err)
	}

	if !reflect.DeepEqual(got.Transaction, want) {
		w.T.Errorf("record %s would be booked as %v, decided %v", r.ID, got.Transaction, want)
	}

	if got.Transaction != nil {
		var sum float64
		for _, l := range got.Transaction["lines"].(list) { //nolint:forcetypeassert // as described
			sum += l.(object)["amount"].(float64) //nolint:forcetypeassert // as described
		}

		if money.Cents(sum) != max(r.Amount, -r.Amount) {
			w.T.Errorf("the lines of %s add up to %v, the record to %d", r.ID, sum, r.Amount)
		}
	}

	met := pass.Matching(r)
	if len(met) != len(got.Matches) {
		w.T.Errorf("record %s meets %d rules, previewed %v", r.ID, len(met), got.Matches)
		return
	}

	for i, m := range got.Matches {
		if *m.BankRuleID != met[i].ID || m.Name != met[i].Name || !slices.Equal(m.Conditions, met[i].Holding(r)) {
			w.T.Errorf("record %s: match %v, engine %v", r.ID, m, met[i])
		}
	}
}

// A rule can be tried before it is stored, and a stored one before it is switched on.
func TestPreviewOfChosenRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := w.made(w.depot("name", "Stored", "status", "inactive", "mode", "auto"))
	w.made(w.depot("name", "Other", "priority", 0))
	record := w.record(w.trust, "2026-02-03", -1000, "Depot")
	w.record(w.trust, "2026-02-04", -500, "Bakery")
	before := w.Fingerprint()

	got := w.Post(preview, object{"dateRange": "2026-02", "bankRuleIds": list{stored[len(rules)+1:]}}).Want(200)
	if got.Len("data") != 1 || got.Len("data.0.matches") != 1 || got.String("data.0.matches.0.bankRuleId") != stored[len(rules)+1:] || got.String("data.0.isAutoApplicable") != "true" {
		t.Errorf("stored: %s", got.Body)
	}

	got = w.Post(preview, object{"dateRange": "2026-02", "rule": w.depot("name", "New", "status", "inactive", "matchMode", "any", "conditions", list{
		having("amount", "equals", "1"), having("description", "equals", "DEPOT"), having("reference", "notEquals", "x"),
	}, "lines", list{
		object{"splitMode": "percentage", "percentageBps": 33333, "accountId": w.repairs}, object{"splitMode": "remainder", "accountId": w.repairs},
	})}).Want(200)
	for path, want := range map[string]string{
		"pagination.total": "2", "openRecords": "2", "cut": "false", "rules.0.bankRuleId": "null", "rules.0.name": "New", "rules.0.records": "2", "rules.0.issues": "[]",
		"data.0.bankRecord.description": "Bakery", "data.0.matches.0.conditions": "[2]", "data.1.matches.0.conditions": "[1,2]", "data.1.matches.0.bankRuleId": "null",
		"data.1.bankRecord.id": record.String(), "data.1.bankRecord.amount": "-1000", "data.1.bankRecord.currency": "usd", "data.1.bankRecord.accountId": w.trust.String(),
		"data.1.transaction.type": "expense", "data.1.transaction.date": "2026-02-03", "data.1.transaction.description": "Depot",
		"data.1.transaction.lines.0.amount": "333", "data.1.transaction.lines.1.amount": "667", "data.1.reason": "null", "data.1.isAutoApplicable": "false",
	} {
		if is := got.String(path); is != want {
			t.Errorf("%s = %s, want %s", path, is, want)
		}
	}

	if w.Fingerprint() != before {
		t.Error("a preview changed something")
	}

	short := w.Post(preview, object{"dateRange": "2026-02", "rule": w.depot("lines", list{object{"splitMode": "fixed", "fixedCentAmount": 999, "accountId": w.repairs}})}).Want(200)
	if short.String("data.0.reason") != "splitMismatch" || short.String("data.0.transaction") != "null" || short.String("data.0.isAutoApplicable") != "false" {
		t.Errorf("a rule that cannot book: %s", short.Body)
	}
	// The preview shows exactly what can be booked.
	made := w.Post("/transactions", got.Value("data.1.transaction")).Want(201)
	if made.Int("total") != 1000 || made.ID("accountId") != w.trust {
		t.Errorf("booked %s", made.Body)
	}
}

func TestRefusedPreviews(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	own, foreign := w.made(w.depot())[len(rules)+1:], other.made(other.depot())[len(rules)+1:]
	other.record(other.trust, "2026-02-03", -1000, "Depot")

	refuses := w.Refuses(preview)
	with := func(pairs ...any) object { return fixture.With(object{"dateRange": "2026-02"}, pairs...) }

	refuses("no days", object{}, "required", "dateRange")
	refuses("days the wrong way", object{"dateRange": "2026-02-02...2026-02-01"}, "dateRange", "dateRange")
	refuses("a rule and stored ones", with("rule", w.depot(), "bankRuleIds", list{own}), "contradiction", "bankRuleIds")
	refuses("another team's rule", with("bankRuleIds", list{own, foreign}), "notFound", "bankRuleIds.1")
	refuses("another team's account", with("accountIds", list{w.trust, other.trust}), "notFound", "accountIds.1")
	refuses("an account of no bank", with("accountIds", list{w.repairs}), "notBankAccount", "accountIds.0")
	refuses("a rule that is wrong", with("rule", w.depot("lines", list{object{"splitMode": "remainder"}})), "required", "rule.lines.0.accountId")
	refuses("a rule of another team's account", with("rule", w.depot("accountIds", list{other.trust})), "notFound", "rule.accountIds.0")
	refuses("a rule of another team's contact", with("rule", w.depot("vendorContactId", other.vendor)), "notFound", "rule.vendorContactId")
	refuses("too many rules", with("bankRuleIds", slicesOf(101, any(own))), "items", "bankRuleIds")
	w.Post(preview+"?limit=251", with()).WantError(apierr.CodeBadRequest, "").WantIssue("range", "limit")
	w.Post(preview, `{"dateRange": "2026", "rule": {"name": "`+strings.Repeat("x", 2<<20)+`"}}`).WantError(apierr.CodePayloadTooLarge, "")

	if got := w.Post(preview, with()).Want(200); got.Len("data") != 0 || got.Int("openRecords") != 0 {
		t.Errorf("another team's records: %s", got.Body)
	}
}

// However many records and conditions there are, a preview ends: it looks at the newest records and says that there are
// more.
func TestPreviewsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
		select @team, gen_random_uuid(), @account, date '2026-02-01' + (i % 28), -i, repeat('ab', 200), now(), now() from generate_series(1, 10001) i`, db.Args{"account": w.trust})
	all := w.depot("conditions", list{having("amount", "greaterThan", "0")})

	got := w.Post(preview+"?limit=1", object{"dateRange": "2026", "rule": all}).Want(200)
	if got.String("cut") != "true" || got.Int("openRecords") != 10000 || got.Int("pagination.total") != 10000 || got.String("data.0.bankRecord.date") != "2026-02-28" {
		t.Errorf("cut %s", got.Body)
	}

	if got := w.Post(preview+"?limit=1", object{"dateRange": "2026-02-02...2026-02-28", "rule": all}).Want(200); got.String("cut") != "false" || got.Int("openRecords") != 9644 {
		t.Errorf("fewer days: %d records", got.Int("openRecords"))
	}
	// A thousand rules of fifty conditions that nothing rules out.
	conditions := make([]rule.Condition, 50)
	for i := range conditions {
		conditions[i] = rule.Condition{Type: rule.Description, Operator: rule.NotContains, Value: strings.Repeat("ab", 100) + fmt.Sprint("x", i)}
	}

	seed := w.made(w.depot("conditions", conditions))
	w.Exec(`insert into bank_rule select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'conditions',
			replace(r.conditions::text, 'x', 'y' || i || 'x')::jsonb))).*
		from bank_rule r, generate_series(1, 999) i where r.team_id = @team and r.id = @id`, db.Args{"id": seed[len(rules)+1:]})

	started := time.Now()
	hostile := w.Post(preview+"?limit=1", object{"dateRange": "2026"}).Want(200)
	took := time.Since(started)

	if hostile.String("cut") != "true" || hostile.Int("openRecords") != 20_000_000/50_001 || hostile.Len("data.0.matches") != 1000 {
		t.Errorf("%d records, cut %s, %d rules", hostile.Int("openRecords"), hostile.String("cut"), hostile.Len("data.0.matches"))
	}

	t.Logf("1000 rules with 50 conditions each: %v", took)
}
