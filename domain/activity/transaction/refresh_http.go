package transaction

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
)

// RefreshRequest selects the journals to derive. The journal of a transaction is derived as a whole, so the mode
// makes no difference.
type RefreshRequest struct {
	ledger.RefreshRequest
	Mode string `json:"mode,omitempty" enum:"full,recurringFeesOnly,arOnly"`
}

type refreshInput struct {
	Body RefreshRequest `required:"false"`
}

// refreshJournals derives the journals of the selected transactions anew, in the request or as an operation.
func refreshJournals(ctx context.Context, tx *db.Tx, in *refreshInput) (*operation.Answer[ledger.RefreshDone], error) {
	return Source().Answer(ctx, tx, in.Body.RefreshRequest, in.Body.Mode)
}
