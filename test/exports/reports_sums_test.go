package exports_test

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/test/world"
)

// table is an exported CSV with its rows by column.
type table []map[string]string

// table exports by GET.
func (g *goldenTeam) table(t *testing.T, path string, selector world.Object) table {
	t.Helper()

	records, err := csv.NewReader(strings.NewReader(string(g.fetch(t, g.Get(path+query(selector)).Want(200).String("url"))))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	rows := table{}

	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}

		rows = append(rows, row)
	}

	return rows
}

// cents reads an amount of a CSV; an empty one is nothing.
func cents(t *testing.T, text string) int64 {
	t.Helper()

	n, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	if text != "" && (err != nil || len(text) < 4 || text[len(text)-3] != '.') {
		t.Fatalf("amount %q", text)
	}

	return n
}

// sum adds up a column over the rows that have the given values, in pairs of column and value.
func (rows table) sum(t *testing.T, column string, having ...string) (total int64) {
	t.Helper()

	if len(rows) > 0 {
		if _, ok := rows[0][column]; !ok {
			t.Fatalf("no column %q", column)
		}
	}

	for _, row := range rows {
		wanted := true
		for i := 0; i < len(having); i += 2 {
			wanted = wanted && row[having[i]] == having[i+1]
		}

		if wanted {
			total += cents(t, row[column])
		}
	}

	return total
}

// reading is a report and its export.
type reading struct {
	t    *testing.T
	name string
	*apitest.Response
}

func (r reading) equal(path string, got int64) {
	r.t.Helper()

	if want := r.Int(path); got != want {
		r.t.Errorf("%s: the CSV comes to %d, %s of the report is %d", r.name, got, path, want)
	}
}

func newTroubledTeam(t *testing.T) *goldenTeam {
	t.Helper()
	g := newGoldenTeam(t)
	g.trouble(t)

	return g
}

// read reads a report and its export with the same selection.
func (g *goldenTeam) read(t *testing.T, report string, selector world.Object) (reading, table) {
	t.Helper()
	return reading{t, report, g.Get(report + query(selector)).Want(200)}, g.table(t, report+"/csv", selector)
}

// An export adds up to the figures of its report.
func TestReportsAddUp(t *testing.T) {
	t.Parallel()
	g := newTroubledTeam(t)

	r, rows := g.read(t, "/reports/guest-balances", world.Object{"date": "2026-02-28", "includeSettled": true})
	r.equal("charges", rows.sum(t, "charges"))
	r.equal("payments", rows.sum(t, "payments"))
	r.equal("total", rows.sum(t, "total"))
	r.equal("pagination.total", int64(len(rows)))
	r, rows = g.read(t, "/reports/guest-balances", world.Object{"date": "2026-02-28", "occupancyStatus": "inHouse", "search": "half"})
	r.equal("data.0.listings.0.reservations.0.total", rows.sum(t, "total"))
	r.equal("pagination.total", int64(len(rows)))

	r, rows = g.read(t, "/reports/profit-and-loss", world.Object{"startDate": "2026-01-03", "endDate": "2026-02-12", "view": "month"})
	r.equal("netIncome.groups.0.total", rows.sum(t, "total", "section", "revenue"))
	r.equal("netIncome.groups.1.total", rows.sum(t, "total", "section", "expense"))
	r.equal("netIncome.groups.0.values.1.total", rows.sum(t, "2026-02", "section", "revenue"))
	r.equal("netIncome.total", rows.sum(t, "total", "section", "revenue")-rows.sum(t, "total", "section", "expense"))

	r, rows = g.read(t, "/reports/balance-sheet", world.Object{"date": "2026-02-20", "view": "ledger"})
	for _, section := range []string{"assets", "liabilities", "balances"} {
		r.equal(section+".total", rows.sum(t, "total", "section", section))
		r.equal(section+".values.0.total", rows.sum(t, "Trust", "section", section))
	}

	r, rows = g.read(t, "/reports/trial-balance", world.Object{"startDate": "2026-02-03", "endDate": "2026-02-20"})
	for _, column := range []string{"beginning", "debit", "credit", "ending"} {
		r.equal("totals."+column, rows.sum(t, column))
	}

	for i, row := range rows {
		r.equal(fmt.Sprintf("data.%d.ending", i), cents(t, row["ending"]))
	}

	r, rows = g.read(t, "/reports/journal-entries", world.Object{"dateRange": "2026-02", "party": "owners"})
	r.equal("totals.debit", rows.sum(t, "debit"))
	r.equal("totals.credit", rows.sum(t, "credit"))
	r.equal("pagination.total", int64(len(rows)))

	if rows.sum(t, "amount") != rows.sum(t, "debit")-rows.sum(t, "credit") {
		t.Error("amounts are not debits less credits")
	}

	r, rows = g.read(t, "/reports/sales-tax-liability", world.Object{"startDate": "2026-01", "endDate": "2026-02", "taxableLineIds": world.Array{g.Account("4000")}})
	r.equal("taxableIncomeTotal", rows.sum(t, "taxableIncome"))
	r.equal("collectableTaxesTotal", rows.sum(t, "collectableTaxes"))
	r.equal("pagination.total", int64(len(rows)))
}

// An export of the trust adds up to the figures of its report.
func TestTrustReportsAddUp(t *testing.T) {
	t.Parallel()
	g := newTroubledTeam(t)
	r, rows := g.read(t, "/reports/trust-reconciliation", world.Object{"date": "2026-02-28"})
	r.equal("bank.adjustedBalance", rows.sum(t, "amount", "leg", "bank"))
	r.equal("bank.statementBalance", rows.sum(t, "amount", "leg", "bank", "row", "statementBalance"))
	r.equal("bank.outstandingPayments", rows.sum(t, "amount", "leg", "bank", "row", "outstandingPayments"))
	r.equal("book.centTotal", rows.sum(t, "amount", "leg", "book"))
	r.equal("liabilities.centTotal", rows.sum(t, "amount", "leg", "liabilities"))
	r.equal("liabilities.ownerBalances.centTotal", rows.sum(t, "amount", "leg", "liabilities", "row", "ownerBalances"))
	r.equal("liabilities.ownerBalances.owners.0.centTotal", rows.sum(t, "amount", "leg", "liabilities", "contact", "Ann Owner"))
	r.equal("liabilities.managerBalance.centTotal", rows.sum(t, "amount", "leg", "liabilities", "row", "managerBalance"))
	r.equal("difference.bankToBook", rows.sum(t, "amount", "leg", "difference", "row", "bankToBook"))
	r.equal("difference.bookToLiabilities", rows.sum(t, "amount", "leg", "difference", "row", "bookToLiabilities"))
	r.equal("warnings.0.total", rows.sum(t, "amount", "leg", "warnings", "row", r.String("warnings.0.code")))

	r, rows = g.read(t, "/reports/trust-reconciliation/by-listing", world.Object{"date": "2026-02-28"})
	r.equal("centTotal", rows.sum(t, "total"))
	r.equal("pagination.total", int64(len(rows)))

	for i, row := range rows {
		at := fmt.Sprintf("data.%d.", i)
		r.equal(at+"centTotal", cents(t, row["total"]))
		r.equal(at+"guestBalances.centTotal", cents(t, row["guestsDeparted"])+cents(t, row["guestsInHouse"])+cents(t, row["guestsUpcoming"])+
			cents(t, row["guestsCancelled"])+cents(t, row["guestsUnassigned"]))
		r.equal(at+"ownerBalances.centTotal", cents(t, row["ownerBalances"]))
		r.equal(at+"managerBalance.centTotal", cents(t, row["managerBalance"]))
		r.equal(at+"taxes.centTotal", cents(t, row["taxes"]))
	}
}

// An export of the manager's statements adds up to their figures; the first month has the entries booked before it.
func TestManagerStatementsAddUp(t *testing.T) {
	t.Parallel()
	g := newTroubledTeam(t)
	g.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, party, trigger_type, created_at)
		select @team, gen_random_uuid(), s.id, 'opening', v.ref, 'trust', 'active', '2025-12-20', v.account::uuid, v.cents, 'usd', v.party, 'openingBalance', now()
		from (select gen_random_uuid() as id) s, (values ('bank', @bank, 50000, null), ('manager', @opening, -50000, 'manager')) v (ref, account, cents, party)`,
		db.Args{"bank": g.Account("1000").String(), "opening": g.Account("2900").String()})

	r, rows := g.read(t, "/reports/manager-statements", world.Object{"year": 2026})
	r.equal("pagination.total", int64(len(rows)))

	for i, row := range rows {
		for _, column := range []string{"balanceStart", "netRevenue", "expenses", "netIncome", "adjustments", "transfers", "balanceEnd"} {
			r.equal(fmt.Sprintf("data.%d.financials.%s", i, column), cents(t, row[column]))
		}
	}

	for _, period := range []string{"2026-01", "2026-02"} {
		selector := world.Object{"startAt": period, "endAt": period}
		r, rows = g.read(t, "/reports/manager-statements/detail", selector)
		assets := rows.sum(t, "amount", "section", "assets-and-liabilities")
		r.equal("financials.availableBalance", rows.sum(t, "amount"))
		r.equal("financials.balanceEnd", rows.sum(t, "amount")-assets)

		for i, section := range []string{"net-revenue", "expenses", "adjustments", "transfers"} {
			r.equal(fmt.Sprintf("sections.%d.centTotal", i), rows.sum(t, "amount", "section", section))
		}

		entries := g.table(t, "/reports/manager-statements/detail/journal-entries/csv", selector)
		r.equal("financials.netRevenue", -entries.sum(t, "amount", "classification", "revenue"))
		r.equal("financials.expenses", -entries.sum(t, "amount", "classification", "expense"))

		if want := r.Int("financials.balanceEnd") - r.Int("financials.balanceStart"); -entries.sum(t, "amount") != want {
			t.Errorf("%s: the entries come to %d, the statement moves by %d", period, -entries.sum(t, "amount"), want)
		}
	}
}
