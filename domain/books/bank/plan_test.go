package bank_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"stayledger/domain/books/bank"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// thousands adds so many records of growing amounts, a deposit for every other one, and reconciles every other one of
// these.
func (w *world) thousands(records int) {
	args := func() db.Args { return db.Args{"records": records, "account": w.accounts["1000"]} }
	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
		select @team, gen_random_uuid(), @account, date '2026-01-01' + n / 50, n, 'Record', now(), now() from generate_series(1, @records::int) n`, args())
	deposits := args()
	deposits["other"] = w.accounts["1100"]
	w.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, transaction_id, trigger_type, created_at)
		select @team, gen_random_uuid(), s.id, 'code', side.sign::text, 'trust', date '2026-01-01' + s.n / 50, side.account, side.sign * s.n, 'usd', s.id, 'deposit', now()
		from (select n, gen_random_uuid() as id from generate_series(2, @records::int, 2) n offset 0) s,
			(values (@account::uuid, 1), (@other::uuid, -1)) side (account, sign)`, deposits)
	w.Exec(`insert into transaction (team_id, id, short_ref, type, date, account_id, total, currency, created_at, updated_at)
		select team_id, transaction_id, transaction_id::text, 'deposit', txn_at, account_id, cent_total, currency, now(), now()
		from ledger_entry where team_id = @team and cent_total > 0`, nil)
	w.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		select r.team_id, r.id, t.id, t.account_id, r.amount, now() from bank_record r full join transaction t on t.total = r.amount and t.team_id = r.team_id
		where r.team_id = @team and t.id is not null and r.amount % 4 = 0`, nil)
}

var (
	planRows    = regexp.MustCompile(`actual rows=(\d+) loops=(\d+)`)
	planPages   = regexp.MustCompile(`Buffers: shared hit=(\d+)`)
	planRemoved = regexp.MustCompile(`Rows Removed by .*: (\d+)`)
)

// handled is the number of rows that a query looks at by its plan.
func handled(t *testing.T, plan []string) int {
	t.Helper()

	sum, loops := 0, 1
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}

		return n
	}

	for _, line := range plan {
		if m := planRows.FindStringSubmatch(line); m != nil {
			loops = number(m[2])
			sum += number(m[1]) * loops
		} else if m := planRemoved.FindStringSubmatch(line); m != nil {
			sum += number(m[1]) * loops
		}
	}

	return sum
}

// pagesRead is the number of pages that a query looks at by its plan: those of its first node, which has all others.
func pagesRead(t *testing.T, plan []string) int64 {
	t.Helper()

	for _, line := range plan {
		if m := planPages.FindStringSubmatch(line); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}

			return n
		}
	}

	t.Fatalf("the plan has no pages: %s", strings.Join(plan, "\n"))

	return 0
}

// Whatever the planner knows of a team, and however little memory it has: the rows that are looked at grow with the
// records, and so does what a search of one record by its id takes.
func TestMatchesOfThousands(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	const records = 4000

	first, later := worldIn(t, d), worldIn(t, d)
	analyze := func() {
		for _, table := range []string{"bank_record", "bank_reconciliation", "ledger_entry", "account", "transaction"} {
			first.Exec("analyze "+table, nil)
		}
	}

	first.thousands(records)
	first.fewRows(t, "nothing is known", records)
	analyze()
	later.thousands(records)
	later.fewRows(t, "the team had nothing", records)
	first.Exec("alter table ledger_entry alter column team_id set statistics -1", nil)
	analyze()
	later.fewRows(t, "there are too many for a hash table", records)
}

// keptPlan runs a statement as the service does, planned for whatever its parameters are, and gives the plan.
func keptPlan(ctx context.Context, tx *db.Tx, sql string, args db.Args) ([]string, error) {
	sql, values, err := args.RewriteQuery(ctx, nil, sql, nil)
	if err != nil {
		return nil, err
	}

	literals := make([]string, len(values))
	for i, v := range values {
		literals[i] = fmt.Sprintf("'%v'", v)
	}

	if _, err := tx.Exec(ctx, "prepare explained as "+sql, nil); err != nil {
		return nil, err
	}

	plan, err := db.Select[string](ctx, tx, "explain (analyze, buffers, timing off) execute explained("+strings.Join(literals, ", ")+")", nil)
	if err != nil {
		return nil, err
	}

	_, err = tx.Exec(ctx, "deallocate explained", nil)

	return plan, err
}

// fewRows looks at the queries of a team of thousands.
func (w *world) fewRows(t *testing.T, state string, records int) {
	t.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, "select set_config('work_mem', '64kB', true), set_config('hash_mem_multiplier', '1', true)", nil); err != nil {
			return err
		}

		for _, test := range []struct {
			matching bool
			want     int
		}{{true, records / 4}, {false, records - records/4}} {
			q := bank.ListQuery(tx, &bank.Filter{HasMatchingTransactions: &test.matching})
			q.Args["team"] = tx.Team

			count := "select count(*) from " + q.From + " where " + strings.Join(q.Where, " and ")
			if got, err := db.Get[int](ctx, tx, count, q.Args); err != nil || got != test.want {
				t.Errorf("%s: %v gives %d records, %v", state, test.matching, got, err)
			}

			for name, sql := range map[string]string{"count": count, "list": q.SQL("") + " limit 100"} {
				if plan, err := keptPlan(ctx, tx, sql, q.Args); err != nil || handled(t, plan) > 150*records {
					t.Errorf("%s: %s of %v handles %d rows, %v\n%s", state, name, test.matching, handled(t, plan), err, strings.Join(plan, "\n"))
				}
			}
		}

		for _, sql := range []string{
			"select * from bank_record where team_id = @team and id = (select gen_random_uuid())",
			"select * from bank_reconciliation where team_id = @team and bank_record_id = (select gen_random_uuid())",
			"select * from bank_reconciliation where team_id = @team and transaction_id = (select gen_random_uuid())",
		} {
			plan, err := keptPlan(ctx, tx, sql, db.Args{"team": tx.Team})
			if text := strings.Join(plan, "\n"); err != nil || strings.Contains(text, "Rows Removed") || strings.Contains(text, "by_date") {
				t.Errorf("%s: %s, %v\n%s", state, sql, err, text)
			}
		}

		return nil
	})
}

// Comparing an account with its books reads what is open, however many records there were: not the thousands that are
// reconciled.
func TestComparingReadsWhatIsOpen(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	const records = 4000

	w := worldIn(t, d)
	args := func() db.Args { return db.Args{"records": records, "account": w.accounts["1000"]} }
	w.Exec(`insert into transaction (team_id, id, short_ref, type, date, account_id, total, currency, created_at, updated_at)
		select @team, gen_random_uuid(), n::text, 'deposit', date '2026-01-01' + n / 50, @account, n, 'usd', now(), now() from generate_series(1, @records::int) n`, args())
	booked := args()
	booked["other"] = w.accounts["1100"]
	delete(booked, "records")
	w.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, transaction_id, trigger_type, created_at)
		select team_id, gen_random_uuid(), t.id, 'code', side.sign::text, 'trust', t.date, side.account, side.sign * t.total, 'usd', t.id, 'deposit', now()
		from transaction t, (values (@account::uuid, 1), (@other::uuid, -1)) side (account, sign) where t.team_id = @team`, booked)
	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, made, description, created_at, updated_at)
		select team_id, id, account_id, date, total, 0, '', created_at, now() from transaction where team_id = @team`, nil)
	w.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		select team_id, t.id, id, account_id, total, now() from transaction t where team_id = @team and total > 30`, nil)
	w.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Get[int64](ctx, tx, `select bank_fold(@of, 10000)`, db.Args{"of": w.ID})
		return err
	})
	w.Exec("reindex table bank_record", nil) // without the rows that every update leaves until they are vacuumed
	w.Exec("analyze bank_record, bank_reconciliation, bank_clearing, bank_day_kept", nil)

	account, end := w.accounts["1000"], dayOf("2026-06-01")
	for name, read := range map[string]func(context.Context, *db.Tx) error{
		"what is unmatched": func(ctx context.Context, tx *db.Tx) error {
			open, err := bank.ListUnmatched(ctx, tx, bank.Span{Accounts: []id.ID{account}, Before: end}, bank.OldestFirst, 10)
			if err == nil && (open.Count != 30 || len(open.First) != 10) {
				t.Errorf("%d records are unmatched, %d are told", open.Count, len(open.First))
			}

			return err
		},
		"what the bank says": func(ctx context.Context, tx *db.Tx) error {
			held, err := bank.ListBalances(ctx, tx, []bank.Since{{Account: account}}, end)
			if err == nil && (!held[0].Known || held[0].Cents != 8_002_000) {
				t.Errorf("the bank says %+v", held)
			}

			return err
		},
		"what is not settled": func(ctx context.Context, tx *db.Tx) error {
			open, err := db.Select[id.ID](ctx, tx, bank.OpenSourcesSQL("@account", "@at::date"), db.Args{"team": tx.Team, "account": account, "at": end})
			if len(open) != 30 {
				t.Errorf("%d sources are not settled", len(open))
			}

			return err
		},
	} {
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			before, err := rowsRead(ctx, tx)
			if err != nil {
				return err
			}

			if err := read(ctx, tx); err != nil {
				return err
			}

			after, err := rowsRead(ctx, tx)
			if rows := after - before; rows > 300 {
				t.Errorf("%s: %d rows were read", name, rows)
			}

			return err
		})
	}
}

// rowsRead is the number of rows of bank records, of the sums kept next to them and of entries that the connection has
// read since its counts were last reported.
func rowsRead(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.Get[int64](ctx, tx, `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint from pg_stat_xact_user_tables
		where relname like 'bank_%' or relname = 'ledger_entry'`, nil)
}
