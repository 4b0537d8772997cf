package bank_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/domain/banking/rule"
	"stayledger/domain/books/bank"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

const writers = 24

// together has so many writers call at once and counts the answers by status and reason. None of them may have been run
// again after a deadlock.
func together(t *testing.T, call func(n int) *apitest.Response) map[string]int {
	t.Helper()

	answers := make([]*apitest.Response, writers)

	var done sync.WaitGroup
	for n := range writers {
		done.Go(func() { answers[n] = call(n) })
	}

	done.Wait()

	counts := map[string]int{}

	for _, r := range answers {
		said := strconv.Itoa(r.Status)
		if r.Status >= 400 && r.Has("reason") {
			said += " " + r.String("reason")
		}

		counts[said]++
		begun := 0

		for _, sql := range r.Sent.Statements {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(sql)), "begin") {
				begun++
			}
		}

		if begun != 1 {
			t.Errorf("%d transactions for one answer: %q", begun, r.Sent.Statements)
		}
	}

	return counts
}

// Many change, move, exclude and describe one record at once, while its accounts begin on other days: all of them are
// served, one after the other, and the sums kept next to the records equal them.
func TestManyWritersOfOneRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.keep(100)

	var done sync.WaitGroup
	done.Go(func() {
		for n := range 12 {
			runs := 0

			w.Tx(func(ctx context.Context, tx *db.Tx) error {
				runs++

				account, first := w.accounts[[]string{"1000", "1010"}[n%2]], dayOf("2026-02-"+strconv.Itoa(10+n%3))
				if _, err := tx.Exec(ctx, `update account set banking_opening_at = @first, banking_opening = 0, updated_at = @now where team_id = @team and id = @account`,
					db.Args{"team": tx.Team, "account": account, "first": first, "now": tx.Now}); err != nil {
					return err
				}

				_, _, err := rule.OfBank.Exclude(ctx, tx, account, first)

				return err
			})

			if runs != 1 {
				t.Errorf("a first day was set %d times", runs)
			}
		}
	})

	for round := range 4 {
		got := together(t, func(n int) *apitest.Response {
			body := []object{
				{"accountId": w.accounts["1010"]},
				{"accountId": w.accounts["1000"], "amount": n + 1},
				{"status": "inactive"},
				{"date": "2026-02-" + strconv.Itoa(10+n/6)},
				{"description": strconv.Itoa(n)},
				{"uniqueRef": strconv.Itoa(round)},
			}[n%6]

			return w.Put(path(r)+"?dryRun=false", body)
		})
		if len(got) != 1 || got["200"] != writers {
			t.Errorf("got %v", got)
		}
	}

	done.Wait()

	if n := count(w.Team, `
		select count(*) from (select account_id, day, sum(cents) as cents, sum(records) as records from bank_day where team_id = @team group by 1, 2
			having sum(records) <> 0 or sum(cents) <> 0) k
		full join (select account_id, date as day, sum(amount) as cents, count(*) as records from bank_record
			where team_id = @team and status = 'active' and type = 'transaction' group by 1, 2) r using (account_id, day)
		where (k.cents, k.records) is distinct from (r.cents, r.records)`); n != 0 {
		t.Errorf("%d days differ from the records", n)
	}

	if n := count(w.Team, `
		select count(*) from bank_record r join account a on a.team_id = r.team_id and a.id = r.account_id
		where r.team_id = @team and r.status = 'active' and r.date < a.banking_opening_at`); n != 0 {
		t.Errorf("%d records before the first day of their account count", n)
	}
}

// Of many batches with the same references in different orders all are answered, and no reference lands twice.
func TestManyBatchesWithTheSameReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	got := together(t, func(n int) *apitest.Response {
		data := make(list, 40)
		for i := range data {
			at := i
			if n%2 == 1 {
				at = len(data) - 1 - i
			}

			data[at] = w.movement(int64(i), "uniqueRef", "ref "+strconv.Itoa(i))
		}

		return w.Post(batch+"?dryRun=false", object{"data": data})
	})
	if len(got) != 1 || got["201"] != writers {
		t.Errorf("got %v", got)
	}

	if n := count(w.Team, "select count(*) from bank_record where team_id = @team"); n != 40 {
		t.Errorf("%d records are kept", n)
	}
}

// Of many that delete a record one does, and whoever changes it meanwhile is served or finds it gone.
func TestOneOfManyDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.keep(100, "source", "csv")

	got := together(t, func(n int) *apitest.Response {
		if n%2 == 0 {
			return w.Put(path(r)+"?dryRun=false", object{"amount": n})
		}

		return w.Delete(path(r) + "?dryRun=false")
	})
	if got["204"] != 1 || got["204"]+got["200"]+got["404"] != writers || got["404"] < writers/2-1 {
		t.Errorf("got %v", got)
	}

	if n := count(w.Team, "select coalesce(sum(cents), 0) + coalesce(sum(records), 0) from bank_day where team_id = @team"); n != 0 {
		t.Errorf("%d is kept of a record that is gone", n)
	}
}

// A record that is reconciled while somebody waits to change it is not changed.
//
// Proves: RSN-11.
func TestWhoWaitsForAReconciliationIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, made := w.keep(100), w.deposit("1000", "2026-02-10", 100, false)

	var (
		refused *apitest.Response
		done    sync.WaitGroup
	)

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			values (@team, @record, @made, @account, 100, now())`, db.Args{"team": tx.Team, "record": r, "made": made, "account": w.accounts["1000"]}); err != nil {
			return err
		}

		done.Go(func() { refused = w.Put(path(r)+"?dryRun=false", object{"amount": 60}) })

		return waited(ctx, tx)
	})
	done.Wait()
	refused.WantError(apierr.CodeForbidden, apierr.ReasonBankRecordReconciled)
}

// waited returns when somebody waits for the transaction.
func waited(ctx context.Context, tx *db.Tx) error {
	for {
		waits, err := db.Get[bool](ctx, tx, `select exists (select from pg_locks where not granted and locktype = 'transactionid' and transactionid = pg_current_xact_id()::xid)`, nil)
		if err != nil || waits {
			return err
		}

		time.Sleep(time.Millisecond)
	}
}

// However many records a batch has, it sends the same statements.
func TestABatchOfAnySizeSendsTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	sent := func(records int) int {
		data := make(list, records)
		for i := range data {
			data[i] = w.movement(int64(i), "uniqueRef", strconv.Itoa(records)+" "+strconv.Itoa(i), "accountId", w.accounts[[]string{"1000", "1010"}[i%2]])
		}

		r := w.Post(batch+"?dryRun=false", object{"data": data}).Want(201)

		var made bank.Added
		r.Into(&made)

		for i := range made.Data {
			if made.Data[i].Amount != money.Cents(i) {
				t.Fatalf("item %d is not at its place", i)
			}
		}

		return len(r.Sent.Statements)
	}
	if one, thousand := sent(1), sent(1000); one != thousand || one > 12 {
		t.Errorf("one record takes %d statements, a thousand take %d", one, thousand)
	}
}
