package money_test

import (
	"fmt"

	"stayledger/platform/money"
)

func Example() {
	fmt.Println(money.Nightly(3796, 5))
	fmt.Println(money.Split(10001, []int64{50000, 50000}))
	fmt.Println(money.Rate(7250).Of(10000))
	fmt.Println(money.Cents(-123450).Decimal("usd"), money.Cents(-123450).Decimal("jpy"))
	fmt.Println(money.Cents(-123450).Format("usd", "en"))
	// Output:
	// [759 759 760 759 759]
	// [5001 5000]
	// 725
	// -1234.50 -123450
	// -$1,234.50
}
