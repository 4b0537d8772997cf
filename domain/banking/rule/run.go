package rule

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// The kinds of tasks: of a run, and of undoing one.
var (
	RunKind  = job.NewKind("bank-rule.run")
	UndoKind = job.NewKind("bank-rule.undo")
)

// runTogether is how many records a task of a run books; it bounds its memory and for how long it holds the gate.
const runTogether = 250

// RunOutcome is the outcome of a run for one record.
type RunOutcome string

// The outcomes.
const (
	Applied RunOutcome = "applied"
	Failed  RunOutcome = "failed"
	Skipped RunOutcome = "skipped"
	Undone  RunOutcome = "undone"
)

// Enum lists the outcomes.
func (RunOutcome) Enum() []string {
	return []string{string(Applied), string(Failed), string(Skipped), string(Undone)}
}

// RunItem is the outcome of a run, or of a dry run, for one record.
type RunItem struct {
	BankRecordID  id.ID      `json:"bankRecordId"`
	Outcome       RunOutcome `json:"outcome" doc:"applied: a transaction was booked and reconciled; failed: nothing was, for the reason; skipped: left to a person (transactionMatches, openDuplicate); undone: taken back."`
	Reason        *string    `json:"reason" doc:"Why nothing was booked, or why it could not be undone; null when there is no reason."`
	TransactionID *id.ID     `json:"transactionId" doc:"Null when there is none."`
	Version       int        `json:"version" doc:"The version of the rule that decided."`

	// Made is the transaction of a booking, as it was made.
	Made *transaction.Transaction `json:"-" db:"-"`
}

// runArgs are the records of a task. The rule is that of a person's run; without one, all active rules decide.
type runArgs struct {
	RuleID  *id.ID  `json:"ruleId,omitempty"`
	Records []id.ID `json:"records"`
}

// loadDeciding loads the rules of a run: the one that a person runs, whatever its mode and status, or with nil all
// active ones. Rules that only suggest take part too: an auto rule must not take what a rule before it leaves to a
// person.
func loadDeciding(ctx context.Context, tx *db.Tx, rule *id.ID) (*Pass, error) {
	condition, args := "r.status = 'active'", db.Args{}
	if rule != nil {
		condition, args = "r.id = @rule", db.Args{"rule": *rule}
	}

	stored, err := loadRules(ctx, tx, condition, args)
	if err != nil {
		return nil, err
	}

	// A person may run an inactive rule.
	usable := selectSound(stored)
	for i := range usable {
		usable[i].Status = Active
	}

	engine, err := Compile(usable)
	if err != nil {
		return nil, err
	}

	return engine.Pass(), nil
}

// hasAuto reports whether a rule acts by itself.
func (e *Engine) hasAuto() bool {
	return slices.ContainsFunc(e.rules, func(c compiled) bool { return c.Mode == Auto })
}

// selectTaken returns those of some open records that the rules of a run may book: the ones of any rule in a person's
// run, else those that an auto rule takes.
func (p *Pass) selectTaken(open []bank.Open, byPerson bool) (taken []bank.Open, rules map[id.ID]bool) {
	rules = map[id.ID]bool{}

	for i := range open {
		r := newRecord(&open[i])
		if c := p.first(&r); c != nil && (byPerson || c.Mode == Auto) {
			taken = append(taken, open[i])
			rules[c.ID] = true
		}
	}

	return taken, rules
}

// booking is a record that a rule takes, with the transaction that it makes.
type booking struct {
	record id.ID
	rule   *Rule
	create transaction.Create
}

// run books the records that rules take and reconciles them. If one is refused, each is tried by itself, and the
// refused ones are returned with their reason. Records that no rule takes, or that are not open any more, are left
// out.
func run(ctx context.Context, tx *db.Tx, args runArgs) ([]RunItem, []*Rule, error) {
	pass, err := loadDeciding(ctx, tx, args.RuleID)
	if err != nil {
		return nil, nil, err
	}

	open, err := bank.ListOpenByID(ctx, tx, args.Records)
	if err != nil {
		return nil, nil, err
	}

	open, _ = pass.selectTaken(open, args.RuleID != nil)

	records, err := loadTaken(ctx, tx, open)
	if err != nil {
		return nil, nil, err
	}

	// First decide about each record by itself.
	items, rules := []RunItem{}, []*Rule{}

	var bookings []booking

	for i := range records {
		d := pass.Decide(&records[i])
		if d.Transaction != nil {
			bookings = append(bookings, booking{records[i].ID, d.Rule, *d.Transaction})
			continue
		}

		item := RunItem{
			BankRecordID: records[i].ID,
			Outcome:      Failed,
			Reason:       new(string(d.Reason)),
			Version:      d.Rule.Version,
		}
		if d.Reason.leavesToPerson() {
			item.Outcome = Skipped
		}

		items, rules = append(items, item), append(rules, d.Rule)
	}

	// Then book them together, or one by one if one is refused.
	var made []RunItem

	err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		made, err = bookAll(ctx, tx, bookings)
		return err
	})
	if apierr.IsRefusal(err) {
		made, err = bookEach(ctx, tx, bookings)
	}

	for i := range bookings {
		rules = append(rules, bookings[i].rule)
	}

	return append(items, made...), rules, err
}

// bookAll adds the transactions of bookings and reconciles their records: all of them or, with the first refusal,
// none.
func bookAll(ctx context.Context, tx *db.Tx, bookings []booking) ([]RunItem, error) {
	if len(bookings) == 0 {
		return nil, nil
	}

	creates := make([]transaction.Create, len(bookings))
	for i := range bookings {
		creates[i] = bookings[i].create
	}

	made, err := transaction.AddAll(ctx, tx, creates, ledger.Lenience{})
	if err != nil {
		return nil, err
	}

	// Each record is matched with the whole of its transaction.
	items, matches := make([]RunItem, len(bookings)), make([]bank.Match, len(bookings))
	for i := range bookings {
		items[i] = RunItem{
			BankRecordID:  bookings[i].record,
			Outcome:       Applied,
			TransactionID: &made[i].ID,
			Version:       bookings[i].rule.Version,
			Made:          &made[i],
		}
		matches[i] = bank.Match{
			RecordID: bookings[i].record,
			Parts:    []bank.Portion{{TransactionID: made[i].ID}},
			RuleID:   &bookings[i].rule.ID,
		}
	}

	refusals, err := bank.Reconcile(ctx, tx, matches)
	if err == nil && len(refusals) > 0 {
		return nil, refusals[0].Err
	}

	return items, err
}

// bookEach books one by one and returns refused bookings as failed items.
func bookEach(ctx context.Context, tx *db.Tx, bookings []booking) ([]RunItem, error) {
	items := make([]RunItem, len(bookings))
	for i := range bookings {
		err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
			made, err := bookAll(ctx, tx, bookings[i:i+1])
			if err == nil {
				items[i] = made[0]
			}

			return err
		})
		if err != nil && !apierr.IsRefusal(err) {
			return nil, err
		}

		if err != nil {
			items[i] = RunItem{
				BankRecordID: bookings[i].record,
				Outcome:      Failed,
				Reason:       new(refusalReason(err)),
				Version:      bookings[i].rule.Version,
			}
		}
	}

	return items, nil
}

// refusalReason returns the reason of a refusal, else the code of its first issue, else its own code.
func refusalReason(err error) string {
	e := apierr.From(err)
	if e.Reason() != "" {
		return string(e.Reason())
	}

	if issues := e.Issues(); len(issues) > 0 {
		return string(issues[0].Code)
	}

	return string(e.Code())
}

// namedResults is up to how many transactions a task names as results of its operation.
const namedResults = 25

// runTask runs rules over its part of the records and saves what became of each.
func runTask(ctx context.Context, tx *db.Tx, r operation.Run, args runArgs) error {
	items, rules, err := run(ctx, tx, args)
	if err != nil {
		return err
	}

	if err := insertItems(ctx, tx, r.OperationID, items, rules); err != nil {
		return err
	}

	// Operations name some of the transactions; the items have all.
	named := 0
	for i := range items {
		if items[i].TransactionID == nil || named == namedResults {
			continue
		}

		named++

		if err := operation.AddResult(ctx, tx, r.OperationID, operation.Resource{
			Type: operation.Transaction,
			ID:   *items[i].TransactionID,
			Role: operation.Result,
		}); err != nil {
			return err
		}
	}

	return nil
}

// itemTable has the columns of the outcome of a record in a run.
var itemTable = db.NewTable[itemRow]("bank_rule_run_item", `
	operation_id uuid key, bank_record_id uuid key, bank_rule_id uuid fixed, version bigint fixed, outcome text, reason text, transaction_id uuid,
	created_at now fixed`)

// itemRow is the outcome of a record with its run and the rule that decided.
type itemRow struct {
	RunItem
	OperationID id.ID
	BankRuleID  id.ID
}

// insertItems inserts the outcomes of a run.
func insertItems(ctx context.Context, tx *db.Tx, run id.ID, items []RunItem, rules []*Rule) error {
	if len(items) == 0 {
		return nil
	}

	rows := make([]*itemRow, len(items))
	for i := range items {
		rows[i] = &itemRow{RunItem: items[i], OperationID: run, BankRuleID: rules[i].ID}
		rows[i].Version = rules[i].Version
	}

	err := tx.Pipeline(ctx, itemTable.Insert(tx, rows...))
	if err != nil {
		return fmt.Errorf("keep what a run of bank rules did: %w", err)
	}

	return nil
}

// newTasks divides records among tasks of a kind. Without records there is one task, because an operation needs one.
func newTasks(kind job.Kind, records []id.ID, args func([]id.ID) any) []operation.Task {
	tasks := []operation.Task{}
	for some := range slices.Chunk(records, runTogether) {
		tasks = append(tasks, operation.Task{Kind: kind, Args: args(some), Priority: 1})
	}

	if len(tasks) == 0 {
		tasks = append(tasks, operation.Task{Kind: kind, Args: args([]id.ID{}), Priority: 1})
	}

	return tasks
}

// scopeToBook is the scope that callers need for everything that makes a rule book transactions.
const scopeToBook = "transactions:write"

// needScopeToBook fails with apierr.MissingScope if the caller may not write transactions. Work of the service
// itself may.
func needScopeToBook(tx *db.Tx) error {
	if tx.Actor.Kind == db.System || tx.Actor.Has(scopeToBook) {
		return nil
	}

	return apierr.MissingScope.With(map[string]any{"requiredScopes": []string{scopeToBook}})
}

// Offer starts a run of the active rules over records that are new to an account, if a rule of mode auto takes one
// of them. It fails with apierr.MissingScope if the caller may not write transactions.
func Offer(ctx context.Context, tx *db.Tx, records []id.ID) error {
	return offer(ctx, tx, records, needScopeToBook)
}

// offerFed offers records that a bank feed reads. They come from the bank itself, so the caller who asked for
// the reading needs no scope for what the rules of the team do with it.
func offerFed(ctx context.Context, tx *db.Tx, records []id.ID) error {
	return offer(ctx, tx, records, func(*db.Tx) error { return nil })
}

// offer starts a run of the active rules over records of which a rule of mode auto takes one, if allowed accepts the
// caller.
func offer(ctx context.Context, tx *db.Tx, records []id.ID, allowed func(*db.Tx) error) error {
	if len(records) == 0 {
		return nil
	}

	pass, err := loadDeciding(ctx, tx, nil)
	if err != nil || !pass.hasAuto() {
		return err
	}

	open, err := bank.ListOpenByID(ctx, tx, records)
	if err != nil {
		return err
	}

	taken, rules := pass.selectTaken(open, false)
	if len(taken) == 0 {
		return nil
	}

	if err := allowed(tx); err != nil {
		return err
	}

	// Lock the rules, so that none changes between this decision and the run, which records the version.
	takers := id.Distinct(slices.Collect(maps.Keys(rules)))
	if _, err := tx.Exec(ctx, `select from bank_rule where team_id = @team and id = any(@ids) order by id for share`,
		db.Args{"team": tx.Team, "ids": takers}); err != nil {
		return fmt.Errorf("hold bank rules: %w", err)
	}

	// The operation names all rules that take a record; its tasks divide the records.
	ids, resources := make([]id.ID, len(taken)), make([]operation.Resource, len(takers))
	for i := range taken {
		ids[i] = taken[i].ID
	}

	for i, v := range takers {
		resources[i] = operation.Resource{Type: operation.BankRule, ID: v, Role: operation.Source}
	}

	_, err = operation.Start(ctx, tx, operation.New{
		Type: operation.BankRuleRun, Resources: resources,
		Tasks: newTasks(RunKind, ids, func(some []id.ID) any { return runArgs{Records: some} }),
	})

	return err
}

// Apply books the records that active rules of mode auto take, at once instead of in an operation as Offer does. It is
// for records that the service makes itself; whoever calls it may write transactions.
func Apply(ctx context.Context, tx *db.Tx, records []id.ID) error {
	for some := range slices.Chunk(records, runTogether) {
		if _, _, err := run(ctx, tx, runArgs{Records: some}); err != nil {
			return err
		}
	}

	return nil
}

type undoArgs struct {
	RunID   id.ID   `json:"runId"`
	Records []id.ID `json:"records"`
}

// undoTask takes back what a run made of records: they are open again, and its transactions are gone. What cannot be
// taken back stays, with the reason.
func undoTask(ctx context.Context, tx *db.Tx, _ operation.Run, args undoArgs) error {
	items, err := lockItems(ctx, tx, args.RunID, args.Records)
	if err != nil {
		return err
	}

	err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return undoItems(ctx, tx, items) })
	if apierr.IsRefusal(err) {
		err = undoEach(ctx, tx, items)
	}

	if err != nil {
		return err
	}

	return updateItems(ctx, tx, args.RunID, items)
}

// undoItems opens the records of items again and deletes their transactions, all or none.
func undoItems(ctx context.Context, tx *db.Tx, items []RunItem) error {
	records, transactions := make([]id.ID, len(items)), make([]id.ID, len(items))
	for i := range items {
		records[i], transactions[i] = items[i].BankRecordID, *items[i].TransactionID
	}

	if _, err := bank.Free(ctx, tx, records, transactions); err != nil {
		return err
	}

	if err := transaction.DeleteAll(ctx, tx, transactions, ledger.Lenience{}); err != nil {
		return err
	}

	for i := range items {
		items[i].Outcome, items[i].Reason, items[i].TransactionID = Undone, nil, nil
	}

	return nil
}

// undoEach takes items back one by one; what cannot be taken back keeps its transaction, with the reason.
func undoEach(ctx context.Context, tx *db.Tx, items []RunItem) error {
	for i := range items {
		err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return undoItems(ctx, tx, items[i:i+1]) })
		switch {
		case err == nil:
		case apierr.IsRefusal(err):
			items[i].Reason = new(refusalReason(err))
		default:
			return err
		}
	}

	return nil
}

// lockItems locks and returns what a run booked for records.
func lockItems(ctx context.Context, tx *db.Tx, run id.ID, records []id.ID) ([]RunItem, error) {
	found, err := db.Select[RunItem](ctx, tx, `
		select bank_record_id, outcome, reason, transaction_id, version from bank_rule_run_item
		where team_id = @team and operation_id = @run and bank_record_id = any(@records) and outcome = 'applied' order by transaction_id for update`,
		db.Args{"team": tx.Team, "run": run, "records": records})
	if err != nil {
		return nil, fmt.Errorf("read what a run of bank rules did: %w", err)
	}

	return found, nil
}

// updateItems saves the new outcomes of items after an undo.
func updateItems(ctx context.Context, tx *db.Tx, run id.ID, items []RunItem) error {
	rows := make([]*itemRow, len(items))
	for i := range items {
		rows[i] = &itemRow{RunItem: items[i], OperationID: run}
	}

	err := tx.Pipeline(ctx, itemTable.Update(tx, rows...))
	if err != nil {
		return fmt.Errorf("keep what was undone of a run of bank rules: %w", err)
	}

	return nil
}
