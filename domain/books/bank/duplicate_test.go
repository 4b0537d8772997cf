package bank_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"stayledger/domain/books/bank"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// The same movement from another source lands, and both are shown as duplicates until one is excluded or both are
// reconciled.
func TestDuplicatesOfOtherSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	far, fed, near := w.keep(500, "date", "2026-02-06"), w.keep(500, "date", "2026-02-07", "uniqueRef", "FIT"), w.keep(500, "date", "2026-02-12")
	w.come("bankfeed", far, fed, near)
	otherAccount, otherCents := w.keep(500, "accountId", w.accounts["1010"]), w.keep(-500)
	stated := w.stated("", "1000", "2026-02-10", 500)
	w.come("bankfeed", otherAccount, otherCents, stated)
	made := w.Post(batch, object{"data": list{w.movement(500), w.movement(500), w.movement(501)}}).Want(201)
	byHand, again := made.ID("data.0.id"), made.ID("data.1.id")
	telling(t, made, map[string]string{
		"data.0.duplicates.0.id": near.String(), "data.0.duplicates.0.source": "bankfeed", "data.0.duplicates.0.date": "2026-02-12", "data.0.duplicates.0.uniqueRef": "<nil>",
		"data.0.duplicates.1.id": fed.String(), "data.0.duplicates.1.uniqueRef": "FIT", "data.0.duplicates.1.description": "Rent", "data.2.duplicates": "[]",
	})

	if made.Len("data.0.duplicates") != 2 || made.Len("data.1.duplicates") != 2 {
		t.Errorf("got %s", made.Body)
	}

	having := func(value string, want ...id.ID) {
		t.Helper()

		got := w.Get("/bank-records?includeBalanceRecords=true&includeDuplicates=true&hasDuplicates=" + value).Want(200)

		found := map[id.ID]bool{}
		for i := range got.Len("data") {
			found[got.ID("data."+itoa(i)+".id")] = true
			if has := got.Len("data."+itoa(i)+".duplicates") > 0; has != (value == "true") {
				t.Errorf("hasDuplicates=%s finds %s", value, got.String("data."+itoa(i)))
			}
		}

		for _, one := range want {
			if !found[one] {
				t.Errorf("hasDuplicates=%s lacks %s", value, one)
			}
		}

		if len(found) != len(want) || got.Int("pagination.total") != int64(len(want)) {
			t.Errorf("hasDuplicates=%s finds %d, want %d", value, len(found), len(want))
		}
	}
	having("true", fed, near, byHand, again)
	having("false", far, otherAccount, otherCents, stated, made.ID("data.2.id"))

	if r := w.Get("/bank-records").Want(200); strings.Contains(string(r.Body), "duplicates") {
		t.Errorf("a list tells of duplicates: %s", r.Body)
	}
	// One of two that is excluded settles it.
	w.Put(path(again), object{"status": "inactive"}).Want(200)
	telling(t, w.Get(path(again)).Want(200), map[string]string{"duplicates": "[]"})
	having("true", fed, near, byHand)
	// One that is reconciled shows it all the more; two that are have transactions of their own.
	w.reconcile(near, w.deposit("1000", "2026-02-12", 500, false), "1000", 500)
	having("true", fed, near, byHand)
	w.reconcile(byHand, w.deposit("1000", "2026-02-10", 500, false), "1000", 500)
	having("true", fed, byHand)
	telling(t, w.Put(path(byHand), object{"description": "Mine"}).Want(200), map[string]string{"duplicates.0.id": fed.String(), "description": "Mine"})
	w.Put(path(fed), object{"status": "inactive"}).Want(200)
	having("true")
}

// Another team's movements are no duplicates.
func TestDuplicatesAreOfTheTeam(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	other.come("bankfeed", other.keep(500))
	telling(t, w.Post(batch, object{"data": list{w.movement(500)}}).Want(201), map[string]string{"data.0.duplicates": "[]"})
}

// Whoever asks for duplicates among thousands looks at a few rows of each record, whatever the planner knows of the
// team.
func TestDuplicatesAmongThousands(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	const records = 4000

	first := worldIn(t, d)
	fill := func(w *world) {
		w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, source, created_at, updated_at)
			select @team, gen_random_uuid(), @account, date '2026-02-01' + n % 28, n / 2, 'Record', case when n % 4 = 1 then 'csv' else 'bankfeed' end, now(), now()
			from generate_series(2, @records::int + 1) n`, db.Args{"records": records, "account": w.accounts["1000"]})
	}
	few := func(w *world, state string) {
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			for _, has := range []bool{true, false} {
				q := bank.ListQuery(tx, &bank.Filter{HasDuplicates: &has})
				q.Args["team"] = tx.Team
				sql := "select count(*) from " + q.From + " where " + strings.Join(q.Where, " and ")

				plan, err := keptPlan(ctx, tx, sql, q.Args)
				if err != nil || handled(t, plan) > 30*records {
					t.Errorf("%s: %v handles %d rows, %v\n%s", state, has, handled(t, plan), err, strings.Join(plan, "\n"))
				}
			}

			return nil
		})
	}

	fill(first)
	few(first, "nothing is known")
	first.Exec("analyze bank_record", nil)
	few(first, "all is known")

	later := worldIn(t, d)
	few(later, "the team has nothing")
	fill(later)
	few(later, "the team had nothing")
}

// Many movements of one amount, day and text, that came in two files: each is found by a search, not by going through
// the others.
func TestDuplicatesOfOneAmountAndDay(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	const records = 3000

	for name, reconciled := range map[string]string{"open": "false", "reconciled": "n <> 1"} {
		w := worldIn(t, d)
		w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, made, description, source, created_at, updated_at)
			select @team, gen_random_uuid(), @account, date '2026-02-01', 500, case when `+reconciled+` then 500 else 0 end, 'Fee', 'csv',
				timestamptz '2026-03-01' + n % 2 * interval '1 day', now()
			from generate_series(1, @records::int) n`, db.Args{"records": records, "account": w.accounts["1000"]})
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			q := bank.ListQuery(tx, &bank.Filter{HasDuplicates: new(true)})
			q.Args["team"] = tx.Team

			plan, err := keptPlan(ctx, tx, "select count(*) from "+q.From+" where "+strings.Join(q.Where, " and "), q.Args)
			if err != nil || handled(t, plan) > 30*records {
				t.Errorf("%s: handles %d rows, %v\n%s", name, handled(t, plan), err, strings.Join(plan, "\n"))
			}

			return nil
		})
	}
}

// Thousands of equal movements of one day, each from a request of its own, are found within the ordinary time of a
// statement: looking for those of one record reads a few places of an index, however many records are equal.
func TestDuplicatesOfThousandsOfRequests(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	const records = 4000

	for name, ref := range map[string]string{"without references": "null", "every other one with a reference": "case when n % 2 = 0 then n::text end"} {
		w := worldIn(t, d)
		w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, unique_ref, source, created_at, updated_at)
			select @team, gen_random_uuid(), @account, date '2026-02-01', 500, 'Fee', `+ref+`, 'csv', timestamptz '2026-03-01' + n * interval '1 second', now()
			from generate_series(1, @records::int) n`, db.Args{"records": records, "account": w.accounts["1000"]})

		want := int64(records)
		if ref != "null" {
			want /= 2
		}

		got := w.Get("/bank-records?includeDuplicates=true&hasDuplicates=true").Want(200)
		if got.Int("pagination.total") != want || got.Len("data.0.duplicates") != 25 {
			t.Errorf("%s: %d records have duplicates, want %d; the first has %d", name, got.Int("pagination.total"), want, got.Len("data.0.duplicates"))
		}

		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			q := bank.ListQuery(tx, &bank.Filter{HasDuplicates: new(true)})

			plan, err := keptPlan(ctx, tx, "select count(*) from "+q.From+" where "+strings.Join(q.Where, " and "), q.Args)
			if read := pagesRead(t, plan); read > 15*records {
				t.Errorf("%s: %d pages are read for %d records", name, read, records)
			}

			return err
		})

		if rest := w.Get("/bank-records?hasDuplicates=false").Want(200).Int("pagination.total"); rest != records-want {
			t.Errorf("%s: %d records have no duplicates, want %d", name, rest, records-want)
		}
	}
}

// twin is what decides whether a record of the account and amount is the same movement as another one.
type twin struct {
	source, text, ref string
	day, second       int
	open, isActive    bool
}

// same reports whether two movements are perhaps the same one, as the decision on duplicates says it.
func (a twin) same(b twin) bool {
	switch {
	case !a.isActive || !b.isActive, !a.open && !b.open:
		return false
	case a.source != b.source:
		return max(a.day, b.day)-min(a.day, b.day) <= 3
	}

	return a.day == b.day && a.text == b.text && a.ref == "" && b.ref == "" && a.second != b.second
}

// Whichever few hundred movements of an amount there are, those that have duplicates are the ones that a comparison of
// all pairs finds, and so are their duplicates.
func TestDuplicatesAreThoseOfAllPairs(t *testing.T) {
	t.Parallel()

	for seed := range uint64(12) {
		w, r := newWorld(t), rand.New(rand.NewPCG(seed, 7))
		twins := map[id.ID]twin{}
		days, seconds := 2+r.IntN(40), 1+r.IntN(6)

		for i := range 120 {
			one := twin{
				source: []string{"manual", "csv", "bankfeed"}[r.IntN(3)], text: []string{"Rent", "Fee"}[r.IntN(2)],
				day: r.IntN(days), second: r.IntN(seconds), open: r.IntN(3) > 0, isActive: r.IntN(8) > 0,
			}
			if r.IntN(3) == 0 {
				one.ref = itoa(i)
			}

			record := w.id()
			twins[record] = one
			w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, made, description, unique_ref, source, status, created_at, updated_at)
				values (@team, @id, @account, date '2026-02-01' + @day::int, 500, case when @open then 0 else 500 end, @text, nullif(@ref, ''), @source,
					case when @active then 'active' else 'inactive' end, timestamptz '2026-03-01' + @second::int * interval '1 second', now())`, db.Args{
				"id": record, "account": w.accounts["1000"], "day": one.day, "open": one.open, "text": one.text, "ref": one.ref, "source": one.source,
				"active": one.isActive, "second": one.second,
			})
		}

		want, got := map[string]int{}, map[string]int{}

		for a := range twins {
			for b := range twins {
				if a != b && twins[a].same(twins[b]) {
					want[a.String()]++
				}
			}
		}

		for record, n := range want {
			want[record] = min(n, 25)
		}

		list := w.Get("/bank-records?includeDuplicates=true&hasDuplicates=true&limit=250").Want(200)
		for i := range list.Len("data") {
			got[list.String("data."+itoa(i)+".id")] = list.Len("data." + itoa(i) + ".duplicates")
		}

		if !maps.Equal(got, want) {
			t.Errorf("seed %d: duplicates by record are\n%v, want\n%v", seed, got, want)
		}
	}
}
