package report_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
	"stayledger/test/posted"
)

// world is a team with the standard chart, three listings and random postings from November 2025 to April 2026: of both
// ledgers, every party and none, with and without a listing, and postings in euros, inactive and historical ones.
type world struct {
	*books
	listings []id.ID
}

var worldStart = date("2025-11-01")

const worldDays = 181

func newWorld(t testing.TB, seed uint64, postings int) *world {
	t.Helper()
	w := &world{books: newBooks(t)}
	w.listings = []id.ID{fixture.Listing(w.Team, "Cedar"), fixture.Listing(w.Team, "Birch"), fixture.Listing(w.Team, "Alder")}
	random := rand.New(rand.NewPCG(seed, 7))

	codes := make([]string, 0, len(w.Accounts))
	for _, code := range []string{"1000", "1010", "1100", "2000", "2100", "2400", "2900", "4000", "4010", "4100", "5000", "5100", "5200"} {
		if !w.Accounts[code].IsZero() {
			codes = append(codes, code)
		}
	}

	all := make([]ledger.Posting, postings)
	sources := make([]id.ID, postings)

	for i := range all {
		all[i] = w.posting(random, codes)
		sources[i] = all[i].SourceID
	}

	w.Replace(sources, all...)
	// What is taken back again leaves nothing behind in the balances.
	w.Replace(sources[:postings/10])

	return w
}

func (w *world) posting(random *rand.Rand, codes []string) ledger.Posting {
	p := ledger.Posting{
		SourceID: id.New(w.DB.Now()), Ledger: ledger.Trust, Status: ledger.Active, TxnAt: worldStart.AddDays(random.IntN(worldDays)), Currency: "usd",
	}
	p.TxnCode = "random:" + p.SourceID.String()

	switch random.IntN(12) {
	case 0:
		p.Currency = "eur"
	case 1:
		p.Status = ledger.Inactive
	case 2:
		p.Ledger = ledger.Historical
	case 3, 4, 5:
		p.Ledger = ledger.Operating
	}

	var open money.Cents

	for n := range 2 + random.IntN(3) {
		l := ledger.Line{
			Ref: strconv.Itoa(n), AccountID: w.Accounts[codes[random.IntN(len(codes))]], CentTotal: money.Cents(random.Int64N(20_000) - 10_000),
			Party:   []ledger.Party{ledger.NoParty, ledger.Owners, ledger.Manager}[random.IntN(3)],
			Trigger: []string{ledger.TriggerManual, ledger.TriggerDeposit}[random.IntN(2)],
		}
		if k := random.IntN(4); k < 3 {
			l.ListingID = w.listings[k]
		}

		if l.CentTotal == 0 {
			l.CentTotal = 1
		}

		open += l.CentTotal
		p.Lines = append(p.Lines, l)
	}

	if open == 0 {
		p.Lines[0].CentTotal++
		open = 1
	}

	p.Lines = append(p.Lines, ledger.Line{Ref: "rest", AccountID: w.Accounts["1000"], CentTotal: -open, Trigger: ledger.TriggerManual})
	for i := range p.Lines {
		if p.Lines[i].CentTotal == 0 {
			p.Lines[i].CentTotal = 1
			p.Lines[len(p.Lines)-1].CentTotal--
		}
	}

	return p
}

// drilled is a figure of a report with the filter behind it.
type drilled struct {
	// path leads to the object that holds the figure, name is the drill-down's field in it.
	path, name string
	figure     map[string]any
	filter     any
}

// drilldowns finds every drill-down in an answer, with the object that has it.
func drilldowns(path string, node any) []drilled {
	var out []drilled

	switch n := node.(type) {
	case map[string]any:
		for name, value := range n {
			if inner, ok := value.(map[string]any); ok && inner["type"] == "journalEntryReport" {
				out = append(out, drilled{path, name, n, inner["filter"]})
				continue
			}

			out = append(out, drilldowns(path+"."+name, value)...)
		}
	case []any:
		for i, value := range n {
			out = append(out, drilldowns(fmt.Sprintf("%s.%d", path, i), value)...)
		}
	}

	return out
}

// amount is a whole number that is a figure.
func (d *drilled) amount(field string) int64 {
	n, ok := d.figure[field].(float64)
	if !ok {
		panic(d.path + " has no " + field)
	}

	return int64(n)
}

// behind asks for the entries behind a figure and gives their debits and credits.
func (b *books) behind(filter any) (debit, credit int64) {
	r := b.Get("/reports/journal-entries?limit=1&" + posted.AsQuery(filter)).Want(200)
	return r.Int("totals.debit"), r.Int("totals.credit")
}

// checkDrilldowns sends drill-downs of an answer, all or at most so many at random, to the journal entries and compares
// the sums with the figures. Under the path debitIn totals are debit positive, elsewhere credit positive.
func (b *books) checkDrilldowns(t *testing.T, r *apitest.Response, debitIn string, most int) {
	t.Helper()

	var tree any
	r.Into(&tree)

	found := drilldowns("", tree)
	if len(found) == 0 {
		t.Fatalf("no drill-downs: %s", r.Body)
	}

	seed := rand.Uint64()
	t.Logf("drill-downs in an order from seed %d", seed)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(found), func(i, k int) { found[i], found[k] = found[k], found[i] })

	for i := range found[:min(most, len(found))] {
		d := &found[i]
		debit, credit := b.behind(d.filter)
		got, want := []int64{credit - debit}, []int64{}

		switch d.name {
		case "beginningDrilldown":
			got, want = []int64{debit - credit}, []int64{d.amount("beginning")}
		case "endingDrilldown":
			got, want = []int64{debit - credit}, []int64{d.amount("ending")}
		case "drilldown":
			if _, trial := d.figure["beginning"]; trial {
				got, want = []int64{debit, credit}, []int64{d.amount("debit"), d.amount("credit")}
				break
			}

			want = []int64{d.amount("total")}
			if debitIn != "" && strings.HasPrefix(d.path, debitIn) {
				got[0] = -got[0]
			}
		default:
			t.Errorf("%s: unknown drill-down %s", d.path, d.name)
		}

		if !slices.Equal(got, want) {
			t.Errorf("%s %s: the entries of %v come to %d, the figure is %d", d.path, d.name, d.filter, got, want)
		}
	}
}

// sum adds up entries the plain way, from nothing but the entries.
func (w *world) sum(where string, args db.Args) (debit, credit money.Cents) {
	type sums struct{ Debit, Credit money.Cents }

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		args["team"] = tx.Team
		s, err := db.Get[sums](ctx, tx, `select coalesce(sum(e.cent_total) filter (where e.cent_total > 0), 0)::bigint as debit,
				coalesce(-sum(e.cent_total) filter (where e.cent_total < 0), 0)::bigint as credit
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
				join account_category c on c.team_id = a.team_id and c.id = a.category_id
			where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical' and e.currency = 'usd' and `+where, args)
		debit, credit = s.Debit, s.Credit

		return err
	})

	return debit, credit
}
