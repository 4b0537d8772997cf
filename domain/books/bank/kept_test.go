package bank_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/bank"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// booksAndBank are transactions with entries on one account and the records that they make up, written row by row.
type booksAndBank struct {
	*world
	transactions, records []id.ID
}

func newBooksAndBank(t *testing.T) *booksAndBank {
	t.Helper()

	b := &booksAndBank{world: newWorld(t)}
	for range 4 {
		x := b.id()
		b.Exec(`insert into transaction (team_id, id, short_ref, type, date, account_id, total, currency, created_at, updated_at)
			values (@team, @id, @id::uuid::text, 'deposit', '2026-01-01', @account, 1, 'usd', now(), now())`, db.Args{"id": x, "account": b.accounts["1000"]})
		b.transactions = append(b.transactions, x)
	}

	return b
}

var (
	someDay   = rapid.SampledFrom([]string{"2026-01-02", "2026-01-05", "2026-01-09"})
	someCents = rapid.SampledFrom([]int64{300, 500, -500, 800})
)

// step changes one thing of the books, of the records or of their parts.
func (b *booksAndBank) step(t *rapid.T) {
	x := rapid.SampledFrom(b.transactions).Draw(t, "transaction")
	args := func(more db.Args) db.Args {
		more["x"], more["account"] = x, b.accounts["1000"]
		return more
	}

	if len(b.records) == 0 || rapid.IntRange(0, 3).Draw(t, "another record") == 0 {
		b.records = append(b.records, b.record("r", "1000", someDay.Draw(t, "date"), someCents.Draw(t, "cents")))
	}

	r := rapid.SampledFrom(b.records).Draw(t, "record")
	switch what := rapid.IntRange(0, 8).Draw(t, "step"); what {
	case 0, 1:
		b.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, transaction_id, trigger_type, created_at)
			select @team, gen_random_uuid(), @x, @code, side::text, 'trust', @day::text::date, case side when 1 then @account else @other::uuid end, side * @cents::bigint,
				'usd', @x, 'deposit', now() from (values (1), (-1)) v (side)`,
			args(db.Args{"code": b.id().String(), "day": someDay.Draw(t, "day"), "cents": someCents.Draw(t, "booked"), "other": b.accounts["1100"]}))
	case 2:
		b.Exec(`delete from ledger_entry where team_id = @team and transaction_id = @x`, db.Args{"x": x})
	case 3, 4:
		b.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			values (@team, @r, @x, @account, @cents, now()) on conflict do nothing`, args(db.Args{"r": r, "cents": someCents.Draw(t, "part")}))
	case 5:
		b.Exec(`delete from bank_reconciliation where team_id = @team and bank_record_id = @r`, db.Args{"r": r})
	case 6:
		b.Exec(`update bank_record set status = case status when 'active' then 'inactive' else 'active' end, date = @day::text::date, amount = @cents where team_id = @team and id = @r`,
			db.Args{"r": r, "day": someDay.Draw(t, "day"), "cents": someCents.Draw(t, "cents")})
	case 8: // what is booked and what the bank says are the same
		cents := someCents.Draw(t, "both")

		b.Exec(`delete from ledger_entry where team_id = @team and transaction_id = @x`, db.Args{"x": x})
		b.Exec(`delete from bank_reconciliation where team_id = @team and transaction_id = @x`, db.Args{"x": x})
		b.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, transaction_id, trigger_type, created_at)
			select @team, gen_random_uuid(), @x, @code, side::text, 'trust', '2026-01-02', case side when 1 then @account else @other::uuid end, side * @cents::bigint,
				'usd', @x, 'deposit', now() from (values (1), (-1)) v (side)`,
			args(db.Args{"code": b.id().String(), "cents": cents, "other": b.accounts["1100"]}))
		b.Exec(`update bank_record set status = 'active' where team_id = @team and id = @r`, db.Args{"r": r})
		b.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			values (@team, @r, @x, @account, @cents, now())`, args(db.Args{"r": r, "cents": cents}))
	case 7:
		b.Exec(`delete from bank_record where team_id = @team and id = @r`, db.Args{"r": r})
		b.records = slices.DeleteFunc(b.records, func(one id.ID) bool { return one == r })
	}
}

// The sums kept next to bank records equal those of the rows, after every change of entries, records and
// reconciliations: the part of a record that is made up, the sums by day before and after they are folded, and which
// sources a comparison of bank and books by a day can skip.
func TestWhatIsKeptBesideBankRecordsEqualsTheRows(t *testing.T) {
	t.Parallel()
	b, settled := newBooksAndBank(t), 0
	rapid.Check(t, func(r *rapid.T) {
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			b.step(r)
		}

		if rapid.Bool().Draw(r, "fold") {
			b.System(func(ctx context.Context, tx *db.Tx) error {
				_, err := db.Get[int64](ctx, tx, `select bank_fold(@of, 1000)`, db.Args{"of": b.ID})
				return err
			})
		}

		for what, sql := range map[string]string{
			"made": `select count(*) from bank_record r where r.team_id = @team and r.made is distinct from
				coalesce((select sum(n.cent_total) from bank_reconciliation n where n.team_id = r.team_id and n.bank_record_id = r.id), 0)`,
			"days": `select count(*) from (
				select account_id, day, sum(cents) as cents, sum(records) as records from bank_day where team_id = @team group by 1, 2 having sum(records) <> 0 or sum(cents) <> 0) k
				full join (select account_id, date as day, sum(amount) as cents, count(*) as records from bank_record
					where team_id = @team and status = 'active' and type = 'transaction' group by 1, 2) r using (account_id, day)
				where (k.cents, k.records) is distinct from (r.cents, r.records)`,
			"sources that are gone": `select count(*) from bank_clearing c where c.team_id = @team
				and not exists (select from ledger_entry e where e.team_id = c.team_id and e.source_id = c.source_id)
				and not exists (select from bank_reconciliation n where n.team_id = c.team_id and n.transaction_id = c.source_id)`,
		} {
			if n := count(b.Team, sql); n != 0 {
				r.Fatalf("%s: %d rows differ from what is kept", what, n)
			}
		}

		for _, at := range []string{"2026-01-01", "2026-01-02", "2026-01-04", "2026-01-05", "2026-01-09", "2026-01-12"} {
			if n := count(b.Team, `
				select count(*) from (
					select source_id from (
						select e.source_id, e.cent_total as cents from ledger_entry e
						where e.team_id = @team and e.account_id = '`+b.accounts["1000"].String()+`' and e.txn_at <= '`+at+`'
						union all
						select n.transaction_id, -n.cent_total from bank_reconciliation n join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
						where n.team_id = @team and r.status = 'active' and r.date <= '`+at+`') m
					group by 1 having sum(cents) <> 0) open
				where not open.source_id in (`+bank.OpenSourcesSQL("'"+b.accounts["1000"].String()+"'", "'"+at+"'")+`)`); n != 0 {
				r.Fatalf("on %s %d open sources would not be looked at", at, n)
			}
		}

		settled += count(b.Team, `select count(*) from bank_clearing where team_id = @team and settled_at < 'infinity'`)
	})

	if settled == 0 {
		t.Error("no source was ever settled: the test compares nothing")
	}
}

// A transaction that is booked on one day and made up by a record is settled from the later of the two days on, and
// comes back when the record goes. One that is booked on several days is never settled: what is open of it depends on
// the day.
func TestWhenATransactionIsSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	early, late := w.deposit("1000", "2026-01-05", 700, false), w.deposit("1000", "2026-01-20", 900, false)
	w.reconcile(w.record("a", "1000", "2026-01-08", 700), early, "1000", 700)
	second := w.record("b", "1000", "2026-01-02", 900)
	w.reconcile(second, late, "1000", 900)

	open := func(at string) []id.ID {
		t.Helper()

		var found []id.ID

		w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			found, err = db.Select[id.ID](ctx, tx, bank.OpenSourcesSQL("@account", "@at::date")+" order by 1", db.Args{"team": tx.Team, "account": w.accounts["1000"], "at": dayOf(at)})
			return err
		})

		return found
	}
	for at, want := range map[string][]id.ID{"2026-01-07": {early, late}, "2026-01-08": {late}, "2026-01-19": {late}, "2026-01-20": nil} {
		if got := open(at); !slices.Equal(got, want) {
			t.Errorf("on %s not settled are %v, want %v", at, got, want)
		}
	}

	if got := open("2026-02-01"); len(got) > 0 {
		t.Errorf("at last, not settled are %v", got)
	}

	w.Exec(`update bank_record set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": second})

	if got := open("2026-02-01"); !slices.Equal(got, []id.ID{late}) {
		t.Errorf("without its record, not settled are %v, want %v", got, late)
	}

	w.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, transaction_id, trigger_type, created_at)
		select @team, gen_random_uuid(), @x, code, side::text, 'trust', '2026-01-25', case side when 1 then @account else @other::uuid end, side * cents, 'usd', @x, 'deposit', now()
		from (values (1), (-1)) v (side), (values ('more', 300), ('less', -300)) p (code, cents)`, db.Args{"x": early, "account": w.accounts["1000"], "other": w.accounts["1100"]})

	if got := open("2026-02-01"); !slices.Equal(got, []id.ID{early, late}) {
		t.Errorf("booked on two days, not settled are %v, want %v", got, []id.ID{early, late})
	}
}

func dayOf(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}

// count is the only number that a statement about a team gives.
func count(team *apitest.Team, sql string) (n int) {
	team.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})

	return n
}
