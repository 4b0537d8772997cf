package exports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/money"
	"stayledger/test/world"
)

// trustFigures adds up the figures of a trust reconciliation as JSON has them, by the leg and the row of the CSV and by
// what tells rows apart.
func trustFigures(r reading) map[string]int64 {
	out := map[string]int64{}
	add := func(cents int64, names ...string) {
		if cents != 0 {
			out[strings.Join(names, " ")] += cents
		}
	}

	for i := range r.Len("bank.accounts") {
		at := fmt.Sprintf("bank.accounts.%d.", i)
		for _, row := range []string{"statementBalance", "depositsInTransit", "outstandingPayments", "atBankNotInBooks", "inTransitAtOpening"} {
			add(r.Int(at+row), "bank", row, r.String(at+"account.id"))
		}
	}

	for i := range r.Len("book.accounts") {
		at := fmt.Sprintf("book.accounts.%d.", i)
		add(r.Int(at+"centTotal"), "book bookBalance", r.String(at+"account.id"))
	}

	// The liabilities: guests by status, claims by account, owners by listing, the manager, and what others hold.
	for _, status := range []string{"departed", "inHouse", "upcoming", "cancelled"} {
		at := "liabilities.guestBalances." + status + "."
		add(r.Int(at+"deposits.centTotal"), "liabilities guestDeposits", status)
		add(r.Int(at+"receivables.centTotal"), "liabilities guestReceivables", status)
	}

	add(r.Int("liabilities.guestBalances.unassigned.centTotal"), "liabilities guestMoneyUnassigned unassigned")

	rows := []string{"liabilities.fundsHeldElsewhere."}
	for i := range r.Len("liabilities.rows") {
		rows = append(rows, fmt.Sprintf("liabilities.rows.%d.", i))
	}

	for _, at := range rows {
		for n := range r.Len(at + "accounts") {
			account := fmt.Sprintf("%saccounts.%d.", at, n)
			add(r.Int(account+"centTotal"), "liabilities", r.String(at+"claim"), r.String(account+"account.id"))
		}
	}

	for i := range r.Len("liabilities.ownerBalances.listings") {
		at := fmt.Sprintf("liabilities.ownerBalances.listings.%d.", i)
		add(r.Int(at+"centTotal"), "liabilities ownerBalances", r.String(at+"id"))
	}

	add(r.Int("liabilities.managerBalance.centTotal"), "liabilities managerBalance")
	add(r.Int("difference.bankToBook"), "difference bankToBook")
	add(r.Int("difference.bookToLiabilities"), "difference bookToLiabilities")

	for i := range r.Len("warnings") {
		at := fmt.Sprintf("warnings.%d.", i)
		add(r.Int(at+"total"), "warnings", r.String(at+"code"))
	}

	return out
}

// csvFigures adds up the rows of the CSV in the same way.
func csvFigures(t *testing.T, rows table) map[string]int64 {
	t.Helper()

	out := map[string]int64{}

	for _, row := range rows {
		name := row["leg"] + " " + row["row"]

		switch {
		case row["leg"] == "warnings" || row["leg"] == "difference":
		case row["row"] == "ownerBalances":
			name += " " + row["listingId"]
		case row["accountId"] != "":
			name += " " + row["accountId"]
		case row["status"] != "":
			name += " " + row["status"]
		}

		out[name] += cents(t, row["amount"])
		if out[name] == 0 {
			delete(out, name)
		}
	}

	return out
}

// Each figure of the trust reconciliation is the same in JSON and CSV, with its sign, and is in the PDF.
func TestTheTrustReconciliationIsTheSameInEveryFormat(t *testing.T) {
	t.Parallel()
	g := newTroubledTeam(t)

	// The bank pays a bill of 10.00 in February that is booked in March.
	bill := g.Expense(g.villa, "2026-03-02", 1000)
	record := g.Post("/bank-records/batch", world.Object{"data": world.Array{world.Object{
		"accountId": g.Account("1000"), "date": "2026-02-27", "amount": -1000, "description": "BILL",
	}}}).Want(201).String("data.0.id")
	g.Post("/bank-records/"+record+"/reconcile", world.Object{"transactions": world.Array{world.Object{"id": bill}}}).Want(200)

	selector := world.Object{"date": "2026-02-28"}
	r, rows := g.read(t, "/reports/trust-reconciliation", selector)
	r.equal("bank.atBankNotInBooks", 1000)

	want, got := trustFigures(r), csvFigures(t, rows)
	for name, figure := range want {
		if got[name] != figure {
			t.Errorf("%s is %d in JSON and %d in the CSV", name, figure, got[name])
		}
	}

	for name := range got {
		if _, known := want[name]; !known {
			t.Errorf("%s is %d in the CSV and nowhere in JSON", name, got[name])
		}
	}

	// The items of warnings have their amount and day in the CSV, too.
	for i := range r.Len("warnings") {
		at := fmt.Sprintf("warnings.%d.", i)

		for n := range r.Len(at + "items") {
			item := fmt.Sprintf("%sitems.%d.", at, n)

			since := ""
			if r.Value(item+"since") != nil {
				since = r.String(item + "since")
			}

			if !slices.ContainsFunc(rows, func(row map[string]string) bool {
				return row["row"] == r.String(at+"code") && cents(t, row["amount"]) == r.Int(item+"centTotal") && row["since"] == since
			}) {
				t.Errorf("no row of %s is %d since %q", r.String(at+"code"), r.Int(item+"centTotal"), since)
			}
		}
	}

	// A PDF groups the figures in other tables: each amount is there with its sign.
	text := strings.ReplaceAll(string(pdfText(t, g.fetch(t, g.Get("/reports/trust-reconciliation/pdf"+query(selector)).Want(200).String("url")))), "−", "-")
	text = strings.ReplaceAll(text, ",", "")

	for name, figure := range want {
		if !strings.Contains(text, money.Cents(figure).Decimal("usd")) {
			t.Errorf("%s is %s in JSON and not in the PDF", name, money.Cents(figure).Decimal("usd"))
		}
	}
}
