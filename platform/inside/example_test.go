package inside_test

import (
	"context"
	"fmt"

	"stayledger/platform/inside"
)

func Example() {
	ctx := inside.Transaction(context.Background())

	fmt.Println(inside.Check(ctx))
	// Output:
	// a call to the outside inside a transaction
}
