package report_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// line is an entry of a hand-written posting: account code, party (o, m or none), cents with debit positive.
type line struct {
	code, party string
	cents       money.Cents
}

// book writes a posting of a listing.
func (b *books) book(in ledger.Ledger, at string, lines ...line) {
	p := ledger.Posting{SourceID: id.New(b.DB.Now()), Ledger: in, Status: ledger.Active, TxnAt: date(at), Currency: "usd"}
	p.TxnCode = "book:" + p.SourceID.String()

	for i, l := range lines {
		entry := ledger.Line{Ref: strconv.Itoa(i), AccountID: b.Accounts[l.code], CentTotal: l.cents, Trigger: ledger.TriggerManual}

		entry.Party = map[string]ledger.Party{"o": ledger.Owners, "m": ledger.Manager}[l.party]
		if l.code != "1000" && l.code != "1010" {
			entry.ListingID = b.Listing
		}

		p.Lines = append(p.Lines, entry)
	}

	b.Replace([]id.ID{p.SourceID}, p)
}

// workedBooks are the worked examples: a stay recognised pro rata over January and February, an opening owner balance,
// a payout and a bill that was paid by cheque.
func workedBooks(t *testing.T) *books {
	t.Helper()

	b := newBooks(t)
	for _, at := range []string{"2026-01-05", "2026-01-22"} {
		b.book(ledger.Trust, at, line{"1000", "", 62502}, line{"5010", "m", 1898}, line{"2000", "", -64400})
	}

	for _, month := range []struct {
		at                        string
		rent, cleaning, tax       money.Cents
		commission, own, merchant money.Cents
	}{{"2026-01-29", 60000, 9000, 8280, 12000, 9000, 2278}, {"2026-02-01", 40000, 6000, 5520, 8000, 6000, 1518}} {
		b.book(ledger.Trust, month.at, line{"2000", "", month.rent + month.cleaning + month.tax}, line{"4000", "o", -month.rent},
			line{"4010", "o", -month.cleaning}, line{"2100", "", -month.tax})
		b.book(ledger.Trust, month.at, line{"5100", "o", month.commission}, line{"4100", "m", -month.commission})
		b.book(ledger.Trust, month.at, line{"5110", "o", month.own}, line{"4110", "m", -month.own})
		b.book(ledger.Trust, month.at, line{"5120", "o", month.merchant}, line{"4120", "m", -month.merchant})
	}

	b.book(ledger.Trust, "2025-12-31", line{"1000", "", 30000}, line{"2900", "o", -30000})
	b.book(ledger.Trust, "2026-01-10", line{"2400", "o", 10000}, line{"1000", "", -10000})
	b.book(ledger.Trust, "2026-01-15", line{"5200", "o", 12650}, line{"2200", "", -10000}, line{"4190", "m", -1000}, line{"2110", "", -1650})
	b.book(ledger.Trust, "2026-01-20", line{"2200", "", 10000}, line{"1000", "", -10000})

	return b
}

func TestProfitAndLossOfTheWorkedExample(t *testing.T) {
	t.Parallel()

	b := workedBooks(t)
	for filter, want := range map[string]string{
		"startDate=2026-01&endDate=2026-02&party=owners":       "115000 51446 63554",
		"startDate=2026-01&endDate=2026-02&party=manager":      "39796 3796 36000",
		"startDate=2026-01&endDate=2026-01&party=owners":       "69000 35928 33072",
		"startDate=2026-02&endDate=2026-02":                    "61518 15518 46000",
		"startDate=2026-01&endDate=2026-02&ledger=operating":   "0 0 0",
		"startDate=2026&endDate=2026&listingIds=null":          "0 0 0",
		"startDate=2026&endDate=2026&currency=eur":             "0 0 0",
		"startDate=2025&endDate=2025":                          "0 0 0",
		"startDate=2026&endDate=2026&party=null":               "0 0 0",
		"startDate=2026-01-29&endDate=2026-01-29&party=owners": "69000 23278 45722",
	} {
		r := b.Get("/reports/profit-and-loss?" + filter).Want(200)

		got := strings.Join([]string{r.String("netIncome.groups.0.total"), r.String("netIncome.groups.1.total"), r.String("netIncome.total")}, " ")
		if got != want {
			t.Errorf("%s: got %s, want %s", filter, got, want)
		}
	}

	for _, view := range []string{"total", "ledger", "party", "listing", "month", "quarter", "year"} {
		b.checkDrilldowns(t, b.Get("/reports/profit-and-loss?startDate=2026-01-15&endDate=2026-02-03&view="+view).Want(200), ".netIncome.groups.1", 1000)
	}

	r := b.Get("/reports/profit-and-loss?startDate=2026-01&endDate=2026-02&party=owners&view=month").Want(200)
	for path, want := range map[string]string{
		"currency": "usd", "startDate": "2026-01-01", "endDate": "2026-02-28", "view": "month", "columns.1.id": "2026-02", "columns.1.title": "2026-02",
		"netIncome.id": "netIncome", "netIncome.title": "Net income", "netIncome.totalPercentage": "55264", "netIncome.values.0.total": "33072",
		"netIncome.values.0.percentage": "47930", "netIncome.values.0.id": "2026-01", "netIncome.computedValues.0.id": "average",
		"netIncome.computedValues.0.total": "31777", "netIncome.computedValues.0.percentage": "55264",
		"netIncome.groups.0.id": "revenue", "netIncome.groups.0.totalPercentage": "100000", "netIncome.groups.0.categories.0.title": "Reservation revenue",
		"netIncome.groups.0.categories.0.accounts.0.code": "4000", "netIncome.groups.0.categories.0.accounts.0.title": "Rent",
		"netIncome.groups.0.categories.0.accounts.0.id": b.Accounts["4000"].String(), "netIncome.groups.0.categories.0.accounts.0.total": "100000",
		"netIncome.groups.0.categories.0.accounts.0.values.1.total": "40000", "netIncome.groups.0.categories.0.accounts.0.values.1.percentage": "86957",
		"netIncome.groups.1.id": "expense", "netIncome.groups.1.categories.0.accounts.0.code": "5100",
		"netIncome.groups.1.categories.0.accounts.0.total": "20000", "netIncome.groups.1.categories.1.accounts.0.values.1.total": "0",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
}

// Shares and averages are rounded half away from zero; of nothing there is no share.
func TestProfitAndLossRounds(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.book(ledger.Trust, "2026-01-01", line{"4000", "o", -200_000}, line{"5200", "o", 1}, line{"5100", "o", -1}, line{"1000", "", 200_000})
	b.book(ledger.Trust, "2026-02-01", line{"5000", "m", 5}, line{"1000", "", -5})
	r := b.Get("/reports/profit-and-loss?startDate=2026-01&endDate=2026-02&view=month").Want(200)

	const costs = "netIncome.groups.1.categories."
	for path, want := range map[string]string{
		"netIncome.values.1.total": "-5", "netIncome.values.1.percentage": "null", "netIncome.totalPercentage": "99998",
		costs + "0.accounts.0.totalPercentage": "3", costs + "0.computedValues.0.total": "3", costs + "0.values.0.percentage": "0",
		costs + "1.accounts.0.totalPercentage": "-1", costs + "1.computedValues.0.total": "-1", costs + "1.values.0.percentage": "-1",
		costs + "2.accounts.0.totalPercentage": "1", costs + "2.computedValues.0.total": "1", costs + "2.computedValues.0.percentage": "1",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	tiny := newBooks(t)
	tiny.book(ledger.Trust, "2026-01-01", line{"4000", "o", -1}, line{"5200", "o", 1<<53 - 1}, line{"1000", "", 2 - 1<<53})

	if r := tiny.Get("/reports/profit-and-loss?startDate=2026&endDate=2026").Want(200); r.String("netIncome.groups.1.totalPercentage") != "null" {
		t.Errorf("a share beyond the safe range: %s", r.Body)
	}
}

func TestProfitAndLossColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 11, 120)
	w.Exec(`delete from listing where team_id = @team and id = @id`, db.Args{"id": w.listings[0]})

	titles := func(filter string) string {
		r := w.Get("/reports/profit-and-loss?startDate=2025-11-15&endDate=2026-02-03" + filter).Want(200)

		var out []string
		for i := range r.Len("columns") {
			out = append(out, r.String(fmt.Sprintf("columns.%d.title", i)))
		}

		return strings.Join(out, ",")
	}
	for filter, want := range map[string]string{
		"":                              "",
		"&view=total":                   "",
		"&view=ledger":                  "Trust,Operating",
		"&view=ledger&ledger=trust":     "Trust",
		"&view=party":                   "Owners,Manager,Unassigned",
		"&view=party&party=owners":      "Owners",
		"&view=party&party=null":        "Unassigned",
		"&view=listing":                 "Alder,Birch,,No listing",
		"&view=listing&listingIds=null": "No listing",
		"&view=month":                   "2025-11,2025-12,2026-01,2026-02",
		"&view=quarter":                 "2025-Q4,2026-Q1",
		"&view=year":                    "2025,2026",
		"&view=year&currency=gbp":       "2025,2026",
	} {
		if got := titles(filter); got != want {
			t.Errorf("%s: got %s, want %s", filter, got, want)
		}
	}
}

func TestProfitAndLossRefusals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	const path = "/reports/profit-and-loss?"
	b.Get(path+"startDate=2026").WantIssue("required", "endDate")
	b.Get(path+"startDate=2026-02&endDate=2026-01").WantIssue("dateOrder", "endDate")
	b.Get(path+"startDate=1990&endDate=2026&view=month").WantIssue("tooMany", "view")
	b.Get(path+"startDate=0001&endDate=9999").WantIssue("dateOutOfRange", "endDate")
	b.Get(path + "startDate=1990&endDate=2035&view=quarter").Want(200)
	b.Get(path + "startDate=1993-09&endDate=2026&view=month").Want(200)
	b.Get(path+"startDate=2026&endDate=2026&view=week").WantIssue("enum", "view")
	b.Get(path+"startDate=2026&endDate=2026&ledger=historical").WantIssue("enum", "ledger")
	b.Get(path+"startDate=2026&endDate=2026&listingIds=x").WantIssue("uuid", "listingIds")
	b.Get(path+"startDate=2026&endDate=2026&currency=xxx").WantIssue("currency", "currency")
	b.As(nil, nil).Get(path+"startDate=2026&endDate=2026").WantError(apierr.CodeForbidden, "")
}

// Every figure of every view is the sum of the entries behind its drill-down, and the total is the sum of all entries
// of the period.
func TestProfitAndLossAddsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 17, 150)
	listings := []string{"", "listingIds=null", "listingIds=" + w.listings[0].String() + ",null", "listingIds=" + w.listings[1].String()}

	rapid.Check(t, func(rt *rapid.T) {
		start := worldStart.AddDays(rapid.IntRange(-5, worldDays).Draw(rt, "start"))
		end := start.AddDays(rapid.IntRange(0, 90).Draw(rt, "days"))

		filter := strings.Join([]string{
			"startDate=" + start.String(), "endDate=" + end.String(),
			rapid.SampledFrom([]string{"", "view=ledger", "view=party", "view=listing", "view=month", "view=quarter", "view=year"}).Draw(rt, "view"),
			rapid.SampledFrom([]string{"", "party=owners", "party=manager", "party=null"}).Draw(rt, "party"),
			rapid.SampledFrom([]string{"", "ledger=trust", "ledger=operating"}).Draw(rt, "ledger"),
			rapid.SampledFrom(listings).Draw(rt, "listings"),
		}, "&")
		for strings.Contains(filter, "&&") {
			filter = strings.ReplaceAll(filter, "&&", "&")
		}

		filter = strings.TrimSuffix(filter, "&")
		r := w.Get("/reports/profit-and-loss?" + filter).Want(200)
		w.checkDrilldowns(t, r, ".netIncome.groups.1", 12)

		if strings.Count(filter, "&") == 1 {
			debit, credit := w.sum("c.classification in ('revenue', 'expense') and e.txn_at between @start and @end", db.Args{"start": start, "end": end})
			if got := money.Cents(r.Int("netIncome.total")); got != credit-debit {
				rt.Fatalf("%s: net income %d, entries come to %d", filter, got, credit-debit)
			}
		}

		checkColumns(t, r)
	})
}
