package books_test

import (
	"strings"
	"testing"
)

// figure is a row of a report with its columns.
type figure struct {
	ID     string
	Total  int64
	Values []struct {
		ID    string
		Total int64
	}
}

func (f *figure) at(column string) int64 {
	for _, v := range f.Values {
		if v.ID == column {
			return v.Total
		}
	}

	return 0
}

type section struct {
	figure
	Categories []struct{ Accounts []figure }
}

// compareStatements holds the profit and loss by month and the balance sheet at the end of each month against hledger.
func compareStatements(t *testing.T, x *team, file string) {
	t.Helper()
	compareProfit(t, x, file)

	for _, month := range demoMonths {
		compareSheet(t, x, file, month)
	}
}

func compareProfit(t *testing.T, x *team, file string) {
	t.Helper()

	var profit struct {
		NetIncome struct {
			figure
			Groups []section
		}
	}
	x.read("/reports/profit-and-loss?view=month&startDate="+demoMonths[0]+"&endDate="+demoMonths[len(demoMonths)-1], &profit)
	after := dayOf(t, demoMonths[len(demoMonths)-1]+"-01").LastOfMonth().AddDays(1).String()
	want := hledger(t, file, balanceArgs([]string{"^revenue:", "^expense:"}, "--monthly", "--begin", demoMonths[0], "--end", after)...)

	names := map[string]string{}
	for _, a := range x.accounts {
		names[a.ID.String()] = a.name()
	}

	seen := map[string]bool{}
	net, total := map[string]int64{}, int64(0)

	for _, months := range want {
		for month, cents := range months {
			net[month], total = net[month]-cents, total-cents
		}
	}

	for _, group := range profit.NetIncome.Groups {
		for _, category := range group.Categories {
			for i := range category.Accounts {
				a := &category.Accounts[i]
				name := names[a.ID]

				seen[name] = true
				for _, month := range demoMonths {
					cents := want[name][month]
					if strings.HasPrefix(name, "revenue:") {
						cents = -cents
					}

					if got := a.at(month); got != cents {
						t.Errorf("%s in %s: the profit and loss says %d, hledger %d", name, month, got, cents)
					}
				}
			}
		}
	}

	for name := range want {
		if !seen[name] {
			t.Errorf("the profit and loss has no %s", name)
		}
	}

	for _, month := range demoMonths {
		if got := profit.NetIncome.at(month); got != net[month] {
			t.Errorf("net income in %s: %d, hledger %d", month, got, net[month])
		}
	}

	if profit.NetIncome.Total != total || total == 0 {
		t.Errorf("net income: %d, hledger %d", profit.NetIncome.Total, total)
	}
}

func compareSheet(t *testing.T, x *team, file, month string) {
	t.Helper()

	var sheet struct {
		Assets, Liabilities section
		Balances            struct{ Rows []figure }
		Check               struct{ Total int64 }
	}
	x.read("/reports/balance-sheet?date="+month, &sheet)
	end := dayOf(t, month+"-01").LastOfMonth().AddDays(1).String()
	sum := func(query ...string) (cents int64) {
		for _, amounts := range hledger(t, file, balanceArgs(query, "--historical", "--end", end)...) {
			cents += only(amounts)
		}

		return cents
	}
	nobody := []string{"not:tag:party=owners", "not:tag:party=manager"}

	got := map[string]int64{"assets": sheet.Assets.Total, "liabilities": sheet.Liabilities.Total}
	for _, row := range sheet.Balances.Rows {
		got[row.ID] = row.Total
	}

	for name, want := range map[string]int64{
		"assets": sum(append(nobody, "^asset:")...), "liabilities": -sum(append(nobody, "^liability:")...),
		"owners": -sum("tag:party=owners"), "manager": -sum("tag:party=manager"),
	} {
		if got[name] != want || want == 0 {
			t.Errorf("%s by %s: the balance sheet says %d, hledger %d", name, month, got[name], want)
		}
	}

	if sheet.Check.Total != 0 {
		t.Errorf("the balance sheet of %s is off by %d", month, sheet.Check.Total)
	}
}
