package statement

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// maxBatchBody is enough for 20000 ids.
const maxBatchBody = api.MaxBatch

// batchEndpoints returns the endpoints that change many statements as one operation.
func batchEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Queue(api.Endpoint{
			Method:     http.MethodPost,
			Path:       "/statements/batch",
			ID:         "changeStatements",
			NeedsBooks: true,
			Tag:        "Statements",
			Summary:    "Change the status of many owner statements",
			Errors: apierr.List{
				errBefore, ErrFuture, team.ErrNotDerived, errOpen, ErrPaid, ErrImporting, errIssues,
			},
			Doc: "Begins to save, publish, reopen or return to draft the statements of a month, or those named, " +
				"each as updateStatement does. The answer names them; GET /statements/batch/{id} shows how far they " +
				"are. A statement that is refused does not keep the others back: the batch then ends as failed. A " +
				"dry run does it all at once, answers 200 with the outcome and keeps nothing. published needs " +
				"statements:publish as well. 400 also for a month to come, an unknown statement, nothing " +
				"selected.",
			Scopes:  []string{"statements:write"},
			DryRun:  true,
			Status:  http.StatusAccepted,
			MaxBody: maxBatchBody,
			Timeout: 2 * time.Minute,
			Also: map[int]reflect.Type{
				http.StatusOK:       reflect.TypeFor[BatchOutcome](),
				http.StatusAccepted: reflect.TypeFor[BatchOutcome](),
			},
		}, startBatch, runBatch),
		api.Read(api.Endpoint{
			Method:     http.MethodGet,
			Path:       "/statements/batch/{id}",
			ID:         "getStatementBatch",
			NeedsBooks: true,
			Tag:        "Statements",
			Summary:    "Read how a change of many owner statements goes",
			Doc: "data holds the statements in the order of their change, with outcome=refused those that were " +
				"refused so far, each with the error that a single change would have had.",
			Scopes: []string{"statements:read"},
		}, getBatch),
	}
}

type batchInput struct{ Body Batch }

// BatchOutcome says how far a batch is and what happened to its statements.
type BatchOutcome struct {
	ID     id.ID            `json:"id"`
	Status Status           `json:"status" doc:"The status that was asked for."`
	State  operation.Status `json:"state" doc:"How the work is: completed when no statement was refused, else failed."`
	Counts BatchCounts      `json:"counts"`
	page.Page[BatchStatement]

	begun bool
}

// HTTPStatus returns 202 for a batch that has begun, and 200 for reading a batch and for a dry run, which begins
// nothing.
func (o *BatchOutcome) HTTPStatus() int {
	if o.begun {
		return http.StatusAccepted
	}

	return http.StatusOK
}

// startBatch saves the batch with its statements and starts the operation that works on it. The answer is the batch
// as it waits.
func startBatch(ctx context.Context, tx *db.Tx, in *batchInput) (*BatchOutcome, error) {
	b := &in.Body
	if err := checkPublishScope(tx, b.Status); err != nil {
		return nil, err
	}

	// Find all statements now: a batch that names an unknown one fails as a whole, before it begins.
	at, err := b.keys(ctx, tx)
	if err != nil {
		return nil, err
	}

	// A task for each part: parts run at the same time, since their ownership periods differ.
	tasks := make([]operation.Task, batchParts)
	for part := range tasks {
		tasks[part] = operation.Task{Kind: batchTask, Args: batchArgs{Part: part}, Priority: 10}
	}

	// The contract has no operation type for this work, so callers read the batch and not an operation (OPS-32).
	started, err := operation.Start(ctx, tx, operation.New{Tasks: tasks})
	if err != nil {
		return nil, err
	}

	if err := insertBatch(ctx, tx, started.OperationID, b, at); err != nil {
		return nil, err
	}

	out, err := readBatch(ctx, tx, started.OperationID, nil, firstPage)
	if err != nil {
		return nil, err
	}

	out.begun = true

	return out, nil
}

// firstPage is the page of statements that the answer of a new batch shows.
var firstPage = page.Params{Limit: 250}

// runBatch does the whole batch in the transaction of a dry run.
func runBatch(ctx context.Context, tx *db.Tx, _ *batchInput, out *BatchOutcome) error {
	run := out.ID

	// The parts run one after another here: a dry run has only one transaction.
	for part := range batchParts {
		for more := true; more; {
			var err error
			if more, err = batchStep(ctx, tx, run, part); err != nil {
				return err
			}
		}
	}

	// Answer with the outcomes, since there is no operation that the caller could wait for.
	result, err := readBatch(ctx, tx, run, nil, firstPage)
	if err == nil {
		*out = *result
	}

	return err
}

// keys returns the statements that the batch selects. It fails with apierr.BadRequest if there are none, or if an
// id is unknown, and as checkMonth does for a month.
func (b *Batch) keys(ctx context.Context, tx *db.Tx) ([]key, error) {
	if len(b.StatementIDs) > 0 {
		return findKeys(ctx, tx, b.StatementIDs)
	}

	if err := checkMonth(ctx, tx, *b.Month); err != nil {
		return nil, err
	}

	// Drafts are part of the month, so the selection is made as the list of statements makes it.
	rows, err := selectRows(ctx, tx, &Filter{
		Month:      b.Month,
		Currency:   b.Currency,
		ListingIDs: page.Only(b.ListingIDs...),
		PeriodIDs:  page.Only(b.PeriodIDs...),
		Sort:       "startAt",
	})
	if err != nil {
		return nil, err
	}

	if len(rows) == 0 {
		return nil, apierr.BadRequest.At(apierr.IssueSelectionEmpty.InBody())
	}

	// Only the keys are saved: the statements are read again when their turn comes.
	at := make([]key, len(rows))
	for i := range rows {
		at[i] = rows[i].key()
	}

	return at, nil
}

// findKeys returns the statements that the ids name, each once, by month. It fails with an issue for each id that
// names none, up to 100.
func findKeys(ctx context.Context, tx *db.Tx, ids []id.ID) ([]key, error) {
	at, err := resolve(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	// resolve may return candidates that the actor cannot see; loadRows applies the rules of visibility.
	rows, err := loadRows(ctx, tx, at)
	if err != nil {
		return nil, err
	}

	byID := make(map[id.ID]*row, len(rows))
	for i := range rows {
		byID[rows[i].id()] = &rows[i]
	}

	// Report unknown ids at their place in the request.
	at = at[:0]

	var issues []apierr.Issue

	for i, v := range ids {
		if r := byID[v]; r != nil {
			at = append(at, r.key())
		} else {
			issues = append(issues, apierr.IssueNotFound.InBody("statementIds", i))
		}
	}

	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues[:min(len(issues), 100)]...)
	}

	// A saved id and the id of its draft may name the same statement: sort, then drop duplicates.
	slices.SortFunc(at, func(a, b key) int {
		return cmp.Or(
			a.StartAt.Compare(b.StartAt),
			a.OwnershipPeriodID.Compare(b.OwnershipPeriodID),
			cmp.Compare(a.Currency, b.Currency),
		)
	})

	return slices.Compact(at), nil
}

type batchGetInput struct {
	ID      id.ID     `path:"id"`
	Outcome []Outcome `query:"outcome" doc:"Statements with one of these; all of them when absent."`
	page.Params
}

func getBatch(ctx context.Context, tx *db.Tx, in *batchGetInput) (*BatchOutcome, error) {
	return readBatch(ctx, tx, in.ID, in.Outcome, in.Params)
}

// readBatch returns a batch with its counts and a page of its statements, those with one of the outcomes if any are
// given.
func readBatch(ctx context.Context, tx *db.Tx, run id.ID, with []Outcome, p page.Params) (*BatchOutcome, error) {
	b, err := loadBatch(ctx, tx, run)
	if err != nil {
		return nil, err
	}

	// The counts are of the whole batch, whatever the page shows.
	counts, err := loadBatchCounts(ctx, tx, run)
	if err != nil {
		return nil, err
	}

	statements, err := loadBatchPage(ctx, tx, run, with, p)
	if err != nil {
		return nil, err
	}

	return &BatchOutcome{
		ID:     run,
		Status: b.Status,
		State:  counts.state(b.State),
		Counts: counts,
		Page:   *statements,
	}, nil
}

// state returns the state of the operation behind the batch. In the transaction that starts it there is no
// operation yet; then it is derived from the statements.
func (c BatchCounts) state(stored operation.Status) operation.Status {
	switch {
	case stored != "":
		return stored
	case c.Waiting > 0:
		return operation.Queued
	case c.Refused > 0:
		return operation.Failed
	}

	return operation.Completed
}
