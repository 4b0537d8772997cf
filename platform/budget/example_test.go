package budget_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/budget"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

// call calls a host unless it takes no calls of the team now.
func call(ctx context.Context, d *db.DB, lines *budget.Budgets, team id.ID) error {
	limit := outbound.Limit{Calls: 15, Within: 10 * time.Second}

	err := lines.Take(ctx, d, team, "api.example.com", limit)
	if limited, is := errors.AsType[*outbound.LimitedError](err); is {
		fmt.Println("come back at", limited.Until)
	}

	return err
}

func Example() {
	_ = call
}
