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

// Batch asks for a status for many statements. What is locked, refused or already so is passed over statement by
// statement: the others change.
type Batch struct {
	Status        Status     `json:"status" doc:"draft returns saved statements to draft."`
	StatementIDs  []id.ID    `json:"statementIds,omitempty" maxItems:"20000" doc:"Saved statements or drafts; instead of a month."`
	Month         *day.Month `json:"month,omitempty" doc:"YYYY-MM: all statements of the month, drafts included."`
	Currency      string     `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"With a month."`
	ListingIDs    []id.ID    `json:"listingIds,omitempty" maxItems:"20000" doc:"With a month."`
	PeriodIDs     []id.ID    `json:"listingPeriodIds,omitempty" maxItems:"20000" doc:"Ownership periods; with a month."`
	EmailDelivery bool       `json:"emailDelivery,omitempty" doc:"Tells the owners of the statements that become published."`
}

// Resolve asks for a month or for ids, not both.
func (b *Batch) Resolve() []apierr.Issue {
	switch {
	case b.Month == nil && len(b.StatementIDs) == 0:
		return []apierr.Issue{apierr.IssueRequired.InBody("month")}
	case len(b.StatementIDs) > 0 && (b.Month != nil || b.Currency != "" || len(b.ListingIDs) > 0 || len(b.PeriodIDs) > 0):
		return []apierr.Issue{apierr.IssueContradiction.InBody("statementIds")}
	}

	return nil
}

// BatchCounts say how far a batch is.
type BatchCounts struct {
	Total     int `json:"total"`
	Waiting   int `json:"waiting"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged" doc:"They had the status already."`
	Refused   int `json:"refused"`
}

// Outcome is what became of a statement of a batch.
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

// BatchRefusal is what a single change of a refused statement would have failed with; empty of all others.
type BatchRefusal struct {
	Code    apierr.Code   `json:"code,omitempty" doc:"Of refused statements: the error of a single change."`
	Reason  apierr.Reason `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Context any           `json:"context,omitempty"`
}

// batchTask is the kind of the jobs that work through the parts of a batch.
var batchTask = job.NewKind("statement-batch")

// batchParts is how many parts of a batch run side by side; each holds other ownership periods.
const batchParts = 2

// batchChunk is how many statements one transaction changes: enough to write set-based, few enough that a transaction
// is short.
const batchChunk = 250

type batchArgs struct {
	Part int `json:"part"`
}

// handlers are the jobs of the package.
func handlers() map[job.Kind]job.Handler {
	h := operation.External(time.Hour, batchPart)
	return map[job.Kind]job.Handler{batchTask: h.InBulk()}
}

// errBatchRefused fails the operation of a batch in which a statement was refused; which and why, the batch tells.
var errBatchRefused = errors.New("statements of the batch were refused")

// batchPart works through one part chunk by chunk. What a chunk came to is kept with it, so a worker that dies repeats
// nothing.
func batchPart(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, args batchArgs) (db.Work, error) {
	for more := true; more; {
		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			more, err = batchStep(ctx, tx, run.OperationID, args.Part)
			return err
		})
		if err != nil {
			return nil, err
		}
	}

	var refused bool

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		refused, err = batchRefused(ctx, tx, run.OperationID, args.Part)
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

// batchStep changes the next statements of a part; it reports whether there were any.
func batchStep(ctx context.Context, tx *db.Tx, run id.ID, part int) (more bool, err error) {
	b, err := batchOf(ctx, tx, run)
	if err != nil {
		return false, err
	}

	items, err := nextItems(ctx, tx, run, part)
	if err != nil || len(items) == 0 {
		return false, err
	}

	at := make([]key, len(items))

	periods := make([]id.ID, len(items))
	for i := range items {
		at[i], periods[i] = items[i].key, items[i].OwnershipPeriodID
	}

	if _, err := lockPeriods(ctx, tx, periods); err != nil {
		return false, err
	}

	rows, err := rowsAt(ctx, tx, at)
	if err != nil {
		return false, err
	}

	refused, err := changeAll(ctx, tx, rows, b)
	if err != nil {
		return false, err
	}

	unmailed, err := loadUnmailed(ctx, tx, idsOf(rows))
	if err != nil {
		return false, err
	}

	return true, settleItems(ctx, tx, run, items, outcomes(rows, b.Status, refused, unmailed))
}

// outcome is what became of an item.
type outcome struct {
	Outcome Outcome           `json:"outcome"`
	Error   json.RawMessage   `json:"error,omitempty"`
	Issues  []finding.Finding `json:"issues"`
}

// outcomes are told by statement. One that is not there any more has nothing to change.
func outcomes(rows []row, to Status, refused map[id.ID]error, unmailed map[id.ID][]id.ID) map[key]outcome {
	out := make(map[key]outcome, len(rows))
	for i := range rows {
		r := &rows[i]
		o := outcome{Outcome: Changed}

		var refusal *apierr.Error
		switch {
		case errors.As(refused[r.id()], &refusal):
			o = outcome{Outcome: Refused, Error: refusalOf(refusal)}
		case r.Status == to:
			o.Outcome = Unchanged
		default:
			o.Issues = emailIssues(unmailed[r.id()])
		}

		out[r.key()] = o
	}

	return out
}

// refusalOf keeps an error as a batch tells it.
func refusalOf(e *apierr.Error) json.RawMessage {
	told := api.Refusal(0, nil, e)

	kept, err := json.Marshal(BatchRefusal{Code: told.Code, Reason: told.Reason, Message: told.Message, Context: told.Context})
	if err != nil {
		panic(fmt.Sprintf("an error that is no JSON: %v", err))
	}

	return kept
}

// changeAll moves statements to a status and gives those that were refused. The caller holds their ownership periods.
func changeAll(ctx context.Context, tx *db.Tx, rows []row, b *storedBatch) (map[id.ID]error, error) {
	refused, err := refusals(ctx, tx, rows, b.Status)
	if err != nil {
		return nil, err
	}

	allowed := make([]row, 0, len(rows))
	for i := range rows {
		if refused[rows[i].id()] == nil {
			allowed = append(allowed, rows[i])
		}
	}

	return refused, apply(ctx, tx, allowed, intent{to: b.Status, email: b.EmailDelivery})
}
