package table_test

import (
	"strings"
	"testing"

	"stayledger/provider/table"
)

func TestDatesDecide(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, column string
		want         table.Order
		decided      bool
	}{
		{"no dates", "|n/a|12.50", "ymd", true},
		{"ISO dates", "2026-11-28|2026-01-02", "ymd", true},
		{"names of months", "28-Nov-2026|Nov 2, 2026", "ymd", true},
		{"day first", "01/02/2026|28/02/2026", "dmy", true},
		{"month first", "01/02/2026|02/28/2026", "mdy", true},
		{"both ways", "01/02/2026", "dmy", false},
		{"points read both ways too", "01.02.2026", "dmy", false},
		{"two digits of a year read both ways", "1/2'26|01-02-26", "dmy", false},
		{"equal parts only", "03/03/2026|4.4.26", "dmy", true},
		{"equal parts next to others", "03/03/2026|01/02/2026", "dmy", false},
		{"some of each", "28/02/2026|02/28/2026", "dmy", false},
		{"an impossible day shows the order", "31.02.2026|01.02.2026", "dmy", true},
		{"ISO dates among others", "2026-11-28|28.11.2026", "dmy", true},
		{"a footer", "Total|28.11.2026", "dmy", true},
	} {
		var d table.Dates
		for cell := range strings.SplitSeq(test.column, "|") {
			d.Add(cell)
		}

		if got, ok := d.Decide(); got != test.want || ok != test.decided {
			t.Errorf("%s: %s, %v", test.name, got, ok)
		}
	}
}

func TestParseDate(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		text  string
		order table.Order
		want  string // Empty: no date.
	}{
		{"2026-11-28", "dmy", "2026-11-28"},
		{"2026-11-28T23:59:59-05:00", "ymd", "2026-11-28"},
		{"2026-11-28 07:30", "mdy", "2026-11-28"},
		{"2026-11-28T23:59:59.123Z", "ymd", "2026-11-28"},
		{"2026/11/28", "ymd", "2026-11-28"},
		{"2026.1.2", "ymd", "2026-01-02"},
		{"20261128", "dmy", "2026-11-28"},
		{"20261128 12:00", "dmy", "2026-11-28"},
		{"28.11.2026", "dmy", "2026-11-28"},
		{"28.11.26", "dmy", "2026-11-28"},
		{"28/11/2026 14:05:06", "dmy", "2026-11-28"},
		{"11/28/2026 2:05 PM", "mdy", "2026-11-28"},
		{"11/28/2026, 2:05:06 p.m.", "mdy", "2026-11-28"},
		{"1/2/2026", "mdy", "2026-01-02"},
		{"1/2/2026", "dmy", "2026-02-01"},
		{"1/2'26", "mdy", "2026-01-02"},
		{"1/ 2'26", "mdy", "2026-01-02"},
		{"28-11-2026", "dmy", "2026-11-28"},
		{"28-Nov-2026", "ymd", "2026-11-28"},
		{"28-NOV-26", "mdy", "2026-11-28"},
		{"28Nov2026", "ymd", "2026-11-28"},
		{"Nov 28, 2026", "ymd", "2026-11-28"},
		{"November 28th, 2026", "ymd", "2026-11-28"},
		{"28 November 2026", "ymd", "2026-11-28"},
		{"28. November 2026", "ymd", "2026-11-28"},
		{"1. März 2026", "ymd", "2026-03-01"},
		{"28. Dez. 2026", "ymd", "2026-12-28"},
		{"28 novembre 2026", "ymd", "2026-11-28"},
		{"1er août 2026", "ymd", "2026-08-01"},
		{"28 févr. 2026", "ymd", "2026-02-28"},
		{"28 de noviembre de 2026", "ymd", "2026-11-28"},
		{"5 ene 2026", "ymd", "2026-01-05"},
		{"28 de março de 2026", "ymd", "2026-03-28"},
		{"28 set 2026", "ymd", "2026-09-28"},
		{"28 maggio 2026", "ymd", "2026-05-28"},
		{"28 dic 2026", "ymd", "2026-12-28"},
		{"2026-Nov-28", "ymd", "2026-11-28"},
		{" 28.11.2026\u00a0", "dmy", "2026-11-28"},
		{"01.01.70", "dmy", "1970-01-01"},
		{"01.01.69", "dmy", "2069-01-01"},
		{"29.02.2028", "dmy", "2028-02-29"},
		{"1.1.1900", "dmy", "1900-01-01"},
		{"31.12.2200", "dmy", "2200-12-31"},

		{"", "dmy", ""},
		{"n/a", "dmy", ""},
		{"29.02.2026", "dmy", ""},
		{"2026-02-29", "ymd", ""},
		{"2026-13-01", "ymd", ""},
		{"20261301", "ymd", ""},
		{"11/28/2026", "dmy", ""},
		{"28/11/2026", "mdy", ""},
		{"28/11/2026", "ymd", ""},
		{"0/1/2026", "mdy", ""},
		{"31.12.1899", "dmy", ""},
		{"1.1.2201", "dmy", ""},
		{"28.11", "dmy", ""},
		{"28.11-2026", "dmy", ""},
		{"28 11 2026", "dmy", ""},
		{"28.11.6", "dmy", ""},
		{"28.11.026", "dmy", ""},
		{"28.11.2026.1", "dmy", ""},
		{"28.11.2026 EUR", "dmy", ""},
		{"Nov 2026", "ymd", ""},
		{"28 Brumaire 2026", "ymd", ""},
		{"12.50", "dmy", ""},
		{"-28.11.2026", "dmy", ""},
		{"28//11/2026", "dmy", ""},
		{"281126", "dmy", ""},
	} {
		got, err := test.order.Parse(test.text)
		if test.want == "" {
			if err == nil {
				t.Errorf("%q as %s is %s", test.text, test.order, got)
			}

			continue
		}

		if err != nil || got.String() != test.want {
			t.Errorf("%q as %s: %s, %v", test.text, test.order, got, err)
		}
	}
}

func TestDatesAddAllocatesNothing(t *testing.T) { //nolint:paralleltest // Allocations of other tests would count.
	var d table.Dates

	if allocations := testing.AllocsPerRun(100, func() {
		d.Add("2026-11-28")
		d.Add("28.11.2026")
		d.Add("1/2'26")
	}); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// A column of one date is decided only if it is the same day in both orders, or no day in one of them.
func FuzzDate(f *testing.F) {
	for _, text := range []string{"2026-11-28T00:00:00", "28.11.26", "1/2'26", "Nov 28, 2026", "1er août 2026", "20261128"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		var d table.Dates
		d.Add(text)

		order, decided := d.Decide()
		byDay, dayErr := table.Order("dmy").Parse(text)
		byMonth, monthErr := table.Order("mdy").Parse(text)

		if decided && dayErr == nil && monthErr == nil && byDay != byMonth {
			t.Errorf("%q is %s or %s, but %s was decided", text, byDay, byMonth, order)
		}

		got, err := order.Parse(text)
		if err != nil && (dayErr == nil || monthErr == nil) {
			t.Errorf("%q does not read as %s, which was decided", text, order)
		}

		if err != nil {
			return
		}

		if again, err := order.Parse(got.String()); err != nil || again != got {
			t.Errorf("%q is %s, which reads as %s, %v", text, got, again, err)
		}
	})
}

func BenchmarkDatesAdd(b *testing.B) {
	cells := []string{"2026-11-28", "28.11.2026", "2026-01-02", "11/28/2026"}

	var d table.Dates

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		d.Add(cells[i%len(cells)])
	}
}
