package books_test

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"stayledger/platform/db"
)

// yearMonths are the months of the year that the team of TestAYearOfStatements lives through.
var yearMonths = []string{
	"2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11",
}

// yearListings is how many listings that team has: 200 at night, when there is time (make nightly), else 40.
var yearListings = min(max(cases()/50, 40), 200)

// TestAYearOfStatements: the listings of a team earn, spend and are paid out month by month for a year, and the
// statements of every ownership period lead from the first to the last without a gap.
// Proves: HST-53, STM-05.
func TestAYearOfStatements(t *testing.T) {
	t.Parallel()

	y := newYear(t)
	for i, month := range yearMonths {
		y.publish(month)

		if i+1 < len(yearMonths) {
			y.payOut(month, yearMonths[i+1]+"-05")
		}
	}

	y.lead()
}

// year is a team of many listings with a year of stays and bills.
type year struct {
	*team
	rng      *rand.Rand
	listings []string
}

func newYear(t *testing.T) *year {
	t.Helper()
	y := &year{team: newTeam(t), rng: rand.New(rand.NewPCG(2026, 11))}
	// Payments of guests are not booked here, so payouts go by the books.
	y.must("PUT", "/team", object{"statementStartAt": "2025-12-01", "payoutBasis": "books"})

	owners := make([]string, 40)
	for i := range owners {
		owners[i] = y.must("POST", "/contacts", object{"type": "owner", "name": "Owner " + strconv.Itoa(i)})
	}

	stays := list{}

	for n := range yearListings {
		members := list{object{"contactId": owners[n%40], "split": 100000}}
		if n%3 == 0 {
			members = list{object{"contactId": owners[n%40], "split": 66667}, object{"contactId": owners[(n+1)%40], "split": 33333}}
		}

		l := y.must("POST", "/listings", object{
			"name": "Listing " + strconv.Itoa(n), "initialOwnership": object{"members": members, "reserve": n % 4 * 5000},
		})

		y.listings = append(y.listings, l)
		for _, month := range yearMonths {
			stays = append(stays, object{
				"listingId": l, "checkIn": month + "-10", "checkOut": month + "-13", "bookedAt": month + "-01", "status": "booked",
				"uniqueRef": l + month, "lines": list{object{"type": "rent", "amount": 20_000 + y.rng.IntN(200_000)}},
			})
		}
	}

	if status, answer := y.send("POST", "/reservations/batch?atomic=true", object{"data": stays}); status != 200 {
		t.Fatalf("%d stays: %d %.500s", len(stays), status, answer)
	}

	for n := 0; n < yearListings; n += 4 {
		for i := n % 3; i < len(yearMonths); i += 3 {
			y.must("POST", "/transactions", object{
				"type": "expense", "date": yearMonths[i] + "-20", "accountId": y.account("1000"),
				"lines": list{object{"accountId": y.account("5200"), "amount": 1 + y.rng.IntN(90_000), "listingId": y.listings[n]}},
			})
		}
	}

	return y
}

// settle waits for the operation of an acknowledgement and gives the path of its result.
func (y *year) settle(path string, body object) string {
	y.t.Helper()

	status, answer := y.send("POST", path, body)
	if status != 202 {
		y.t.Fatalf("%s: %d %.500s", path, status, answer)
	}

	y.Work()
	operation := y.operationOf(answer)

	var settled struct{ Status string }
	if y.read("/operations/"+operation, &settled); settled.Status != "completed" {
		y.t.Fatalf("%s is %s", path, settled.Status)
	}

	return operation
}

func (y *year) publish(month string) {
	y.t.Helper()

	status, answer := y.send("POST", "/statements/batch", object{"month": month, "status": "published"})
	if status != 202 {
		y.t.Fatalf("publish %s: %d %.500s", month, status, answer)
	}

	y.Work()

	var batch struct {
		State  string
		Counts struct{ Changed int }
	}
	if y.read("/statements/batch/"+idOf(answer), &batch); batch.State != "completed" || batch.Counts.Changed != yearListings {
		y.t.Fatalf("%s: %+v", month, batch)
	}
}

// payOut pays what a month's statements make available, and checks that each of them is paid by it unless the owners owe.
func (y *year) payOut(month, date string) {
	y.t.Helper()

	ids := list{}
	for _, s := range y.statements("&month=" + month) {
		ids = append(ids, s.ID)
	}

	y.settle("/statements/payouts", object{"statementIds": ids, "date": date})

	for _, s := range y.paid(month) {
		// Who owes is left out, and a reserve is no debt.
		if s.Payment.Received != max(0, s.Financials.Available) || (s.Payment.Status != "paid") != (s.Payment.Expected < 0) {
			y.t.Errorf("%s: %+v of an available %d", month, s.Payment, s.Financials.Available)
		}
	}
}

// paidStatement is a statement with what its payouts brought.
type paidStatement struct {
	Financials struct{ Available int64 }
	Payment    struct {
		Received, Expected int64
		Status             string
	}
}

func (y *year) paid(month string) []paidStatement {
	y.t.Helper()

	var page struct{ Data []paidStatement }
	y.read("/statements?limit=250&month="+month, &page)

	return page.Data
}

// lead follows every chain from month to month and holds its end against the ledger.
func (y *year) lead() {
	y.t.Helper()

	chains := map[string][]statement{}
	for _, s := range y.statements("") {
		chains[s.Ownership.ID] = append(chains[s.Ownership.ID], s)
	}

	if len(chains) != yearListings {
		y.t.Fatalf("%d chains", len(chains))
	}

	for period, months := range chains {
		slices.SortFunc(months, func(a, b statement) int { return cmp.Compare(a.StartAt, b.StartAt) })

		var balance, available int64

		for i, s := range months[:len(yearMonths)] {
			f := s.Financials
			if s.StartAt != yearMonths[i]+"-01" || s.Status != "published" {
				y.t.Fatalf("%s: month %d is %s, %s", period, i, s.StartAt, s.Status)
			}

			if f.BalanceStart != balance || f.BalanceEnd != balance+f.NetRevenue+f.Expenses+f.Payouts || f.Payouts != -max(0, available) {
				y.t.Errorf("%s: %s starts from %d as %+v after a payout of %d", period, s.StartAt, balance, f, available)
			}

			balance, available = f.BalanceEnd, f.Available
		}

		if owed := y.owed(period); owed != balance {
			y.t.Errorf("%s: the ledger owes %d, the statement of %s %d", period, owed, yearMonths[len(yearMonths)-1], balance)
		}
	}
}

// owed is the amount that the ledger owes the owners of a period at the end of the year.
func (y *year) owed(period string) (cents int64) {
	y.t.Helper()
	y.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		cents, err = db.Get[int64](ctx, tx, `select coalesce(-sum(cent_total), 0)::bigint from ledger_entry
			where team_id = @team and ownership_period_id = @period and party = 'owners' and txn_at < '2026-12-01'`, db.Args{"team": tx.Team, "period": period})

		return err
	})

	return cents
}

// operationOf is the operation that an acknowledgement names.
func (y *year) operationOf(answer []byte) string {
	y.t.Helper()

	var ack struct{ OperationID string }
	if err := json.Unmarshal(answer, &ack); err != nil || ack.OperationID == "" {
		y.t.Fatalf("no acknowledgement: %.500s", answer)
	}

	return ack.OperationID
}
