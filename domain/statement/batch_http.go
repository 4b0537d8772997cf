package statement

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	"stayledger/domain/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// maxBatchBody is what 20000 ids take, with room.
const maxBatchBody = 4 << 20

// BatchEndpoints change many statements as one operation.
func batchEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Queue(api.Endpoint{
			Method: http.MethodPost, Path: "/statements/batch", ID: "changeStatements", Tag: "Statements", Summary: "Change the status of many owner statements",
			Doc: "Starts an operation of type flow-run that saves, publishes, reopens or returns to draft the statements of a month, or those named, " +
				"each as updateStatement does. A statement that is refused does not keep the others back: the operation then ends as failed, and " +
				"GET /statements/batch/{id} tells which and why. A dry run does it all at once, answers 200 with that and keeps nothing. published " +
				"needs statements:publish as well. Failures in order: malformed input; 400 beforeStatementStartDate for a month before the team's " +
				"statements, a month to come, an unknown statement, nothing selected.",
			Scopes: []string{"statements:write"}, DryRun: true, Status: http.StatusAccepted, MaxBody: maxBatchBody, Timeout: 2 * time.Minute,
			Also: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[BatchOutcome](), http.StatusAccepted: reflect.TypeFor[operation.Acknowledgement]()},
		}, startBatch, runBatch),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/statements/batch/{id}", ID: "getStatementBatch", Tag: "Statements", Summary: "Read how a change of many owner statements goes",
			Doc:    "Takes the operationId. data holds the statements that were refused so far, each with the error that a single change would have had.",
			Scopes: []string{"statements:read"},
		}, getBatch),
	}
}

type batchInput struct{ Body Batch }

// BatchOutcome is how far a batch is and what it could not change.
type BatchOutcome struct {
	Status Status      `json:"status" doc:"The status that was asked for."`
	Counts BatchCounts `json:"counts"`
	page.Page[BatchIssue]
}

// batchAnswer is the acknowledgement or, in a dry run, the outcome.
type batchAnswer struct {
	started *operation.Acknowledgement
	outcome *BatchOutcome
}

// HTTPStatus is 200 in a dry run, which starts nothing.
func (a *batchAnswer) HTTPStatus() int {
	if a.outcome != nil {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// MarshalJSON gives the one of the two that the caller asked for.
func (a *batchAnswer) MarshalJSON() ([]byte, error) {
	if a.outcome != nil {
		return json.Marshal(a.outcome)
	}
	return json.Marshal(a.started)
}

func startBatch(ctx context.Context, tx *db.Tx, in *batchInput) (*batchAnswer, error) {
	b := &in.Body
	if err := mayPublishAtAll(tx, b.Status); err != nil {
		return nil, err
	}
	at, err := b.keys(ctx, tx)
	if err != nil {
		return nil, err
	}
	tasks := make([]operation.Task, batchParts)
	for part := range tasks {
		tasks[part] = operation.Task{Kind: batchTask, Args: batchArgs{Part: part}, Priority: 10}
	}
	started, err := operation.Start(ctx, tx, operation.New{Type: operation.FlowRun, Tasks: tasks})
	if err != nil {
		return nil, err
	}
	return &batchAnswer{started: started}, keepBatch(ctx, tx, started.OperationID, b, at)
}

// runBatch does the whole batch in the transaction of a dry run.
func runBatch(ctx context.Context, tx *db.Tx, _ *batchInput, a *batchAnswer) error {
	run := a.started.OperationID
	for part := range batchParts {
		for more := true; more; {
			var err error
			if more, err = batchStep(ctx, tx, run, part); err != nil {
				return err
			}
		}
	}
	var err error
	a.outcome, err = readBatch(ctx, tx, run, page.Params{Limit: 250})
	return err
}

// keys are the statements that a batch selects.
func (b *Batch) keys(ctx context.Context, tx *db.Tx) ([]key, error) {
	if len(b.StatementIDs) > 0 {
		return namedKeys(ctx, tx, b.StatementIDs)
	}
	if err := checkMonth(ctx, tx, *b.Month); err != nil {
		return nil, err
	}
	rows, err := selectRows(ctx, tx, &Filter{Month: b.Month, Currency: b.Currency, ListingIDs: b.ListingIDs, PeriodIDs: b.PeriodIDs, Sort: "startAt"})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, apierr.BadRequest.At(apierr.Issue{Message: "No statement is selected", Code: "nothingSelected", Path: []any{}, Schema: "body"})
	}
	at := make([]key, len(rows))
	for i := range rows {
		at[i] = rows[i].key()
	}
	return at, nil
}

// namedKeys finds the statements behind ids, each once.
func namedKeys(ctx context.Context, tx *db.Tx, ids []id.ID) ([]key, error) {
	at, err := resolve(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	rows, err := rowsAt(ctx, tx, at)
	if err != nil {
		return nil, err
	}
	known := make(map[id.ID]*row, len(rows))
	for i := range rows {
		known[rows[i].id()] = &rows[i]
	}
	at = at[:0]
	var issues []apierr.Issue
	for i, v := range ids {
		if r := known[v]; r != nil {
			at = append(at, r.key())
		} else {
			issues = append(issues, apierr.Issue{Message: "Statement is not known", Code: "notFound", Path: []any{"statementIds", i}, Schema: "body"})
		}
	}
	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues[:min(len(issues), 100)]...)
	}
	slices.SortFunc(at, func(a, b key) int {
		return cmp.Or(a.StartAt.Compare(b.StartAt), a.OwnershipPeriodID.Compare(b.OwnershipPeriodID), cmp.Compare(a.Currency, b.Currency))
	})
	return slices.Compact(at), nil
}

type batchGetInput struct {
	ID id.ID `path:"id"`
	page.Params
}

func getBatch(ctx context.Context, tx *db.Tx, in *batchGetInput) (*BatchOutcome, error) {
	return readBatch(ctx, tx, in.ID, in.Params)
}

func readBatch(ctx context.Context, tx *db.Tx, run id.ID, p page.Params) (*BatchOutcome, error) {
	b, err := batchOf(ctx, tx, run)
	if err != nil {
		return nil, err
	}
	counts, err := batchCounts(ctx, tx, run)
	if err != nil {
		return nil, err
	}
	refused, err := batchIssues(ctx, tx, run, p)
	if err != nil {
		return nil, err
	}
	return &BatchOutcome{Status: b.Status, Counts: counts, Page: *refused}, nil
}
