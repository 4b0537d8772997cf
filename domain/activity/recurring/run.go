package recurring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// addedTogether is how many instances are stored and booked together; it bounds memory.
const addedTogether = 500

// RunKind is the kind of the task that makes the instances of a recurring template.
var RunKind = job.NewKind("transaction.recurring")

// maxDates is how many dates a run can name, and how many instances it makes in one transaction.
const maxDates = 1000

// RunRequest says for which dates instances are made.
type RunRequest struct {
	Dates api.Opt[[]day.Day] `json:"dates,omitzero" maxItems:"1000" doc:"Absent or null: every due date; the dry run answers with the first 1000, or as many as have 20000 lines. A date that the pattern does not have is made as well."`
}

type runInput struct {
	ID   id.ID      `path:"id"`
	Body RunRequest `required:"false"`
}

// RunPreview has the transactions that a run would make and the dates that it would hold back.
type RunPreview struct {
	Data     []transaction.Transaction `json:"data"`
	HeldBack []HeldBack                `json:"heldBack" doc:"Dates that are tried and refused by a lock or, of due dates, for any reason."`
}

type runArgs struct {
	TemplateID id.ID     `json:"templateId"`
	Dates      []day.Day `json:"dates"` // nil: all that are due
}

// args returns the arguments of the task: the dates of the body, nil for all that are due.
func (in *runInput) args() runArgs {
	args := runArgs{TemplateID: in.ID}

	// An empty list stays a list: it names no dates, while nil means all that are due.
	if in.Body.Dates.Value != nil {
		args.Dates = append([]day.Day{}, *in.Body.Dates.Value...)
	}

	return args
}

// startRun starts the operation that makes instances of a template (INIT-30, INIT-31). It fails for an archived
// template, for dates with too many lines, and with the refusal of a named date other than by a lock.
func startRun(ctx context.Context, tx *db.Tx, in *runInput) (*operation.Answer[RunPreview], error) {
	t, err := loadTemplate(ctx, tx, in.ID, false)
	if err != nil {
		return nil, err
	}

	if t.Status != transaction.Active {
		return nil, errArchived
	}

	// All that is due may need several tasks; dates that are named must fit into one.
	args, tasks := in.args(), 1
	if args.Dates == nil {
		tasks = t.countRuns(tx.Today())
	} else if err := t.tryDates(ctx, tx, args.Dates); err != nil {
		return nil, err
	}

	target := operation.Resource{Type: operation.RecurringTransactionTemplate, ID: in.ID, Role: operation.Target}
	ack, err := operation.Start(ctx, tx, operation.New{
		Type: operation.RecurringTransactionRun, Primary: &target, Resources: []operation.Resource{target},
		Tasks: slices.Repeat([]operation.Task{{Kind: RunKind, Args: args}}, tasks),
	})

	return &operation.Answer[RunPreview]{Started: ack}, err
}

// runNow answers a dry run with the transactions that the operation would make (DRY-50, DRY-51).
func runNow(ctx context.Context, tx *db.Tx, in *runInput, out *operation.Answer[RunPreview]) error {
	made, held, err := run(ctx, tx, in.args())
	if err == nil {
		err = transaction.Show(ctx, tx, made)
	}

	out.Preview(&RunPreview{Data: made, HeldBack: held})

	return err
}

// namedResults is the limit on the transactions that a run names as its results.
const namedResults = 100

// runTask makes instances of a template and adds the transactions to the results of the operation.
func runTask(ctx context.Context, tx *db.Tx, r operation.Run, args runArgs) error {
	made, _, err := run(ctx, tx, args)
	if err != nil {
		return err
	}

	// The operation names the first ones only; the others are found by their template.
	for i := range made[:min(len(made), namedResults)] {
		result := operation.Resource{Type: operation.Transaction, ID: made[i].ID, Role: operation.Result}
		if err := operation.AddResult(ctx, tx, r.OperationID, result); err != nil {
			return err
		}
	}

	return nil
}

// checkDates refuses dates with instances that would have too many lines together.
func (t *Template) checkDates(dates []day.Day) error {
	if len(dates) <= t.maxInstances() {
		return nil
	}

	return apierr.BadRequest.At(apierr.IssueTooManyLines.InBody("dates")).
		With(map[string]any{"suggestedLimit": t.maxInstances()})
}

// errUndone ends what is only tried.
var errUndone = errors.New("recurring: undone")

// tryDates fails with the refusal with which the run of named dates would fail now. It makes their instances and undoes
// that.
func (t *Template) tryDates(ctx context.Context, tx *db.Tx, dates []day.Day) error {
	if err := t.checkDates(dates); err != nil {
		return err
	}

	missing, err := findMissing(ctx, tx, t.ID, dates)
	if err != nil {
		return err
	}

	err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, _, err := t.addEach(ctx, tx, missing, true); err != nil {
			return err
		}

		return errUndone
	})
	if errors.Is(err, errUndone) {
		return nil
	}

	return err //nolint:wrapcheck // It is the error of addEach.
}

// run makes the instances of a template that are still missing, each by itself. Of the due dates it makes as many
// as one task tries. It returns the instances that were made and the dates that are held back. Named dates are held
// back only by locks; any other refusal is returned as an error. The template is locked, so that runs take turns
// and no date gets two instances.
func run(ctx context.Context, tx *db.Tx, args runArgs) (made []transaction.Transaction, refused []HeldBack, err error) {
	t, err := loadTemplate(ctx, tx, args.TemplateID, true)
	if err != nil {
		return nil, nil, err
	}

	// The template may have been archived since the operation was started.
	if t.Status != transaction.Active {
		return nil, nil, errArchived
	}

	// First find the dates: those that are named, or all that are due.
	dates, through := t.dueDates(tx.Today())
	if args.Dates != nil {
		if err = t.checkDates(args.Dates); err != nil {
			return nil, nil, err
		}

		if dates, err = findMissing(ctx, tx, t.ID, args.Dates); err != nil {
			return nil, nil, err
		}
	} else if t.DoneThrough == nil || t.DoneThrough.Before(through) {
		t.DoneThrough = &through
	}

	// Then make each of them.
	audit.From(tx, audit.Recurring)

	made, refused, err = t.addEach(ctx, tx, dates, args.Dates != nil)
	if err != nil {
		return nil, nil, err
	}

	// Last, keep how far the template is and what it could not make.
	t.Made = append(t.Made, dates...)
	t.settle(dates, refused)

	_, err = tx.Exec(ctx, `
		update transaction_template set done_through = @done, next_at = @next, held_back = @held,
			failed_at = case when @failed then @now::timestamptz end
		where team_id = @team and id = @id`,
		db.Args{
			"team":   tx.Team,
			"id":     t.ID,
			"done":   t.DoneThrough,
			"next":   t.nextOpen(),
			"held":   t.HeldBack,
			"failed": len(t.HeldBack) > 0,
			"now":    tx.Now,
		})
	if err != nil {
		return nil, nil, fmt.Errorf("keep how far a recurring template is: %w", err)
	}

	return made, refused, nil
}

// newInstances returns the transactions of some dates. A bill that is paid at once is paid on its own date, from the
// account assigned to payout_bankAccount.
func newInstances(ctx context.Context, tx *db.Tx, t *Template, dates []day.Day) ([]transaction.Create, error) {
	bank, err := db.Get[bool](ctx, tx, `select exists (select from account where team_id = @team and id = @id and type = 'bank')`,
		db.Args{"team": tx.Team, "id": t.AccountID})
	if err != nil {
		return nil, fmt.Errorf("read an account: %w", err)
	}

	// An expense on a bank account is paid by itself and needs no payment.
	all := make([]transaction.Create, len(dates))
	for i, d := range dates {
		all[i] = t.instance(d)
		if t.Type == transaction.Expense && t.PaymentStatus == transaction.Paid && !bank {
			all[i].Payment = api.Set(transaction.PaymentInput{Date: d})
		}
	}

	return all, nil
}

// findMissing returns the dates that have no instance, in order and each once.
func findMissing(ctx context.Context, tx *db.Tx, one id.ID, dates []day.Day) ([]day.Day, error) {
	made, err := db.Select[day.Day](ctx, tx, `
		select recurring_at from transaction where team_id = @team and recurring_template_id = @id and recurring_at = any(@dates)`,
		db.Args{"team": tx.Team, "id": one, "dates": dates})
	if err != nil {
		return nil, fmt.Errorf("read the instances of a recurring template: %w", err)
	}

	// The caller may name dates in any order and more than once.
	open := slices.DeleteFunc(slices.Clone(dates), func(d day.Day) bool { return slices.Contains(made, d) })
	slices.SortFunc(open, day.Day.Compare)

	return slices.Compact(open), nil
}

// periodicTasks returns the periodic tasks of the package.
func periodicTasks() []job.Every {
	return []job.Every{{Name: "transaction-recurring", Interval: time.Hour, Do: runDue}}
}

// dueAtOnce bounds the templates that one round looks at; the others are looked at in the next round.
const dueAtOnce = 500

// runDue makes the instances that are due, one template in each transaction. Dates that are held back are tried
// again a day later.
func runDue(ctx context.Context, d *db.DB) error {
	type due struct {
		TeamID, ID id.ID
		Zone       day.Zone
	}

	var templates []due

	// First find the templates of all teams, without locking any. Teams that are frozen or inactive are left out.
	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		args, err := parts.LoadTodays(ctx, tx, db.Args{"now": tx.Now, "limit": dueAtOnce})
		if err != nil {
			return err
		}

		templates, err = db.Select[due](ctx, tx, `
			select t.team_id, m.time_zone as zone, t.id from transaction_template t join team m on m.team_id = t.team_id `+parts.TodaySQL+`
			where t.status = 'active' and m.status = 'active' and m.freeze_reason is null
				and (t.next_at <= @latest and t.next_at <= z.today
					or t.held_back <> '[]' and (t.failed_at is null or t.failed_at < @now::timestamptz - interval '1 day'))
			order by t.next_at, t.id limit @limit`, args)

		return err
	})
	if err != nil {
		return fmt.Errorf("find due recurring templates: %w", err)
	}

	// Then run each in a transaction of its own: a template that fails does not hold up the others.
	var failures []error

	for _, t := range templates {
		if err := runByItself(ctx, d, db.Scope{Team: t.TeamID, Zone: t.Zone}, t.ID); err != nil {
			failures = append(failures, err)
		}
	}

	return errors.Join(failures...)
}
