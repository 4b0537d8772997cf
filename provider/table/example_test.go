package table_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stayledger/provider/table"
)

// All cells of a column decide how it is written, before the first one is read.
func Example() {
	const file = "Datum;Text;Betrag\n01.11.2026;Miete;1.234\n28.11.2026;Strom;-99,10\nSumme;;1.134,90\n"

	var (
		dates   table.Dates
		numbers table.Numbers
		rows    []table.Row
	)

	reader, err := table.Open(strings.NewReader(file), int64(len(file)), table.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()

	for {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			fmt.Println(err)
			return
		}

		rows = append(rows, table.Row{Line: row.Line, Cells: slices.Clone(row.Cells)})
	}

	header := table.FindHeader(rows, func(folded []string) bool { return slices.Contains(folded, "betrag") })
	rows = slices.DeleteFunc(rows[header+1:], func(r table.Row) bool { return table.IsTotal(&r) })

	for _, row := range rows {
		dates.Add(row.Cells[0])
		numbers.Add(row.Cells[2])
	}

	order, _ := dates.Decide()
	decimal, _ := numbers.Decide()

	for _, row := range rows {
		date, _ := order.Parse(row.Cells[0])
		cents, _ := decimal.Parse(row.Cells[2], 2)
		fmt.Println(row.Line, date, cents)
	}
	// Output:
	// 2 2026-11-01 123400
	// 3 2026-11-28 -9910
}
