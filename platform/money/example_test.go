package money_test

import (
	"fmt"

	"stayledger/platform/money"
)

func Example() {
	fmt.Println(money.Nightly(3796, 5))
	fmt.Println(money.Split(10001, []int64{50000, 50000}))
	fmt.Println(money.Rate(7250).Of(10000))
	fmt.Println(money.Cents(-123450).Format("usd", "en"))
	// Output:
	// [7.59 7.59 7.60 7.59 7.59]
	// [50.01 50.00]
	// 7.25
	// -$1,234.50
}
