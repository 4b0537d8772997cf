package rule

import (
	"context"
	"fmt"
	"net/http"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/bank"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// errRunning refuses to change or delete a rule while records are booked by it.
var errRunning = apierr.New(apierr.CodeLocked, "", "Bank rule is running")

// errIncomplete refuses to run a rule again, or to undo a run, while a run of the rule goes on (RSN-14).
var errIncomplete = apierr.New(
	apierr.CodeConflict,
	apierr.ReasonBankRuleRunIncomplete,
	"Bank rule run has not finished",
)

// runEndpoints returns the routes that run a rule, read a run and undo it.
func runEndpoints(tag string) []api.Endpoint {
	reads, writes := []string{"bank:read"}, []string{"bank:write", "transactions:write"}

	return []api.Endpoint{
		api.Queue(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/bank-rules/{id}/run",
			ID:      "runBankRule",
			Tag:     tag,
			Summary: "Run a bank rule",
			Errors:  apierr.List{errIncomplete},
			Scopes:  writes,
			DryRun:  true,
			Also:    operation.Answers[RunPreview](),
			Doc: "Starts an operation of type bank-rule-run that books the open records of bankRecordIds that the " +
				"rule takes, or all that it takes, and reconciles each with its transaction, whatever the rule's " +
				"mode and status. A refusal of one record keeps no other back. A record for which transactions " +
				"match, or that can be there twice, is left to a person. The rule cannot be changed until the run " +
				"has finished. A dry run answers 200 with what became of the first 250 records. Fails with 404, and " +
				"with 400 for unknown records.",
		}, startRun, runNow),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/bank-rules/{id}/runs/{operationId}",
			ID:      "listBankRuleRun",
			Tag:     tag,
			Summary: "Read what a run of a bank rule did",
			Scopes:  reads,
			Doc: "The records that the rule took, by id. Fails with 404 for an operation that is no run in " +
				"which the rule took part.",
		}, listRun),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/bank-rules/{id}/runs/{operationId}/undo",
			ID:      "undoBankRuleRun",
			Tag:     tag,
			Summary: "Undo a run of a bank rule",
			Errors:  apierr.List{errIncomplete},
			Scopes:  writes,
			Status:  http.StatusAccepted,
			Doc: "Starts an operation of type bank-rule-run that opens the records again that the rule booked in " +
				"the run, and deletes their transactions. A transaction that is locked or needed elsewhere stays " +
				"with its record, and the run names the reason.",
		}, startUndo),
	}
}

type runInput struct {
	ID   id.ID `path:"id"`
	Body struct {
		BankRecordIDs []id.ID `json:"bankRecordIds,omitempty" minItems:"1" maxItems:"1000" uniqueItems:"true" doc:"Absent: all open records."`
	} `required:"false"`
}

// RunPreview is the outcome of a dry run.
type RunPreview struct {
	Data []RunPreviewItem `json:"data" doc:"The records that the rule takes, at most 250."`
	Cut  bool             `json:"cut" doc:"Whether the rule takes more records."`
}

// RunPreviewItem is the outcome of a dry run for one record.
type RunPreviewItem struct {
	RunItem

	Transaction *transaction.Transaction `json:"transaction" doc:"As it would be booked; null when nothing would."`
}

// runAnswer is the acknowledgement of a run, or what a dry run of it would do (INIT-28, INIT-29).
type runAnswer struct {
	operation.Answer[RunPreview]

	taken []id.ID // the records of the run
}

// readTogether is how many open records are looked at together.
const readTogether = 5000

// loadTakenIDs returns the open records that a rule takes, among the given ones or, with nil, among all.
func loadTakenIDs(ctx context.Context, tx *db.Tx, rule id.ID, records []id.ID) ([]id.ID, error) {
	pass, err := loadDeciding(ctx, tx, &rule)
	if err != nil {
		return nil, err
	}

	taken := []id.ID{}

	take := func(open []bank.Open) {
		open, _ = pass.selectTaken(open, true)
		for i := range open {
			taken = append(taken, open[i].ID)
		}
	}
	if records != nil {
		open, err := bank.ListOpenByID(ctx, tx, records)
		take(open)

		return taken, err
	}

	last := id.Zero
	for {
		open, err := bank.ListOpenAfter(ctx, tx, last, readTogether)
		if err != nil {
			return nil, err
		}

		take(open)

		if len(open) < readTogether {
			return taken, nil
		}

		last = open[len(open)-1].ID
	}
}

// startRun starts the operation that books the records that a rule takes. It fails while an earlier run has not
// finished.
func startRun(ctx context.Context, tx *db.Tx, in *runInput) (*runAnswer, error) {
	if _, err := lockForChange(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	if err := checkFinished(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	// Name all unknown records.
	known, err := bank.ByID(ctx, tx, in.Body.BankRecordIDs)
	if err != nil {
		return nil, err
	}

	if err := checkIDs("bankRecordIds", in.Body.BankRecordIDs, func(v id.ID) apierr.IssueCode {
		if known[v] == nil {
			return apierr.IssueNotFound
		}

		return ""
	}); err != nil {
		return nil, err
	}

	taken, err := loadTakenIDs(ctx, tx, in.ID, in.Body.BankRecordIDs)
	if err != nil {
		return nil, err
	}

	// The operation divides the records among its tasks.
	target := operation.Resource{Type: operation.BankRule, ID: in.ID, Role: operation.Source}
	ack, err := operation.Start(ctx, tx, operation.New{
		Type: operation.BankRuleRun, Primary: &target, Resources: []operation.Resource{target},
		Tasks: newTasks(RunKind, taken, func(some []id.ID) any { return runArgs{RuleID: &in.ID, Records: some} }),
	})

	return &runAnswer{operation.Answer[RunPreview]{Started: ack}, taken}, err
}

// runNow is the dry run: it answers with what the first task of the operation would do (DRY-33).
func runNow(ctx context.Context, tx *db.Tx, in *runInput, out *runAnswer) error {
	first := out.taken[:min(len(out.taken), runTogether)]

	items, _, err := run(ctx, tx, runArgs{RuleID: &in.ID, Records: first})
	if err != nil {
		return err
	}

	preview := &RunPreview{Data: make([]RunPreviewItem, len(items)), Cut: len(first) < len(out.taken)}

	// Load everything that the new transactions show, for all at once.
	var booked []transaction.Transaction

	for i := range items {
		if items[i].Made != nil {
			booked = append(booked, *items[i].Made)
		}
	}

	if err := transaction.Show(ctx, tx, booked); err != nil {
		return err
	}

	for i := range items {
		// The booked transactions are in the order of the items.
		preview.Data[i].RunItem = items[i]
		if items[i].Made != nil {
			preview.Data[i].Transaction, booked = &booked[0], booked[1:]
		}
	}

	out.Preview(preview)

	return nil
}

// checkFinished fails with errIncomplete while a run of the rule that a person started has not finished, or its undo.
// The caller has locked the rule, so that no run begins meanwhile.
func checkFinished(ctx context.Context, tx *db.Tx, rule id.ID) error {
	return checkRuns(ctx, tx, rule, "o.resource_id = @rule", errIncomplete)
}

// checkIdle fails with errRunning while a rule takes part in a run, one over new records included. The rule is held, so
// no run of it begins meanwhile.
func checkIdle(ctx context.Context, tx *db.Tx, rule id.ID) error {
	return checkRuns(ctx, tx, rule, `exists (select from operation_resource x where x.team_id = o.team_id and x.operation_id = o.id
		and x.type = 'bank-rule' and x.resource_id = @rule)`, errRunning)
}

// checkRuns fails with a refusal that names the first unfinished run for which a condition holds.
func checkRuns(ctx context.Context, tx *db.Tx, rule id.ID, condition string, refusal *apierr.Error) error {
	goes, err := db.Maybe[id.ID](ctx, tx, `
		select o.id from operation o where o.team_id = @team and o.status in ('queued', 'running') and o.type = @type and `+condition+` order by o.id limit 1`,
		db.Args{"team": tx.Team, "type": string(operation.BankRuleRun), "rule": rule})
	if err != nil {
		return fmt.Errorf("find runs of a bank rule: %w", err)
	}

	if goes != nil {
		return refusal.With(map[string]any{"operationId": *goes})
	}

	return nil
}

type runPath struct {
	ID          id.ID `path:"id"`
	OperationID id.ID `path:"operationId"`
}

type listRunInput struct {
	page.Params
	runPath

	Outcome []RunOutcome `query:"outcome" doc:"Only records with one of these outcomes."`
}

// listRun returns a page of what a run did with each bank record.
func listRun(ctx context.Context, tx *db.Tx, in *listRunInput) (*page.Page[RunItem], error) {
	if err := checkTookPart(ctx, tx, &in.runPath); err != nil {
		return nil, err
	}

	q := page.Query{
		Columns: "i.bank_record_id, i.outcome, i.reason, i.transaction_id, i.version", From: "bank_rule_run_item i",
		Where: []string{"i.team_id = @team"}, Args: db.Args{"team": tx.Team}, ID: "i.bank_record_id",
		Sorts: page.Sorts{{Name: "bankRecordId", Expr: "i.bank_record_id"}}, Default: "bankRecordId",
	}
	q.And("i.operation_id = @run and i.bank_rule_id = @rule", db.Args{"run": in.OperationID, "rule": in.ID})
	q.Narrow("i.outcome = any(?)", in.Outcome)

	return page.List[RunItem](ctx, tx, q, in.Params, "")
}

// checkTookPart fails with apierr.NotFound unless the operation is a run that was started for the rule, or in which it
// took a record.
func checkTookPart(ctx context.Context, tx *db.Tx, run *runPath) error {
	found, err := db.Get[bool](ctx, tx, `
		select exists (select from operation o where o.team_id = @team and o.id = @run and o.type = @type and o.resource_id = @rule)
			or exists (select from bank_rule_run_item i where i.team_id = @team and i.bank_rule_id = @rule and i.operation_id = @run)`,
		db.Args{"team": tx.Team, "run": run.OperationID, "rule": run.ID, "type": string(operation.BankRuleRun)})
	if err == nil && !found {
		return apierr.NotFound
	}

	return err
}

// startUndo starts the operation that opens the records again that the rule booked in a run, and deletes their
// transactions.
func startUndo(ctx context.Context, tx *db.Tx, in *runPath) (*operation.Acknowledgement, error) {
	if _, err := lockForChange(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	if err := checkTookPart(ctx, tx, in); err != nil {
		return nil, err
	}

	if err := checkFinished(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	records, err := db.Select[id.ID](ctx, tx, `
		select bank_record_id from bank_rule_run_item where team_id = @team and bank_rule_id = @rule and operation_id = @run and outcome = 'applied'
		order by bank_record_id`, db.Args{"team": tx.Team, "rule": in.ID, "run": in.OperationID})
	if err != nil {
		return nil, fmt.Errorf("read what a run of bank rules did: %w", err)
	}

	target := operation.Resource{Type: operation.BankRule, ID: in.ID, Role: operation.Source}

	return operation.Start(ctx, tx, operation.New{
		Type: operation.BankRuleRun, Primary: &target, Resources: []operation.Resource{target},
		Tasks: newTasks(UndoKind, records, func(some []id.ID) any {
			return undoArgs{
				RunID:   in.OperationID,
				Records: some,
			}
		}),
	})
}
