package fold_test

import (
	"fmt"

	"stayledger/platform/fold"
)

// A package that keeps sums declares them once, gives the periodic task to the service, and reads a view of the sums
// and the notes together.
func Example() {
	sums := fold.Sums{Notes: "ledger_delta", Function: "ledger_fold"}
	task := sums.Every()
	fmt.Println(task.Name, "every", task.Interval)
	// Output: ledger_fold every 1s
}
