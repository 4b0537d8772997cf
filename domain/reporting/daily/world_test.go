package daily_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/daily"
	"stayledger/domain/reporting/report"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
	"stayledger/test/posted"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

const (
	path  = "/general-ledger/daily-summary"
	taken = path + "/taken"
)

var date = posted.Date

// world is a team with a chart, two listings and the daily summary turned on.
type world struct {
	*apitest.Team
	accounts map[string]id.ID
	listings []id.ID
}

func newWorld(t testing.TB) *world {
	t.Helper()

	w := &world{Team: apitest.New(t, apitest.Config{Endpoints: slices.Concat(daily.Part().Endpoints, report.Part(nil).Endpoints)})}
	w.accounts = fixture.StandardChart(w.Team)
	w.listings = []id.ID{fixture.Listing(w.Team, "Cedar"), fixture.Listing(w.Team, "Birch")}
	w.Exec(`update team set daily_gl_summary = true where id = @team`, nil)

	return w
}

// today is the day that requests are made on.
func (w *world) today() day.Day { return day.Of(w.DB.Now()) }

// post books cents from one account to another in dollars, and returns the source.
func (w *world) post(in ledger.Ledger, at, debit, credit string, cents money.Cents) id.ID {
	source := id.New(w.DB.Now())
	w.replace(source, posting(source, in, at, "usd",
		ledger.Line{AccountID: w.accounts[debit], CentTotal: cents},
		ledger.Line{AccountID: w.accounts[credit], CentTotal: -cents, Party: ledger.Owners, ListingID: w.listings[0]},
	))

	return source
}

// posting returns a posting of lines, which get references and a trigger.
func posting(source id.ID, in ledger.Ledger, at, currency string, lines ...ledger.Line) ledger.Posting {
	for i := range lines {
		lines[i].Ref, lines[i].Trigger = strconv.Itoa(i), ledger.TriggerManual
	}

	return ledger.Posting{
		SourceID: source, TxnCode: "test:" + source.String(), Ledger: in, Status: ledger.Active, TxnAt: date(at), Currency: currency, Lines: lines,
	}
}

// replace makes the postings of a source these; none takes the source out of the books.
func (w *world) replace(source id.ID, wanted ...ledger.Posting) {
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := ledger.Replace(ctx, tx, []id.ID{source}, wanted, ledger.Lenience{})
		return err
	})
}

// scatter posts at random in the days from January to March 2026: both ledgers, two currencies, all parties, with and
// without a listing, and postings that do not count.
func (w *world) scatter(random *rand.Rand, postings int) []ledger.Posting {
	codes := []string{"1000", "1010", "2000", "4000", "5200"}
	all := make([]ledger.Posting, postings)

	for i := range all {
		amount := money.Cents(1 + random.Int64N(100_000))
		line := func(cents money.Cents) ledger.Line {
			l := ledger.Line{
				AccountID: w.accounts[codes[random.IntN(len(codes))]], CentTotal: cents,
				Party: []ledger.Party{ledger.NoParty, ledger.Owners, ledger.Manager}[random.IntN(3)],
			}
			if k := random.IntN(3); k < len(w.listings) {
				l.ListingID = w.listings[k]
			}

			return l
		}
		in := []ledger.Ledger{ledger.Trust, ledger.Operating, ledger.Trust, ledger.Historical}[random.IntN(4)]
		currency := []string{"usd", "usd", "eur"}[random.IntN(3)]
		part := money.Cents(random.Int64N(int64(amount)) + 1)

		lines := []ledger.Line{line(amount), line(-part)}
		if part < amount {
			lines = append(lines, line(part-amount))
		}

		all[i] = posting(id.New(w.DB.Now()), in, date("2026-01-01").AddDays(random.IntN(90)).String(), currency, lines...)
		if random.IntN(8) == 0 {
			all[i].Status = ledger.Inactive
		}

		w.replace(all[i].SourceID, all[i])
	}

	return all
}

// row is a row of an answer.
type row struct {
	Ledger, Currency string
	Account          struct{ ID, Code string }
	Party, ListingID *string
	Debit, Credit    int64
	Entries          int64
	Taken, Change    *amounts
	Drilldown        struct{ Filter object }
}

type amounts struct{ Debit, Credit int64 }

// summary is a period of an answer.
type summary struct {
	StartDate, EndDate, Period string
	Taken                      *struct {
		Period string
		Days   int
	}
	IsChanged bool
	Totals    []struct {
		Ledger, Currency string
		amounts
	}
	Rows []row
}

// read returns all pages of a summary.
func (w *world) read(t testing.TB, query string) (out []summary) {
	t.Helper()

	for n := 1; ; n++ {
		var page struct {
			Data       []summary
			Pagination struct{ NextPage *int }
		}

		w.Get(fmt.Sprintf("%s?%s&page=%d", path, query, n)).Want(200).Into(&page)
		out = append(out, page.Data...)

		if page.Pagination.NextPage == nil {
			return out
		}
	}
}

// checkBalanced fails for a period in which debits and credits of a ledger and currency differ, or whose totals are not
// those of its rows.
func checkBalanced(t testing.TB, s *summary) {
	t.Helper()

	sums := map[[2]string]amounts{}

	for i := range s.Rows {
		r := &s.Rows[i]
		key := [2]string{r.Ledger, r.Currency}
		sums[key] = amounts{sums[key].Debit + r.Debit, sums[key].Credit + r.Credit}
	}

	for key, sum := range sums {
		if sum.Debit != sum.Credit {
			t.Errorf("%s %v: debits of %d and credits of %d", s.StartDate, key, sum.Debit, sum.Credit)
		}
	}

	for _, total := range s.Totals {
		if got := sums[[2]string{total.Ledger, total.Currency}]; got != total.amounts {
			t.Errorf("%s: total of %v, rows of %v", s.StartDate, total, got)
		}
	}

	if len(s.Totals) != len(sums) {
		t.Errorf("%s: %d totals for %d books", s.StartDate, len(s.Totals), len(sums))
	}
}
