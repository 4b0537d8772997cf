package table_test

import (
	"strings"
	"testing"

	"stayledger/provider/table"
)

func TestBalancesDecide(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		rows   string // Amount, debit, credit and balance; rows are divided by bars.
		places int
		want   table.Proof
	}{
		{"no rows", "", 2, table.Proof{FirstBreak: -1}},
		{"one row", "5;;;5", 2, table.Proof{FirstBreak: -1}},
		{"one row that is no number", "x;;;x", 2, table.Proof{FirstBreak: -1}},
		{"oldest first", "5;;;5|7;;;12", 2, table.Proof{Proved: true, Decimal: '.'}},
		{"newest first", "7;;;12|5;;;5", 2, table.Proof{Proved: true, Decimal: '.', NewestFirst: true}},
		{"money out is positive", "5;;;-5|7;;;-12", 2, table.Proof{Proved: true, Decimal: '.', Negated: true}},
		{"both", "7;;;-12|5;;;-5", 2, table.Proof{Proved: true, Decimal: '.', NewestFirst: true, Negated: true}},
		{"equal amounts read in both orders", "5;;;5|5;;;10", 2, table.Proof{FirstBreak: -1}},
		{"no amounts read in every way", "0;;;5|;;;5", 2, table.Proof{FirstBreak: -1}},
		{"debit and credit", ";;5;5|;2;;3|;;4;7", 2, table.Proof{Proved: true, Decimal: '.'}},
		{"debit with its minus", ";;5;5|;-2;;3|;;4;7", 2, table.Proof{Proved: true, Decimal: '.'}},
		{"a decimal comma", "1,5;;;1,5|2,25;;;3,75", 2, table.Proof{Proved: true, Decimal: ','}},
		{"a comma by the balance only", "1.000;;;1.000,5|2.000;;;3.000,5", 2, table.Proof{Proved: true, Decimal: ','}},
		{"thousands or three places", "1.000;;;1.000|2.000;;;3.000", 3, table.Proof{FirstBreak: -1}},
		{"three places are too many", "1.255;;;1.255|2.250;;;3.505", 2, table.Proof{Proved: true, Decimal: ','}},
		{"three places of a dinar", "0.250;;;1.250|2.250;;;3.500", 3, table.Proof{Proved: true, Decimal: '.'}},
		{"no places of a yen", "1.50;;;1.50|2.25;;;3.75", 0, table.Proof{FirstBreak: 0}},
		{"a break", "5;;;5|7;;;12|1;;;14|1;;;15", 2, table.Proof{FirstBreak: 2, Expected: 1300, Stated: 1400}},
		{"a balance that is no number", "5;;;5|7;;;12|1;;;n/a", 2, table.Proof{FirstBreak: 2}},
		{"a blank balance is passed over", "9;;; |5;;;5|8;;;|7;;;12", 2, table.Proof{Proved: true, Decimal: '.'}},
		{"breaks count all rows", "9;;;|5;;;5|7;;;12|1;;;9", 2, table.Proof{FirstBreak: 3, Expected: 1300, Stated: 900}},
		{"an opening row without amount", ";;;50|5;;;55|7;;;62", 2, table.Proof{Proved: true, Decimal: '.'}},
		{"currencies and sides", "€5 CR;;;€5 CR|€7 DR;;;€2 DR", 2, table.Proof{Proved: true, Decimal: '.'}},
		{"beyond what can be added", "5;;;800000000000000|5;;;800000000000005", 2, table.Proof{FirstBreak: 0}},
	} {
		var b table.Balances

		for row := range strings.SplitSeq(test.rows, "|") {
			if cells := strings.Split(row, ";"); len(cells) == 4 {
				b.Add(cells[0], cells[1], cells[2], cells[3])
			}
		}

		if got := b.Decide(test.places); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
