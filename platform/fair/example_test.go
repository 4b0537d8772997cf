package fair_test

import (
	"context"
	"fmt"
	"time"

	"stayledger/platform/fair"
	"stayledger/platform/id"
)

func Example() {
	ctx := context.Background()
	busy, other := id.New(time.Now()), id.New(time.Now())

	places := fair.New(5, 100)
	for range 4 { // as many as a team alone gets; a fifth of it would wait
		if err := places.Take(ctx, busy); err != nil {
			fmt.Println(err)
		}
		defer places.Give(busy)
	}

	if err := places.Take(ctx, other); err == nil {
		defer places.Give(other)

		fmt.Println("the last place was kept for another team")
	}
	// Output: the last place was kept for another team
}
