package day_test

import (
	"fmt"

	"stayledger/platform/day"
)

func Example() {
	quarter, err := day.ParseRange("2024-01-01...2024-03-31", true)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(quarter.Days(), quarter.To)
	fmt.Println(quarter.Months())
	fmt.Println(quarter.From.LastOfMonth().AddDays(1))
	// Output:
	// 91 2024-04-01
	// [2024-01 2024-02 2024-03]
	// 2024-02-01
}
