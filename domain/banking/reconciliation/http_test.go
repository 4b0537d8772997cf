package reconciliation_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/reconciliation"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = fixture.Object
	list   = fixture.Array
)

// office is a team with the standard chart, in which 1000 and 1010 are bank accounts.
type office struct {
	*apitest.Team
	t        testing.TB
	accounts map[string]id.ID
	listing  id.ID
}

func newOffice(t testing.TB) *office {
	t.Helper()
	x := apitest.New(t, apitest.Config{
		Endpoints: parts.Join(account.Part(nil), bank.Part(rule.OfBank), transaction.Part(), reconciliation.Part()).Endpoints,
		Handlers:  transaction.Part().Handlers,
	})

	return &office{Team: x, t: t, accounts: fixture.StandardChart(x), listing: fixture.Listing(x, "Villa")}
}

// one is the only number that a statement about the team gives.
func (o *office) one(sql string) (n int) {
	o.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})

	return n
}

func (o *office) record(code string, cents int64) id.ID {
	r := id.New(o.DB.Now())
	o.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, currency, created_at, updated_at)
		values (@team, @id, @account, '2026-02-10', @cents, 'Payout', 'usd', now(), now())`, db.Args{"id": r, "account": o.accounts[code], "cents": cents})

	return r
}

func (o *office) depositBody(code string, cents int64) object {
	return object{"type": "deposit", "date": "2026-02-08", "accountId": o.accounts[code], "lines": list{object{"accountId": o.accounts["1100"], "amount": cents}}}
}

func (o *office) deposit(code string, cents int64) id.ID {
	o.t.Helper()
	return o.Post("/transactions", o.depositBody(code, cents)).Want(201).ID("id")
}

func (o *office) transfer(from, to string, cents int64) id.ID {
	o.t.Helper()

	return o.Post("/transactions", object{
		"type": "transfer", "date": "2026-02-09", "accountId": o.accounts[from], "lines": list{object{"accountId": o.accounts[to], "amount": cents}},
	}).Want(201).ID("id")
}

func path(record id.ID, action string) string {
	return "/bank-records/" + record.String() + "/" + action
}

// made is a body that names transactions.
func made(transactions ...id.ID) object {
	parts := list{}
	for _, x := range transactions {
		parts = append(parts, object{"id": x})
	}

	return object{"transactions": parts}
}

// Several transactions make a record up, and a transaction can be on several records, each with a part of it; what is
// left is the amount that the next can have.
// Proves: RSN-50, RSN-67.
func TestManyToMany(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	large, small := o.deposit("1000", 700), o.deposit("1000", 300)
	r := o.record("1000", 1000)

	got := o.Post(path(r, "reconcile"), made(large, small)).Want(200)
	if got.String("reconciliation.status") != "paid" || got.Len("reconciliation.transactions") != 2 {
		t.Errorf("reconciled: %s", got.Body)
	}

	again := o.Post(path(o.record("1000", 700), "reconcile"), made(large))
	again.WantError(apierr.CodeConflict, apierr.ReasonTransactionReconciledElsewhere)

	if again.String("context.bankRecordIds.0") != r.String() {
		t.Errorf("elsewhere: %s", again.Body)
	}

	whole := o.deposit("1000", 900)
	first, second := o.record("1000", 400), o.record("1000", 500)
	mismatch := o.Post(path(first, "reconcile"), made(whole))
	mismatch.WantError(apierr.CodeBadRequest, apierr.ReasonReconciliationAmountMismatch)

	if mismatch.Int("context.bankRecordAmount") != 400 || mismatch.Int("context.transactionAmount") != 900 {
		t.Errorf("amounts of the mismatch: %s", mismatch.Body)
	}

	part := func(x id.ID, cents int64) object {
		return object{"transactions": list{object{"id": x, "centTotal": cents}}}
	}
	o.Post(path(first, "reconcile"), part(whole, 401)).WantError(apierr.CodeBadRequest, apierr.ReasonReconciliationAmountMismatch)
	o.Post(path(first, "reconcile"), part(whole, -400)).WantError(apierr.CodeBadRequest, apierr.ReasonReconciliationAmountMismatch)
	o.Post(path(first, "reconcile"), part(whole, 400)).Want(200)
	o.Post(path(second, "reconcile"), part(whole, 600)).WantError(apierr.CodeConflict, apierr.ReasonTransactionReconciledElsewhere)

	if got := o.Post(path(second, "reconcile"), made(whole)).Want(200); got.Int("reconciliation.transactions.0.amount") != 500 {
		t.Errorf("the rest: %s", got.Body)
	}

	o.Post(path(first, "reconcile"), made(whole)).Want(400)
}

// A person can make up a record in parts: the rest comes later, and the list shows its state.
func TestPartOfARecord(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, x := o.record("1000", -500), o.Post("/transactions", object{
		"type": "expense", "date": "2026-02-08", "accountId": o.accounts["1000"], "lines": list{object{"accountId": o.accounts["5200"], "amount": 500}},
	}).Want(201).ID("id")

	got := o.Post(path(r, "reconcile"), object{"transactions": list{object{"id": x, "centTotal": -200}}}).Want(200)
	if got.String("reconciliation.status") != "underpaid" {
		t.Errorf("a part: %s", got.Body)
	}

	o.Post(path(r, "reconcile"), made(x)).Want(400).WantIssue("unique", "transactions.0.id")
}

// Proves: RSN-51.
func TestTransfersHaveTwoLegs(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	x := o.transfer("1000", "1010", 800)
	for _, wrong := range []id.ID{o.record("1010", -800), o.record("1000", 800)} {
		o.Post(path(wrong, "reconcile"), made(x)).WantError(apierr.CodeBadRequest, apierr.ReasonReconciliationTransferMismatch)
	}

	o.Post(path(o.record("1000", -800), "reconcile"), made(x)).Want(200)
	o.Post(path(o.record("1010", 800), "reconcile"), made(x)).Want(200)
	o.Post(path(o.record("1010", 800), "reconcile"), made(x)).WantError(apierr.CodeConflict, apierr.ReasonTransactionReconciledElsewhere)
}

// Proves: RSN-08, RSN-13.
func TestRecordsThatAreNotReconciled(t *testing.T) {
	t.Parallel()
	o, other := newOffice(t), newOffice(t)
	x, r := o.deposit("1000", 100), o.record("1000", 100)
	excluded, loose, stated := o.record("1000", 100), o.record("1000", 100), o.record("1000", 0)
	o.Exec(`update bank_record set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": excluded})
	o.Exec(`update bank_record set account_id = null where team_id = @team and id = @id`, db.Args{"id": loose})
	o.Exec(`update bank_record set type = 'balance', balance = 5 where team_id = @team and id = @id`, db.Args{"id": stated})
	o.Post(path(excluded, "reconcile"), made(x)).WantError(apierr.CodeBadRequest, apierr.ReasonBankRecordInactive)
	o.Post(path(loose, "reconcile"), made(x)).WantError(apierr.CodeBadRequest, apierr.ReasonBankRecordUnassigned)
	o.Post(path(stated, "reconcile"), made(x)).Want(400).WantIssue("contradiction", "id")
	o.Post(path(other.record("1000", 100), "reconcile"), made(x)).Want(404)
	o.Post(path(other.record("1000", 100), "unreconcile"), object{}).Want(404)
	o.Post(path(r, "reconcile"), made(other.deposit("1000", 100))).Want(400).WantIssue("notFound", "transactions.0.id")
	o.Post(path(r, "reconcile"), made(o.deposit("1010", 100))).WantError(apierr.CodeBadRequest, apierr.ReasonReconciliationAmountMismatch)
	o.Post(path(r, "reconcile"), object{}).Want(400).WantIssue("required", "transactions")
	archived := o.deposit("1000", 100)
	o.Put("/transactions/"+archived.String(), object{"status": "inactive"}).Want(200)
	o.Post(path(r, "reconcile"), made(archived)).WantError(apierr.CodeBadRequest, apierr.ReasonTransactionInactive)

	if o.one(`select count(*) from bank_reconciliation where team_id = @team`) != 0 {
		t.Error("a refused request reconciled something")
	}
}

// A transaction is made from a record in the same request, or nothing is. It is locked as any that is reconciled, and
// free again when that is undone.
func TestATransactionFromARecord(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r := o.record("1000", 250)
	o.Post(path(r, "reconcile"), object{"create": list{o.depositBody("1000", 200)}}).WantError(apierr.CodeBadRequest, apierr.ReasonReconciliationAmountMismatch)
	bad := o.depositBody("1000", 250)
	bad["accountId"] = id.New(o.DB.Now())
	o.Post(path(r, "reconcile"), object{"create": list{bad}}).Want(400).WantIssue("notFound", "create.0.accountId")

	if n := o.one(`select count(*) from transaction where team_id = @team`); n != 0 {
		t.Fatalf("%d transactions of refused requests stand", n)
	}

	old := o.deposit("1000", 50)
	both := made(old)
	both["create"] = list{o.depositBody("1000", 200)}
	o.Post(path(r, "reconcile"), both).Want(200)

	lock := func() string { return o.Get("/transactions/" + old.String()).Want(200).String("lock.status") }

	o.Put("/transactions/"+old.String(), object{"date": "2026-02-07"}).WantError(apierr.CodeForbidden, apierr.ReasonTransactionReconciled)

	if lock() == "open" {
		t.Error("a reconciled transaction is open")
	}

	o.Post(path(r, "unreconcile"), object{"transactionIds": list{id.New(o.DB.Now())}}).Want(400).WantIssue("notFound", "transactionIds.0")

	if got := o.Post(path(r, "unreconcile"), object{"transactionIds": list{old}}).Want(200); got.String("reconciliation.status") != "underpaid" {
		t.Errorf("after one was taken off: %s", got.Body)
	}

	if lock() != "open" {
		t.Error("a freed transaction is locked")
	}

	o.Put("/transactions/"+old.String(), object{"date": "2026-02-07"}).Want(200)

	if got := o.Post(path(r, "unreconcile"), object{}).Want(200); got.String("reconciliation.status") != "unpaid" || got.Len("reconciliation.transactions") != 0 {
		t.Errorf("after all were taken off: %s", got.Body)
	}

	o.Post(path(r, "unreconcile"), object{}).Want(200)
}

// Good items of a batch land, unless all have to.
func TestABatch(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	one, two := o.record("1000", 100), o.record("1000", 200)
	item := func(r, x id.ID) object { return object{"bankRecordId": r, "transactions": list{object{"id": x}}} }
	x, y := o.deposit("1000", 100), o.deposit("1000", 200)
	body := object{"data": list{item(one, x), item(two, x), item(one, y), item(two, y), item(id.New(o.DB.Now()), y)}}
	check := func(r *apitest.Response, landed int) {
		t.Helper()

		if r.Want(200).Len("data") != landed || r.Len("issues") != 3 || r.String("issues.0.reason") != string(apierr.ReasonTransactionReconciledElsewhere) ||
			r.Int("issues.2.index") != 4 || r.String("issues.2.code") != string(apierr.CodeNotFound) {
			t.Errorf("batch: %s", r.Body)
		}
	}
	check(o.Post("/bank-records/reconcile?atomic=true", body), 0)

	if o.one(`select count(*) from bank_reconciliation where team_id = @team`) != 0 {
		t.Fatal("an atomic batch with bad items landed")
	}

	check(o.Post("/bank-records/reconcile", body), 2)
	three, z := o.record("1000", 300), o.deposit("1000", 300)

	twice := o.Post("/bank-records/reconcile", object{"data": list{item(three, z), item(three, o.deposit("1000", 300))}}).Want(200)
	if twice.Len("data") != 1 || twice.String("issues.0.reason") != string(apierr.ReasonReconciliationAmountMismatch) {
		t.Errorf("one record twice: %s", twice.Body)
	}
}

// Of two dozen that want the same record, and of as many that want the same transaction, one wins.
func TestOneOfManyWins(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	const writers = 24

	record, shared := o.record("1000", 100), o.deposit("1000", 100)

	bodies, paths := make([]object, 2*writers), make([]string, 2*writers)
	for i := range writers {
		bodies[i], paths[i] = made(o.deposit("1000", 100)), path(record, "reconcile")
		bodies[writers+i], paths[writers+i] = made(shared), path(o.record("1000", 100), "reconcile")
	}

	codes := make([]int, 2*writers)

	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() { codes[i] = o.Post(paths[i]+"?dryRun=false", bodies[i]).Status })
	}

	all.Wait()

	for name, half := range map[string][]int{"record": codes[:writers], "transaction": codes[writers:]} {
		won := 0

		for _, code := range half {
			switch code {
			case 200:
				won++
			case 400, 409:
			default:
				t.Errorf("a writer on one %s got %d", name, code)
			}
		}

		if won != 1 {
			t.Errorf("%d writers on one %s won", won, name)
		}
	}
}

// What somebody reconciles and has not committed yet is waited for: neither its record nor its transaction is given
// away twice.
func TestWhatIsBeingReconciledIsHeld(t *testing.T) {
	t.Parallel()

	for name, shared := range map[string]string{"record": "record", "transaction": "transaction"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			record, x := o.record("1000", 100), o.deposit("1000", 100)

			otherRecord, other := record, x
			if shared == "record" {
				other = o.deposit("1000", 100)
			} else {
				otherRecord = o.record("1000", 100)
			}

			answer := make(chan *apitest.Response, 1)

			o.Tx(func(ctx context.Context, tx *db.Tx) error {
				refusals, err := bank.Reconcile(ctx, tx, []bank.Match{{RecordID: record, Parts: []bank.Portion{{TransactionID: x}}}})
				if err != nil || len(refusals) > 0 {
					t.Errorf("the first was refused: %v %v", refusals, err)
				}

				go func() { answer <- o.Post(path(otherRecord, "reconcile")+"?dryRun=false", made(other)) }()

				return apitest.UntilWaiting(ctx, tx, 1)
			})

			if got := apitest.Receive(t, answer); got.Status == 200 {
				t.Errorf("the second got %s", got.Body)
			}
		})
	}
}

// Whatever is reconciled and undone: no record is made up of more than it is, no transaction is on records with more
// than it moved, and the account compares with its books to the cent: what the bank has, with what it has not seen, is
// the books and what is unmatched.
func TestNothingIsCountedTwice(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	var records, transactions []id.ID
	for _, cents := range []int64{100, 200, 300, 500} {
		records = append(records, o.record("1000", cents), o.record("1000", cents+100))
		transactions = append(transactions, o.deposit("1000", cents), o.deposit("1000", cents))
	}

	rapid.Check(t, func(r *rapid.T) {
		record := rapid.SampledFrom(records).Draw(r, "record")
		if rapid.IntRange(0, 3).Draw(r, "undo") == 0 {
			o.Post(path(record, "unreconcile"), object{}).Want(200)
		} else {
			part := object{"id": rapid.SampledFrom(transactions).Draw(r, "transaction")}
			if cents := rapid.SampledFrom([]int64{0, 50, 100, 200}).Draw(r, "cents"); cents > 0 {
				part["centTotal"] = cents
			}

			o.Post(path(record, "reconcile"), object{"transactions": list{part}})
		}

		for what, sql := range map[string]string{
			"records": `select count(*) from bank_record where team_id = @team and (made < 0 or made > amount)`,
			"transactions": `select count(*) from transaction t where team_id = @team and total < (select coalesce(sum(n.cent_total), 0)
				from bank_reconciliation n where n.team_id = t.team_id and n.transaction_id = t.id)`,
		} {
			if n := o.one(sql); n != 0 {
				r.Fatalf("%d %s are used for more than they are", n, what)
			}
		}

		s := o.Get("/accounts/" + o.accounts["1000"].String() + "/summary").Want(200)
		if left := s.Int("totals.unmatchedBankRecordsBalance"); s.Int("totals.difference") != left {
			r.Fatalf("the account differs by %s, unmatched is %s", strconv.FormatInt(s.Int("totals.difference"), 10), strconv.FormatInt(left, 10))
		}
	})
}
