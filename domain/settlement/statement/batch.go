package statement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Batch asks for a status for many statements. A statement that is locked, refused or already in the status is
// passed over; the others change.
type Batch struct {
	Status        Status     `json:"status" doc:"draft returns saved statements to draft."`
	StatementIDs  []id.ID    `json:"statementIds,omitempty" maxItems:"20000" doc:"Saved statements or drafts; instead of a month."`
	Month         *day.Month `json:"month,omitempty" doc:"YYYY-MM: all statements of the month, drafts included."`
	Currency      string     `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"With a month."`
	ListingIDs    []id.ID    `json:"listingIds,omitempty" maxItems:"20000" doc:"With a month."`
	PeriodIDs     []id.ID    `json:"listingPeriodIds,omitempty" maxItems:"20000" doc:"Ownership periods; with a month."`
	EmailDelivery bool       `json:"emailDelivery,omitempty" doc:"Informs the owners of the statements that become published."`
}

// Resolve reports an issue unless the batch names either a month or ids, not both.
func (b *Batch) Resolve() []apierr.Issue {
	switch {
	case b.Month == nil && len(b.StatementIDs) == 0:
		return []apierr.Issue{apierr.IssueRequired.InBody("month")}
	case len(b.StatementIDs) > 0 &&
		(b.Month != nil || b.Currency != "" || len(b.ListingIDs) > 0 || len(b.PeriodIDs) > 0):
		return []apierr.Issue{apierr.IssueContradiction.InBody("statementIds")}
	}

	return nil
}

// BatchCounts counts the statements of a batch by outcome.
type BatchCounts struct {
	Total     int `json:"total"`
	Waiting   int `json:"waiting"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged" doc:"They had the status already."`
	Refused   int `json:"refused"`
}

// Outcome says what happened to a statement of a batch.
type Outcome string

// The outcomes. Unchanged statements had the status already.
const (
	Waiting   Outcome = "waiting"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
	Refused   Outcome = "refused"
)

// Enum lists the outcomes.
func (Outcome) Enum() []string {
	return []string{string(Waiting), string(Changed), string(Unchanged), string(Refused)}
}

// BatchStatement is a statement of a batch.
type BatchStatement struct {
	StatementID id.ID   `json:"statementId"`
	PeriodID    id.ID   `json:"listingPeriodId"`
	StartAt     day.Day `json:"startAt"`
	Currency    string  `json:"currency"`
	Outcome     Outcome `json:"outcome"`
	BatchRefusal

	Issues []finding.Finding `json:"issues" doc:"Of changed statements: warnings of the change, emailMissing for each owner whom no e-mail could be sent to."`
}

// BatchRefusal is the error that a single change of a refused statement would have had; empty for all other
// statements.
type BatchRefusal struct {
	Code    apierr.Code   `json:"code,omitempty" doc:"Of refused statements: the error of a single change."`
	Reason  apierr.Reason `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Context any           `json:"context,omitempty"`
}

// batchTask is the kind of the jobs that work through the parts of a batch.
var batchTask = job.NewKind("statement-batch")

// batchParts is the number of parts of a batch that run at the same time. Each part has its own ownership periods.
const batchParts = 2

// batchChunk is how many statements one transaction changes: enough to write set-based, few enough that a
// transaction is short.
const batchChunk = 250

type batchArgs struct {
	Part int `json:"part"`
}

// handlers returns the handlers of the jobs of this package.
func handlers() map[job.Kind]job.Handler {
	h := operation.External(time.Hour, batchPart)
	return map[job.Kind]job.Handler{batchTask: h.InBulk()}
}

// errBatchRefused fails the operation of a batch if a statement was refused. The batch itself says which statement
// and why.
var errBatchRefused = errors.New("statements of the batch were refused")

// batchPart works through one part chunk by chunk. The outcome of a chunk is saved in the transaction that changes
// its statements, so if a worker dies, the next one repeats nothing. It fails with errBatchRefused if a statement
// of the part was refused.
func batchPart(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, args batchArgs) (db.Work, error) {
	// First change the statements, a transaction per chunk, so that locks are held for a short time only.
	for more := true; more; {
		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			more, err = batchStep(ctx, tx, run.OperationID, args.Part)
			return err
		})
		if err != nil {
			return nil, err
		}
	}

	// Then look at the saved outcomes: earlier runs of this job may have refused statements too.
	var refused bool

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		refused, err = loadBatchRefused(ctx, tx, run.OperationID, args.Part)
		return err
	})
	if err != nil {
		return nil, err
	}

	if refused {
		return nil, operation.FailAs(operation.OperationFailed, errBatchRefused)
	}

	return nil, nil //nolint:nilnil // nothing is left to write when the task settles
}

// batchStep changes the next statements of a part and reports whether there were any.
func batchStep(ctx context.Context, tx *db.Tx, run id.ID, part int) (more bool, err error) {
	b, err := loadBatch(ctx, tx, run)
	if err != nil {
		return false, err
	}

	// All of these statements are of one month.
	items, err := loadNextItems(ctx, tx, run, part)
	if err != nil || len(items) == 0 {
		return false, err
	}

	at := make([]key, len(items))

	periods := make([]id.ID, len(items))
	for i := range items {
		at[i], periods[i] = items[i].key, items[i].OwnershipPeriodID
	}

	// Lock first, then read: a status may change while we wait for the lock.
	if _, err := lockPeriods(ctx, tx, periods); err != nil {
		return false, err
	}

	rows, err := loadRows(ctx, tx, at)
	if err != nil {
		return false, err
	}

	// One refused statement does not stop the others.
	refused, err := changeAll(ctx, tx, rows, b)
	if err != nil {
		return false, err
	}

	// Owners without an address are a warning of the statements that become published.
	unmailed, err := loadUnmailed(ctx, tx, rowIDs(rows))
	if err != nil {
		return false, err
	}

	return true, updateItems(ctx, tx, run, items, outcomes(rows, b.Status, refused, unmailed))
}

// outcome says what happened to an item: its new state, the error that refused it, and warnings.
type outcome struct {
	Outcome Outcome           `json:"outcome"`
	Error   json.RawMessage   `json:"error,omitempty"`
	Issues  []finding.Finding `json:"issues"`
}

// outcomes returns the outcome of each row. Items without a row get theirs in updateItems: there is nothing left to
// change.
func outcomes(rows []row, to Status, refused map[id.ID]error, unmailed map[id.ID][]id.ID) map[key]outcome {
	out := make(map[key]outcome, len(rows))
	for i := range rows {
		r := &rows[i]
		o := outcome{Outcome: Changed}

		// A refusal comes first: a refused row that has the status already is still reported as refused.
		var refusal *apierr.Error
		switch {
		case errors.As(refused[r.id()], &refusal):
			o = outcome{Outcome: Refused, Error: encodeRefusal(refusal)}
		case r.Status == to:
			o.Outcome = Unchanged
		default:
			o.Issues = emailIssues(unmailed[r.id()])
		}

		out[r.key()] = o
	}

	return out
}

// encodeRefusal returns an error as JSON, in the form in which the API shows it. It panics if the error cannot be
// encoded.
func encodeRefusal(e *apierr.Error) json.RawMessage {
	answer := api.Refusal(0, nil, e)

	// Encode it now: the error is stored with the item and shown later, when the Go value is gone.
	kept, err := json.Marshal(BatchRefusal{
		Code:    answer.Code,
		Reason:  answer.Reason,
		Message: answer.Message,
		Context: answer.Context,
	})
	if err != nil {
		panic(fmt.Sprintf("an error that is no JSON: %v", err))
	}

	return kept
}

// changeAll moves statements to the status of the batch and returns the errors of those that a rule refuses. The
// caller holds the locks of their ownership periods.
func changeAll(ctx context.Context, tx *db.Tx, rows []row, b *storedBatch) (map[id.ID]error, error) {
	refused, err := refusals(ctx, tx, rows, b.Status)
	if err != nil {
		return nil, err
	}

	// The checks look at all rows; only those that none refuses are changed.
	allowed := make([]row, 0, len(rows))
	for i := range rows {
		if refused[rows[i].id()] == nil {
			allowed = append(allowed, rows[i])
		}
	}

	return refused, apply(ctx, tx, allowed, intent{to: b.Status, email: b.EmailDelivery})
}
