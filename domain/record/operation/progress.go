package operation

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Progress says how far an operation is, in whatever it counts: rows of a CSV, documents of a PDF or ZIP.
type Progress struct {
	OperationID id.ID        `json:"operationId"`
	Status      Status       `json:"status"`
	Done        int64        `json:"done"`
	Total       *int64       `json:"total" doc:"Null while nothing is known of it: before the work has begun, and for work that counts nothing."`
	UpdatedAt   *day.Instant `json:"updatedAt"`
}

// Advance saves how far an operation is. Call it from a short transaction of its own while the work goes on.
func Advance(ctx context.Context, tx *db.Tx, operation id.ID, done, total int64) error {
	_, err := tx.Exec(ctx, `
		insert into operation_progress (team_id, operation_id, done, total, updated_at) values (@team, @id, @done, @total, @now)
		on conflict (team_id, operation_id) do update set done = excluded.done, total = excluded.total, updated_at = excluded.updated_at`,
		db.Args{"team": tx.Team, "id": operation, "done": done, "total": max(done, total), "now": tx.Now})
	if err != nil {
		return fmt.Errorf("keep the progress of an operation: %w", err)
	}

	return nil
}

// getProgress returns how much of an operation is done. It fails with apierr.NotFound as the single read does.
func getProgress(ctx context.Context, tx *db.Tx, in *Ref) (*Progress, error) {
	found, err := Find(ctx, tx, in)
	if err != nil {
		return nil, err
	}

	type row struct {
		Done, Total int64
		UpdatedAt   day.Instant
	}

	out := &Progress{OperationID: found.ID, Status: found.Status}

	// Work that counts nothing has no row: the answer then has no numbers.
	r, err := db.Maybe[row](ctx, tx, `select done, total, updated_at from operation_progress where team_id = @team and operation_id = @id`,
		db.Args{"team": tx.Team, "id": found.ID})
	if err != nil {
		return nil, fmt.Errorf("read the progress of an operation: %w", err)
	}

	if r == nil {
		return out, nil
	}

	// The last steps are not always counted, so a completed operation has done all of its total.
	out.Done, out.Total, out.UpdatedAt = r.Done, &r.Total, &r.UpdatedAt
	if found.Status == Completed {
		out.Done = r.Total
	}

	return out, nil
}
