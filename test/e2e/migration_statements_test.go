package e2e_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/money"
)

// compare holds what there is by name to what there should be, and shows up to ten differences.
func compare[V any](t *testing.T, what string, want, got map[string]V) {
	t.Helper()

	shown := 0

	for name := range maps.Keys(merged(want, got)) {
		w, wanted := want[name]
		g, there := got[name]

		if wanted == there && reflect.DeepEqual(w, g) {
			continue
		}

		if shown++; shown <= 10 {
			t.Errorf("%s of %s (%v, %v):\nwant %+v\n got %+v", what, name, wanted, there, reflect.Indirect(reflect.ValueOf(w)), reflect.Indirect(reflect.ValueOf(g)))
		}
	}

	if shown > 10 {
		t.Errorf("%s: %d differences", what, shown)
	}
}

// merged returns the entries of both maps.
func merged[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	maps.Copy(out, b)

	return out
}

// number returns an integer of an answer.
func number(v any) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		panic(err)
	}

	return n
}

// statements reads the imported statements of the new team by the ids that they had in the legacy team.
func (m *move) statements() map[string]*movedStatement {
	m.t.Helper()

	out := map[string]*movedStatement{}

	for _, row := range m.all(m.made, "/statements?status=published&") {
		a := m.made.get("/statements/" + fmt.Sprint(row["id"]) + "?include=provenance").want(200)
		s := &movedStatement{
			currency: a.text("currency"), startAt: a.text("startAt"), endAt: a.text("endAt"), listing: m.refs[a.text("listing.id")],
			start: number(a.at("financials.balanceStart")), revenue: number(a.at("financials.netRevenue")),
			expenses: number(a.at("financials.expenses")), payouts: number(a.at("financials.payouts")), end: number(a.at("financials.balanceEnd")),
			byAccount: map[string]int64{}, payoutDays: map[string]int64{},
		}

		for _, l := range a.list("lines") {
			cents := number(l["total"])

			if l["section"] == "payouts" {
				s.payoutDays[fmt.Sprint(l["date"])] += cents
				continue
			}

			account, _ := l["account"].(object)
			code := m.codes[fmt.Sprint(account["id"])]
			s.byAccount[code] += cents
			s.lines = append(s.lines, fmt.Sprintf("%s %d %v %v", code, cents, l["date"], l["description"]))
		}

		slices.Sort(s.lines)

		ref := a.text("provenance.sourceId")
		if a.text("uniqueRef") != "legacy:"+ref || a.text("provenance.sourceTenantId") != m.source || a.text("source.type") != "import" || out[ref] != nil {
			m.t.Errorf("the statement of %s is %s", ref, a.body)
		}

		out[ref] = s
	}

	return out
}

// checkStatements holds the statements of the new team to those of the dump, to the cent and line by line, and returns them.
func (m *move) checkStatements(odd string) map[string]*movedStatement {
	m.t.Helper()

	want, got := m.dump.expect(odd), m.statements()
	compare(m.t, "the statement", want, got)

	lines, moved := 0, 0
	for _, s := range want {
		lines += len(s.lines)

		if s.byAccount[odd] != 0 {
			moved++
		}
	}

	m.t.Logf("%d statements with %d lines, %d with goodwill", len(want), lines, moved)

	if len(want) < 5*len(m.dump.Listings) || moved == 0 {
		m.t.Error("too little is imported for a comparison")
	}

	return got
}

// checkWithHledger has hledger add up the lines of the dump and compares the sums with statements that were read back, and the
// live books with what a person has booked.
func (m *move) checkWithHledger(odd string, read map[string]*movedStatement) {
	m.t.Helper()

	books := &rental{t: m.t, client: m.made}

	live := books.entries()
	if len(live) != 2 {
		m.t.Errorf("the live books have the entries %v", live)
	}

	for _, row := range books.hledger(books.writeJournal(live), "balance", "--flat", "--no-total", "--output-format", "csv")[1:] {
		if cents := hledgerCents(row[1]); cents != map[string]int64{"5200": 12_345, "2200": -12_345}[row[0]] {
			m.t.Errorf("hledger has %d on %s", cents, row[0])
		}
	}

	// The dump's own lines, whose other side is what is owed to owners.
	var entries []bookedEntry

	taken, _ := m.dump.importable()
	for _, s := range taken {
		add := func(account string, cents int64) {
			entries = append(entries, bookedEntry{s.ID, s.EndAt, "dump", s.ListingID, account, money.Cents(cents).Decimal("usd")})
		}

		for _, l := range s.Lines {
			switch {
			case l.Type == "payout":
				add("payouts", -l.Amount)
			case l.AccountKey == oddKey:
				add(odd, l.Amount)
			case l.Amount != 0:
				add(codesByHand[l.AccountKey], l.Amount)
			}
		}

		add("owed", s.BalanceStart-s.BalanceEnd)
	}

	compareSums(books, entries, read)
}

// compareSums holds what hledger makes of entries by account to statements.
func compareSums(books *rental, entries []bookedEntry, statements map[string]*movedStatement) {
	books.t.Helper()

	sums := map[string]int64{}

	for _, s := range statements {
		for code, cents := range s.byAccount {
			sums[code] += cents
		}

		for _, cents := range s.payoutDays {
			sums["payouts"] += cents
		}

		sums["owed"] += s.start - s.end
	}

	file := books.writeJournal(entries)
	books.hledger(file, "check")

	got := map[string]int64{}
	for _, row := range books.hledger(file, "balance", "--flat", "--no-total", "--output-format", "csv")[1:] {
		got[strings.TrimSpace(row[0])] = hledgerCents(row[1])
	}

	compare(books.t, "by hledger, the sum of the statements", got, sums)
}
