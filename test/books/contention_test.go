package books_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/books/ledger"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/job"
)

const (
	contenders     = 24
	changesOfEach  = 8
	contendedStays = 16
)

// Whatever many people change on the same two listings at the same time, no one is refused for the others, the database
// never has to break a deadlock, changes that touch all journals get through, and the sums are those of the entries.
func TestManyWritersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	url := apitest.Database(t)

	d, err := db.Open(t.Context(), db.Config{
		URL: url, MaxConnections: contenders + 8, AcquireTimeout: time.Minute, GateWait: time.Minute, RowWait: time.Minute, // what bounds waits is the statement's own time
	})
	if err != nil {
		t.Fatal(err)
	}

	parts := app.Parts(app.External{}, app.Config{})
	x := &team{Team: apitest.New(t, apitest.Config{Endpoints: parts.Endpoints, Handlers: parts.Handlers, Scopes: access.Scopes(), DB: d, Silent: true}), t: t}
	x.open()
	c := newContention(t, x)

	working, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	w := job.NewWorker(job.Config{DB: d, Log: slog.New(slog.DiscardHandler), Workers: 4, Handlers: parts.Handlers, Every: ledger.Part().Every, Poll: 20 * time.Millisecond})

	var worker, writers sync.WaitGroup
	worker.Go(func() { w.Run(working, time.Second) })

	for i := range contenders {
		writers.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(i)))
			for n := range changesOfEach {
				c.change(dice, i, n)
			}
		})
	}

	writers.Go(c.exclusive)
	writers.Wait()
	stop()
	worker.Wait()
	x.Work()
	c.wantSums()

	for _, change := range x.Untold() { // here, since the pool is closed before the test ends
		t.Errorf("changed without an audit event: %s", change)
	}

	d.Close() // a connection reports what it counted at its end at the latest

	if n := deadlocks(t, url); n != 0 {
		t.Errorf("the database has broken %d deadlocks", n)
	}
}

// contention is a team with listings that many people change.
type contention struct {
	*team
	listings     [3]string // the third has nothing but its statements
	periods      [3]string
	stays        []string
	expenses     []string
	journal      string
	fee, mapping string
	statement    string // of the third listing
	owner        string
}

func newContention(t *testing.T, x *team) *contention {
	t.Helper()

	c := &contention{team: x}

	c.owner = x.must(http.MethodPost, "/contacts", object{"type": "owner", "name": "Ada"})
	for i := range c.listings {
		c.listings[i] = x.must(http.MethodPost, "/listings", object{
			"name": fmt.Sprint("Listing ", i), "initialOwnership": object{"members": list{object{"contactId": c.owner, "split": 100000}}},
		})

		var periods struct{ Data []struct{ ID string } }
		x.read("/listings/ownership-periods?listingIds="+c.listings[i], &periods)
		c.periods[i] = periods.Data[0].ID
	}

	c.fee = x.must(http.MethodPost, "/recurring-fees", object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20000, "debitParty": "owners", "creditParty": "manager",
		"debitAccountId": x.account("5100"), "creditAccountId": x.account("4100"),
		"listingSubscriptions": list{object{"listingId": c.listings[0]}, object{"listingId": c.listings[1]}},
	})
	for n := range contendedStays {
		c.stays = append(c.stays, x.must(http.MethodPost, "/reservations", object{
			"listingId": c.listings[0], "uniqueRef": fmt.Sprint("stay ", n), "checkIn": "2026-02-01", "checkOut": "2026-02-03", "bookedAt": "2026-01-02",
			"lines": list{object{"type": "rent", "amount": 10_000 + n}},
		}))
	}

	for n := range 4 {
		c.expenses = append(c.expenses, x.must(http.MethodPost, "/transactions", c.expense(c.listings[n%2], "2026-02-10", 700+n)))
	}

	c.journal = x.must(http.MethodPost, "/general-ledger/journals", c.manual("2026-02-11", 100))

	var mappings struct{ Data []struct{ ID string } }
	x.read("/reservations/line-mappings?lineType=rent", &mappings)
	c.mapping = mappings.Data[0].ID

	var statements struct{ Data []struct{ ID string } }
	x.read("/statements?month=2026-01&listingIds="+c.listings[2], &statements)
	c.statement = statements.Data[0].ID

	return c
}

func (c *contention) expense(listing, date string, cents int) object {
	return object{"type": "expense", "date": date, "accountId": c.account("1000"), "lines": list{object{"accountId": c.account("5200"), "amount": cents, "listingId": listing}}}
}

func (c *contention) manual(date string, cents int) object {
	line := func(account string, cents int) object {
		return object{"accountId": c.account(account), "centTotal": cents, "party": "owners", "listingId": c.listings[0]}
	}

	return object{"date": date, "description": "by hand", "lines": list{line("5200", cents), line("4000", -cents)}}
}

// want makes a call that only a lock may refuse.
func (c *contention) want(method, path string, body any) {
	status, answer := c.send(method, path, body)
	if status >= 300 && status != http.StatusForbidden && status != http.StatusConflict {
		c.t.Errorf("%s %s: %d %s", method, path, status, answer)
	}
}

// change is the work of one of many: dates move between months, stays and costs between listings.
func (c *contention) change(dice *rand.Rand, who, n int) {
	date := fmt.Sprintf("2026-%02d-%02d", 2+dice.IntN(2), 1+dice.IntN(20))
	listing := c.listings[dice.IntN(2)]
	stay := c.stays[dice.IntN(len(c.stays))]
	cents := 1000 + dice.IntN(1000)

	switch (who + n) % 8 {
	case 0, 1, 2:
		c.want(http.MethodPut, "/reservations/"+stay, object{"checkIn": date, "checkOut": date[:8] + "28", "lines": list{object{"type": "rent", "amount": cents}}})
	case 3:
		c.want(http.MethodPut, "/reservations/"+stay, object{"listingId": listing})
	case 4:
		c.want(http.MethodPost, "/transactions", object{"type": "deposit", "date": date, "lines": list{
			object{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay},
			object{"assignment": "accountsReceivable", "amount": cents, "reservationId": c.stays[dice.IntN(len(c.stays))]},
		}})
	case 5:
		c.want(http.MethodPut, "/transactions/"+c.expenses[dice.IntN(len(c.expenses))], object{
			"date": date, "lines": list{object{"accountId": c.account("5200"), "amount": cents, "listingId": listing}},
		})
	case 6:
		c.want(http.MethodPut, "/general-ledger/journals/"+c.journal, c.manual(date, cents))
	default:
		items := list{}
		for _, k := range dice.Perm(len(c.stays))[:6] {
			items = append(items, object{"uniqueRef": fmt.Sprint("stay ", k), "lines": list{object{"type": "rent", "amount": cents}}})
		}

		c.want(http.MethodPost, "/reservations/batch", object{"data": items})
	}
}

// exclusive makes the changes that touch all journals, refreshes everything, and publishes, pays and reopens statements
// meanwhile.
func (c *contention) exclusive() {
	for n := range 4 {
		c.want(http.MethodPut, "/recurring-fees/"+c.fee, object{"defaultRate": 20_001 + n})
		c.want(http.MethodPost, "/reservations/journal-entries", object{})
		c.want(http.MethodPut, "/reservations/line-mappings/"+c.mapping, object{"accountId": c.account([]string{"4000", "4010"}[n%2])})
		c.want(http.MethodPut, "/statements/"+c.statement, object{"status": "published"})
		c.want(http.MethodPut, "/listings/ownership-periods/"+c.periods[0], object{"reserve": 100 + n})
		c.want(http.MethodPost, "/team/books-closing", object{"softClosedAt": fmt.Sprintf("2025-12-%02d", 1+n), "reason": "monthly"})
		c.want(http.MethodPut, "/statements/"+c.statement, object{"status": "draft"})
	}
}

func (c *contention) wantSums() {
	c.t.Helper()

	for _, sums := range []string{"ledger_balance", "ledger_month", "ledger_day"} {
		var off int64

		err := c.DB.ReadOne(c.t.Context(), c.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
			off, err = db.Get[int64](ctx, tx, `
				select count(*) from (
					select account_id, sum(cents) from (
						select account_id, cent_total as cents from ledger_entry where team_id = @team and status = 'active' and ledger <> 'historical'
						union all
						select account_id, credit - debit from `+sums+` where team_id = @team) s
					group by 1 having sum(cents) <> 0) x`, db.Args{"team": tx.Team})

			return err
		})
		if err != nil || off != 0 {
			c.t.Errorf("%s is off for %d accounts: %v", sums, off, err)
		}
	}
}

// deadlocks is how many the database has broken, once all who counted have left it.
func deadlocks(t *testing.T, url string) (n int64) {
	t.Helper()

	d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	for others := int64(1); others > 0; time.Sleep(5 * time.Millisecond) {
		err := d.ReadOne(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			others, err = db.Get[int64](ctx, tx, `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`, nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	err = d.ReadOne(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select deadlocks from pg_stat_database where datname = current_database()`, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return n
}
