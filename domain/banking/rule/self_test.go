package rule_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/test/fixture"
)

// movement is the request of a caller for a movement on the trust account.
func (w *world) movement(date string, cents int64, description string, pairs ...any) object {
	return fixture.With(object{"accountId": w.trust, "date": date, "amount": cents, "description": description}, pairs...)
}

// add sends records as a file does, in one batch, and runs what they start.
func (w *world) add(movements ...any) *apitest.Response {
	w.T.Helper()
	r := w.Post("/bank-records/batch", object{"data": movements}).Want(201)
	w.Work()

	return r
}

// transactions counts the transactions of the team.
func (w *world) transactions() int {
	w.T.Helper()
	return w.count(`select count(*) from transaction where team_id = @team`)
}

// A rule leaves a record to a person for which a transaction is there already, one or one of several, and so says a run
// by hand, its dry run and the preview.
func TestARuleBooksNothingThatIsBooked(t *testing.T) {
	t.Parallel()

	for name, expenses := range map[string]int{"unique": 1, "ambiguous": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			path := w.made(w.depot("mode", "auto", "conditions", list{having("description", "contains", "acme")}))
			for range expenses {
				w.Post("/transactions", object{
					"type": "expense", "date": "2026-02-10", "accountId": w.trust, "description": "INV1",
					"lines": list{object{"accountId": w.repairs, "amount": 7301}},
				}).Want(201)
			}

			record := w.add(w.movement("2026-02-10", -7301, "ACME INV1")).String("data.0.id")
			if n := w.transactions(); n != expenses {
				t.Errorf("%d transactions, want %d", n, expenses)
			}

			dry := w.Post(path+"/run?dryRun=true", nil).Want(200)
			dry.WantFields("data.0", object{"bankRecordId": record, "outcome": "skipped", "reason": "transactionMatches", "version": 1})

			run := w.Post(path+"/run?dryRun=false", nil).Want(202)
			w.Work()
			w.Get(path+"/runs/"+run.String("operationId")).Want(200).
				WantFields("data.0", object{"bankRecordId": record, "outcome": "skipped", "reason": "transactionMatches", "transactionId": nil})
			w.Post("/bank-rules/preview", object{"dateRange": "2026-02"}).Want(200).
				WantFields("data.0", object{"isAutoApplicable": false, "reason": "transactionMatches", "transaction": nil})

			if n := w.transactions(); n != expenses {
				t.Errorf("%d transactions after a run, want %d", n, expenses)
			}
		})
	}
}

// Neither of two records that can be the same movement is booked, until a person has excluded one.
func TestRulesKeepOffOpenDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot("mode", "auto"))
	csv := w.movement("2026-02-10", -1500, "HOME DEPOT", "source", "csv")

	// The same file without references comes twice: the first record is booked, the second one is listed with it.
	first := w.add(csv)
	second := w.add(csv)
	record := second.String("data.0.id")

	if n := w.transactions(); n != 1 {
		t.Fatalf("%d transactions, want that of the first record", n)
	}

	second.WantFields("data.0.duplicates.0", object{"id": first.String("data.0.id"), "source": "csv"})
	w.Get("/bank-records/"+record).Want(200).WantFields("reconciliation", object{"status": "unpaid"})

	// Another source has two movements that are new to both.
	byHand := w.add(w.movement("2026-02-20", -2500, "Depot"))
	w.Put(path, object{"status": "inactive"}).Want(200)
	byFile := w.add(w.movement("2026-02-21", -3500, "Depot"), w.movement("2026-02-21", -3500, "The depot", "source", "csv"))
	w.Put(path, object{"status": "active"}).Want(200)
	run := w.Post(path+"/run?dryRun=false", nil).Want(202)
	w.Work()

	items := w.Get(path + "/runs/" + run.String("operationId")).Want(200)
	if items.Len("data") != 3 {
		t.Fatalf("the run did: %s", items.Body)
	}

	for i := range 3 {
		items.WantFields("data."+strconv.Itoa(i), object{"outcome": "skipped", "reason": "openDuplicate"})
	}

	w.Get("/bank-records/"+byHand.String("data.0.id")).Want(200).WantFields("reconciliation", object{"status": "paid"})

	// A person settles both pairs. Then a run books what is left of them.
	w.Put("/bank-records/"+record, object{"status": "inactive"}).Want(200)
	w.Put("/bank-records/"+byFile.String("data.1.id"), object{"status": "inactive"}).Want(200)
	w.Post(path+"/run?dryRun=false", nil).Want(202)
	w.Work()

	if n := w.transactions(); n != 3 {
		t.Errorf("%d transactions, want 3", n)
	}
}

// What one file gives twice in itself are two movements.
func TestEqualMovementsOfOneBatchAreNoDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.made(w.depot("mode", "auto"))

	r := w.add(w.movement("2026-02-10", -1500, "HOME DEPOT"), w.movement("2026-02-10", -1500, "HOME DEPOT"))
	if r.Len("data.0.duplicates") != 0 || w.transactions() != 2 {
		t.Errorf("%d transactions, and %s", w.transactions(), r.Body)
	}
}

// Making, changing and activating an auto rule, and adding, restoring and moving a record that one takes, need
// transactions:write.
func TestRulesThatActNeedTheScopeToBook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bank := w.As([]string{"bank:read", "bank:write"}, nil)
	denied := func(r *apitest.Response) {
		t.Helper()
		r.WantError(apierr.CodeForbidden, "")

		if got := r.String("context.requiredScopes.0"); got != "transactions:write" {
			t.Errorf("required: %s", r.Body)
		}
	}

	denied(bank.Post(rules, w.depot("mode", "auto")))
	suggests := rules + "/" + bank.Post(rules, w.depot()).Want(201).String("id")
	denied(bank.Put(suggests, object{"mode": "auto"}))
	bank.Put(suggests, object{"name": "Mine", "conditions": list{having("description", "contains", "bakery")}}).Want(200)

	path := w.made(w.depot("mode", "auto", "status", "inactive"))
	denied(bank.Put(path, object{"status": "active"}))
	denied(bank.Put(path, object{"name": "Mine"}))
	record := "/bank-records/" + bank.Post("/bank-records/batch", object{"data": list{w.movement("2026-02-10", -1500, "HOME DEPOT")}}).Want(201).String("data.0.id")
	bank.Put(record, object{"status": "inactive"}).Want(200)
	w.Put(path, object{"status": "active"}).Want(200)
	denied(bank.Put(record, object{"status": "active"}))
	denied(bank.Post("/bank-records/batch", object{"data": list{w.movement("2026-02-10", -1500, "HOME DEPOT")}}))
	bank.Post("/bank-records/batch", object{"data": list{w.movement("2026-02-10", -1500, "Bakery")}}).Want(201)
	w.Work()

	if n := w.transactions(); n != 0 {
		t.Errorf("%d transactions were booked", n)
	}
}

// A record that is restored or moved to another account is offered to rules like a new one.
func TestRulesTakeRestoredAndMovedRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	restored := "/bank-records/" + w.add(w.movement("2026-02-10", -1500, "HOME DEPOT")).String("data.0.id")
	moved := "/bank-records/" + w.add(w.movement("2026-02-10", -2500, "HOME DEPOT")).String("data.0.id")
	w.Put(restored, object{"status": "inactive"}).Want(200)
	w.made(w.depot("mode", "auto"))
	w.Put(moved, object{"description": "Depot"}).Want(200)
	w.Work()

	if n := w.transactions(); n != 0 {
		t.Fatalf("%d transactions before anything was restored or moved", n)
	}

	w.Put(restored, object{"status": "active"}).Want(200)
	w.Put(moved, object{"accountId": w.operating}).Want(200)
	w.Work()

	for _, record := range []string{restored, moved} {
		w.Get(record).Want(200).WantFields("reconciliation", object{"status": "paid"})
	}
}

// A rule is neither changed nor deleted while it runs, and a run says by which version of it a record was booked.
func TestARuleThatRunsIsLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot("mode", "auto"))
	w.Put(path, object{"name": "Second version"}).Want(200)

	locked := func() {
		t.Helper()
		w.Put(path, object{"name": "Other"}).WantError(apierr.CodeLocked, "")
		w.Delete(path).WantError(apierr.CodeLocked, "")
	}

	w.record(w.trust, "2026-02-10", -1500, "HOME DEPOT 1")
	run := w.Post(path+"/run?dryRun=false", nil).Want(202).String("operationId")

	locked()
	w.Work()
	w.Get(path+"/runs/"+run).Want(200).WantFields("data.0", object{"outcome": "applied", "version": 2})

	// So is one that takes part in a run over new records.
	w.Post("/bank-records/batch", object{"data": list{w.movement("2026-03-10", -2500, "HOME DEPOT 2")}}).Want(201)
	locked()
	w.Work()
	w.Put(path, object{"name": "Third version"}).Want(200)
}

// A fixed line is an amount in the team's currency: a rule with one books no record in another.
func TestFixedLinesAreInTheTeamsCurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	euros := w.Post("/accounts", object{
		"name": "Euros", "code": "1090", "type": "bank", "categoryId": w.Get("/accounts/" + w.trust.String()).Want(200).String("category.id"),
		"banking": object{"category": "trust", "currency": "eur"},
	}).Want(201).ID("id")
	path := w.made(w.depot("mode", "auto", "lines", list{
		object{"splitMode": "fixed", "fixedCentAmount": 500, "accountId": w.repairs}, object{"splitMode": "remainder", "accountId": w.repairs},
	}))

	w.add(w.movement("2026-02-10", -1500, "Depot", "accountId", euros))
	run := w.Post(path+"/run?dryRun=false", nil).Want(202).String("operationId")
	w.Work()
	w.Get(path+"/runs/"+run).Want(200).WantFields("data.0", object{"outcome": "failed", "reason": "currencyMismatch"})

	if n := w.transactions(); n != 0 {
		t.Errorf("%d transactions were booked", n)
	}
}

// With any rules in any order, the records that are booked when they come in are those that a preview said would be.
func TestArrivalDoesWhatThePreviewSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 1))

	for range 15 {
		w.Exec(`update bank_rule set status = 'inactive' where team_id = @team`, nil)
		w.randomRules(random)
		added := w.Post("/bank-records/batch", object{"data": w.randomMovements(random)}).Want(201)

		// What the preview says, before any work is done.
		want := map[string]bool{}

		preview := w.Post("/bank-rules/preview?limit=250", object{"dateRange": "2026-02"}).Want(200)
		for i := range preview.Len("data") {
			if at := "data." + strconv.Itoa(i); preview.String(at+".isAutoApplicable") == "true" {
				want[preview.String(at+".bankRecord.id")] = true
			}
		}

		w.Work()

		for i := range added.Len("data") {
			record := added.String("data." + strconv.Itoa(i) + ".id")

			booked := w.Get("/bank-records/"+record).Want(200).String("reconciliation.status") == "paid"
			if booked != want[record] {
				t.Fatalf("record %s booked: %t, and the preview said %t: %s", record, booked, want[record], preview.Body)
			}
		}
	}
}

var words = []string{"depot", "bakery", "rent", "fee"}

// pick returns one of some values.
func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// randomRules stores one to five rules.
func (w *world) randomRules(random *rand.Rand) {
	w.T.Helper()

	for i := range 1 + random.IntN(5) {
		w.Post(rules, w.depot(
			"name", "Rule "+strconv.Itoa(i), "priority", random.IntN(4), "mode", pick(random, "auto", "suggest"),
			"status", pick(random, "active", "active", "inactive"), "transactionType", pick(random, "expense", "deposit"),
			"conditions", list{having("description", "contains", pick(random, words...))},
		)).Want(201)
	}
}

// randomMovements returns one to six movements of a month.
func (w *world) randomMovements(random *rand.Rand) list {
	movements := list{}

	for range 1 + random.IntN(6) {
		text := pick(random, words...) + " " + pick(random, words...)
		date := "2026-02-" + strconv.Itoa(10+random.IntN(18))
		movements = append(movements, w.movement(date, pick(random, int64(-1), 1)*int64(1+random.IntN(500)), text, "uniqueRef", w.id().String()))
	}

	return movements
}
