package historic

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"stayledger/domain/books/account"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// maxBody is the greatest size of the body of an import.
const maxBody = api.MaxBatch

// failures describes the errors of both imports, in their order.
const failures = "`historicalImportPending` while a bulk import that is not finished has the reference or days of " +
	"the statement; an unknown listing; `ownershipPeriodMissing`; for payouts `ownershipMembersMissing` and " +
	"`requiredAccountMissing`; `statementLayoutMissing`; `duplicateUniqueRef` for the reference of a statement that " +
	"was not imported or belongs to another listing; `statementHasPayouts` when a replaced statement that payouts " +
	"are linked to would change its ownership period or currency or go back to review; `statementFutureExists` for " +
	"a new place before a live statement that is saved; `statementExists` for days that another statement of the " +
	"ownership period and currency has; unknown accounts, reservations and contacts, and payouts to a contact who " +
	"is no member of the ownership period (`notMember`). Closed books do not refuse it: no live books change. " +
	"Nothing is refused for balances that do not meet those of the neighbours or the lines; the statements show " +
	"such mismatches as issues."

// endpoints returns the imports of statements of an earlier system.
func endpoints() []api.Endpoint {
	// Both imports have the same rights, limits and errors.
	base := api.Endpoint{
		Method:  http.MethodPost,
		Tag:     "Statements",
		Scopes:  []string{"statements:import"},
		DryRun:  true,
		MaxBody: maxBody,
		Timeout: 2 * time.Minute,
	}
	base.Errors = apierr.List{
		statement.ErrImporting,
		account.ErrRequiredMissing,
		statement.ErrRef,
		statement.ErrPaid,
		statement.ErrFuture,
		statement.ErrExists,
	}

	// Importing one answers with the statement; importing many starts an operation.
	one, many := base, base
	one.Path = "/statements/historic"
	one.ID = "importStatement"
	one.Summary = "Import an owner statement of an earlier system"
	one.Status = http.StatusCreated
	one.Also = map[int]reflect.Type{http.StatusOK: reflect.TypeFor[Statement]()}
	one.Doc = "Sent again with the same uniqueRef it replaces the import, entries and all, and answers 200. Import " +
		"months oldest first. Failures in order: malformed input; " + failures
	many.Path = "/statements/historical"
	many.ID = "importStatements"
	many.Summary = "Import many owner statements of an earlier system"
	many.Status = http.StatusAccepted
	many.Also = operation.Answers[Preview]()
	many.Doc = "Checks all statements and starts an operation of type historical-statement-import that imports all " +
		"of them or none. A dry run answers 200 with what would be imported. Failures in order, with the path of " +
		"the statement: malformed input; " + failures

	return []api.Endpoint{
		api.Write(one, importOne),
		api.Queue(many, startImport, func(ctx context.Context, tx *db.Tx, _ *batchInput, a *operation.Answer[Preview]) error {
			statements, err := importStaged(ctx, tx, a.Started.OperationID)
			a.Preview(&Preview{statements})

			return err
		}),
	}
}

type oneInput struct{ Body Import }

// importOne imports one statement at once.
func importOne(ctx context.Context, tx *db.Tx, in *oneInput) (*Statement, error) {
	a := &arrival{Import: &in.Body, payouts: in.Body.hasPayouts()}

	// The steps are those of a bulk import without staging.
	s := &arrivals{all: []*arrival{a}}
	if err := s.checkNoImport(ctx, tx); err != nil {
		return nil, err
	}

	if err := s.findPlaces(ctx, tx); err != nil {
		return nil, err
	}

	if err := s.park(ctx, tx); err != nil {
		return nil, err
	}

	if err := s.savePlaced(ctx, tx, s.all); err != nil {
		return nil, err
	}

	out := a.render()

	return &out, nil
}

type batchInput struct{ Body Batch }

// Preview lists the statements that a bulk import would make.
type Preview struct {
	Data []Statement `json:"data"`
}

// startImport checks a bulk import as if it were done now, and starts the operation that does it (INIT-34, INIT-35).
func startImport(ctx context.Context, tx *db.Tx, in *batchInput) (*operation.Answer[Preview], error) {
	s := &arrivals{shared: true, all: make([]*arrival, len(in.Body.Statements))}
	for i := range in.Body.Statements {
		h := &in.Body.Statements[i]
		s.all[i] = &arrival{Import: h, path: []any{"statements", i}, payouts: h.hasPayouts()}
	}

	// The caller learns of mistakes at once and not from a failed operation.
	if err := s.checkNoImport(ctx, tx); err != nil {
		return nil, err
	}

	if err := s.findPlaces(ctx, tx); err != nil {
		return nil, err
	}

	if err := s.checkLines(ctx, tx); err != nil {
		return nil, err
	}

	// The task finds its statements by the operation.
	self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}

	ack, err := operation.Start(ctx, tx, operation.New{
		Type: operation.HistoricalStatements, Primary: &self, Resources: []operation.Resource{self},
		Tasks: []operation.Task{{Kind: task, Args: struct{}{}, Priority: 5}},
	})
	if err != nil {
		return nil, err
	}

	return &operation.Answer[Preview]{Started: ack}, s.insertStaged(ctx, tx, ack.OperationID)
}
