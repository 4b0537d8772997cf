package reservation

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
)

// RefreshRequest selects the journals to derive.
type RefreshRequest struct {
	ledger.RefreshRequest
	Mode Mode `json:"mode,omitempty" doc:"What is replaced: full (default) all; recurringFeesOnly charges of recurring fees; arOnly revenue and financial adjustments; decoupledAdjustmentsOnly adjustments."`
}

type refreshInput struct {
	Body RefreshRequest `required:"false"`
}

// refresh derives the journals of the selected reservations anew, in the request or as an operation.
func refresh(ctx context.Context, tx *db.Tx, in *refreshInput) (*operation.Answer[ledger.RefreshDone], error) {
	return Source().Answer(ctx, tx, in.Body.RefreshRequest, string(in.Body.Mode))
}
