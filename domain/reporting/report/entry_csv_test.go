package report_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
)

// An index has the entries in their order, and only what the columns need is read besides them.
func TestJournalEntriesAreNotSorted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 1_000)

	for _, test := range []struct {
		columns, sort string
		joined        []string
	}{
		{"", "", []string{"contact", "reservation"}},
		{"txnAt,amount,currency", "", nil},
		{"listing,account,contact", "-txnAt", []string{"contact"}},
		{"guestName", "txnAt", []string{"reservation"}},
	} {
		plan := w.plan(t, test.columns, test.sort)
		if strings.Contains(plan, "Sort") || !strings.Contains(plan, "using ledger_entry_report on ledger_entry e") {
			t.Errorf("%s: entries are sorted:\n%s", test.columns, plan)
		}

		for _, table := range []string{"contact", "account", "reservation", "listing", "fee"} {
			if strings.Contains(plan, " on "+table+" ") != slices.Contains(test.joined, table) {
				t.Errorf("%s: %s is joined or is not:\n%s", test.columns, table, plan)
			}
		}
	}
}

func (w *world) plan(t *testing.T, columns, sort string) string {
	t.Helper()

	var lines []string

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		s, inOrder := report.EntryStatement(tx.Team, columns, sort)
		if inOrder {
			if err := tx.KeepIndexOrder(ctx); err != nil {
				return err
			}
		}

		var err error

		lines, err = db.Select[string](ctx, tx, "explain "+s.SQL, s.Args)

		return err
	})

	return strings.Join(lines, "\n")
}
