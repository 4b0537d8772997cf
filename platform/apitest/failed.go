package apitest

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// shown says for each type of operation where a person sees what to mend after it has failed without a code of its own:
// a condition in SQL on the operation o, which must hold when the failure is found. Operations without a type go by the
// kind of their task. The page docs/decisions/operation.md says the same in words. Any other operation may only fail for
// a fault that a test expects (ExpectInternal).
var shown = map[string]string{
	// The contact may have been deleted meanwhile.
	"ach-verification": `exists (select from payee_method m where m.team_id = o.team_id and m.contact_id = o.resource_id
			and (m.fault is not null or m.status in ('rejected', 'archived')))
		or not exists (select from contact c where c.team_id = o.team_id and c.id = o.resource_id)`,
	"bank-rule-run": `exists (select from bank_rule_run_item i where i.team_id = o.team_id and i.operation_id = o.id
		and i.outcome = 'failed' and i.reason is not null)`,
	"bankfeed-initial-sync": connectionShown,
	// Blocks that a system did not take are sent again without a request.
	"calendar.push":      `exists (select from calendar_block b where b.team_id = o.team_id and b.error is not null)`,
	"calendar-block":     blockShown,
	"calendar-unblock":   blockShown,
	"connection-connect": connectionShown,
	"connection-extract": syncShown,
	"connection-sync":    syncShown,
	"csv-import":         canceled,
	"csv-import-preview": canceled,
	"flow-run": `exists (select from sync s join operation_resource r on r.team_id = o.team_id and r.operation_id = o.id
			and r.type = 'connection' and r.resource_id in (select u.connection_id from sync_source u where u.team_id = s.team_id and u.id = s.source_id)
			where s.team_id = o.team_id and s.error is not null)
		or exists (select from calendar_block b where b.team_id = o.team_id and b.error is not null)`,
	"listing-journal-refresh":     journalShown,
	"reservation-journal-refresh": journalShown,
	"transaction-journal-refresh": journalShown,
	"provider-payment": `exists (select from payment p join payment_batch b on b.team_id = p.team_id and b.id = p.batch_id and b.operation_id = o.id
			where p.team_id = o.team_id and (p.status in ('failed', 'canceled', 'returned') or p.issues <> '[]' or p.unknown_since is not null))
		or exists (select from connection c where c.team_id = o.team_id and c.status <> 'active' and c.id in (` + resources + ` and r.type = 'connection'))`,
	// The payment went on meanwhile, or says why the provider did not take it back.
	"provider-payment-recovery": `exists (select from payment p where p.team_id = o.team_id and p.transaction_id = o.resource_id
		and (p.status in ('paid', 'failed', 'canceled', 'returned') or p.issues @> '[{"code": "notTakenBack"}]'))`,
	"recurring-transaction-run": `exists (select from transaction_template t where t.team_id = o.team_id and t.id = o.resource_id
		and (t.status <> 'active' or t.held_back <> '[]'))`,
	"statement-payout":         payoutShown,
	"statement-payout-preview": payoutShown,
	"statement-batch": `exists (select from statement_batch_item i where i.team_id = o.team_id and i.operation_id = o.id
		and i.outcome = 'refused' and i.error is not null)`,
	"webhook-test": `exists (select from webhook_delivery d where d.team_id = o.team_id and d.webhook_id = o.resource_id and d.failure is not null)`,
}

// Conditions that several types share, on the operation o.
const (
	resources = `select r.resource_id from operation_resource r where r.team_id = o.team_id and r.operation_id = o.id`

	connectionShown = `exists (select from connection c where c.team_id = o.team_id and c.id in (` + resources + ` and r.type = 'connection')
		and (c.fault is not null or c.status = 'archived'))`
	blockShown = `exists (select from calendar_block b where b.team_id = o.team_id and b.error is not null and b.listing_id in (` + resources + ` and r.type = 'listing'))`
	syncShown  = canceled + ` or exists (select from sync s where s.team_id = o.team_id and s.operation_id = o.id and s.error is not null)`

	// Only a cancellation ends an operation without a failure.
	canceled = `o.failure_code is null`

	journalShown = `exists (select from ledger_stale s where s.team_id = o.team_id and s.status = 'failed')
		or exists (select from ledger_held h where h.team_id = o.team_id)`
	payoutShown = `exists (select from payout_result r where r.team_id = o.team_id and r.operation_id = o.id and r.status = 'failed' and r.cause <> '')`
)

// failures are the failed operations of the teams of a test, and what the log of its workers says of them.
type failures struct {
	mu sync.Mutex
	// given are the operations with a task that was given up, with the kind of the task.
	given map[id.ID]string
	// seen are the operations that were looked at.
	seen map[id.ID]bool
	// expected are the types of operations that may fail for a fault of the service, with the fault. Those that did are met.
	expected map[string]string
	met      map[string]bool
	// crowded says that what an operation failed for may be mended before it is looked at.
	crowded bool
}

func newFailures() *failures {
	return &failures{given: map[id.ID]string{}, seen: map[id.ID]bool{}, expected: map[string]string{}, met: map[string]bool{}}
}

// failureLog passes the log of a worker on, and notes the operations with a task that was given up.
type failureLog struct {
	slog.Handler

	noted *failures
}

// Handle notes the operation of a record that says for good that a job failed.
func (l failureLog) Handle(ctx context.Context, r slog.Record) error {
	attributes := map[string]slog.Value{}

	r.Attrs(func(a slog.Attr) bool {
		attributes[a.Key] = a.Value
		return true
	})

	if r.Message == "job failed" && attributes["final"].Equal(slog.BoolValue(true)) {
		if operation, ok := attributes["operation"].Any().(id.ID); ok {
			l.noted.mu.Lock()
			l.noted.given[operation] = attributes["kind"].String()
			l.noted.mu.Unlock()
		}
	}

	return l.Handler.Handle(ctx, r) //nolint:wrapcheck // A handler passes on what the next one says.
}

// ExpectInternal announces that operations of a type, or without a type those of a kind of task, fail from now on for a
// fault that the test injects. A person can mend nothing then, and the log has to name them. The test fails if none does.
func (x *Team) ExpectInternal(kind, fault string) {
	x.failures.mu.Lock()
	defer x.failures.mu.Unlock()

	x.failures.expected[kind] = fault
}

// Crowd announces that several people change the team while its workers run. What an operation failed for may be mended
// before the test looks at it, so it is enough that the log names the operation.
func (x *Team) Crowd() {
	x.failures.mu.Lock()
	defer x.failures.mu.Unlock()

	x.failures.crowded = true
}

// checkExpected fails the test for each fault that was expected and did not happen.
func (x *Team) checkExpected() {
	if x.t.Failed() {
		return
	}

	for _, kind := range slices.Sorted(maps.Keys(x.failures.expected)) {
		if !x.failures.met[kind] {
			x.t.Errorf("no operation %s failed because %s", kind, x.failures.expected[kind])
		}
	}
}

// checkFailed looks at the operations of the team that have failed since it was called last, and fails the test for each
// that says nothing but that it failed, unless its resource shows what to mend or the test expects the fault.
func (x *Team) checkFailed() {
	x.t.Helper()

	type failed struct {
		ID   id.ID
		Type string
	}

	f := x.failures

	f.mu.Lock()
	defer f.mu.Unlock()

	var found []failed

	// A failure without a code is one that a cancellation or a fault of the service has left.
	x.readOne(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[failed](ctx, tx, `
			select id, coalesce(type, '') as type from operation
			where team_id = @team and status = 'failed' and coalesce(failure_code, 'operationFailed') = 'operationFailed' and id <> all(@seen)`,
			db.Args{"team": tx.Team, "seen": slices.AppendSeq([]id.ID{}, maps.Keys(f.seen))})

		return err
	})

	for _, o := range found {
		f.seen[o.ID] = true

		kind, isLogged := f.given[o.ID]
		if o.Type != "" {
			kind = o.Type
		}

		if x.isShown(o.ID, shown[kind]) || f.crowded && isLogged && shown[kind] != "" {
			continue
		}

		f.met[kind] = true

		switch {
		case f.expected[kind] == "":
			x.t.Errorf("operation %s %s failed, and its resource does not say why", kind, o.ID)
		case !isLogged:
			x.t.Errorf("operation %s %s failed, and the log does not say why", kind, o.ID)
		}
	}
}

// isShown reports whether a condition holds for an operation of the team. It reports false for an empty one.
func (x *Team) isShown(operation id.ID, condition string) (holds bool) {
	x.t.Helper()

	if condition == "" {
		return false
	}

	x.readOne(func(ctx context.Context, tx *db.Tx) (err error) {
		holds, err = db.Get[bool](ctx, tx, `select `+condition+` from operation o where o.team_id = @team and o.id = @id`,
			db.Args{"team": tx.Team, "id": operation})

		return err
	})

	return holds
}

// readOne runs a statement that reads rows of the team.
func (x *Team) readOne(work db.Work) {
	x.t.Helper()

	if err := x.DB.ReadOne(x.t.Context(), x.Scope(), work); err != nil {
		x.t.Fatal(err)
	}
}
