package recurring

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// HeldBack is a due date with a transaction that was refused when it was last tried.
type HeldBack struct {
	Date    day.Day       `json:"date" doc:"The date of the template."`
	Code    apierr.Code   `json:"code"`
	Reason  apierr.Reason `json:"reason,omitempty"`
	Message string        `json:"message"`
	Context any           `json:"context,omitempty"`
	TriedAt day.Instant   `json:"triedAt" doc:"When it was last refused."`
}

// skip sets the dates for which no instance is wanted. Such dates are no longer held back.
func (t *Template) skip(dates api.Opt[[]day.Day]) {
	t.SkippedDates = []day.Day{}
	if dates.Value != nil {
		t.SkippedDates = append(t.SkippedDates, *dates.Value...)
	}

	slices.SortFunc(t.SkippedDates, day.Day.Compare)
	t.SkippedDates = slices.Compact(t.SkippedDates)

	// A date that is not wanted any more need not be tried again.
	t.HeldBack = slices.DeleteFunc(
		slices.Clone(t.HeldBack), func(h HeldBack) bool { return slices.Contains(t.SkippedDates, h.Date) },
	)
}

// settle removes the tried dates from the held-back dates, and adds the refused dates.
func (t *Template) settle(tried []day.Day, refused []HeldBack) {
	held := slices.DeleteFunc(slices.Clone(t.HeldBack), func(h HeldBack) bool { return slices.Contains(tried, h.Date) })
	held = append(held, refused...)
	slices.SortFunc(held, func(a, b HeldBack) int { return a.Date.Compare(b.Date) })
	t.HeldBack = held
}

// newHeldBack returns the record of a date that was refused.
func newHeldBack(at day.Day, e *apierr.Error, now day.Instant) HeldBack {
	r := api.Refusal(0, nil, e)
	return HeldBack{Date: at, Code: r.Code, Reason: r.Reason, Message: r.Message, Context: r.Context, TriedAt: now}
}

// tryHeldBack tries the dates that are held back on the templates of a team, after a lock was removed.
func tryHeldBack(ctx context.Context, d *db.DB, j job.Job) error {
	type waiting struct {
		ID   id.ID
		Runs int
	}

	var templates []waiting

	// First find the templates, and how many transactions it takes to try all their dates.
	err := d.Read(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		ids, err := db.Select[id.ID](ctx, tx, `
			select id from transaction_template where team_id = @team and status = 'active' and held_back <> '[]' order by id`, db.Args{"team": tx.Team})
		if err != nil {
			return fmt.Errorf("find templates with dates that are held back: %w", err)
		}

		for _, v := range ids {
			t, err := loadTemplate(ctx, tx, v, false)
			if err != nil {
				return err
			}

			templates = append(templates, waiting{v, t.countRuns(tx.Today())})
		}

		return nil
	})
	if err != nil {
		return err
	}

	// Then run each template as often as it takes to try each date once, in its own transaction. A template that was
	// archived meanwhile is left out.
	var failures []error

	for _, t := range templates {
		for range t.Runs {
			if err := runByItself(ctx, d, j.Scope(), t.ID); err != nil {
				failures = append(failures, err)
				break
			}
		}
	}

	if err := errors.Join(failures...); err != nil {
		return err
	}

	// Last, the job is done. If a template failed, it stays in the queue.
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
}

// runByItself makes the due instances of a template without a request. Refusals, for example because it was
// archived or deleted meanwhile, are no failure.
func runByItself(ctx context.Context, d *db.DB, scope db.Scope, template id.ID) error {
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		_, _, err := run(ctx, tx, runArgs{TemplateID: template})
		return err
	})
	if err != nil && !apierr.IsRefusal(err) {
		return fmt.Errorf("run recurring template %v: %w", template, err)
	}

	return nil
}

// addEach makes the instances of some dates, each by itself, and returns the instances and the refused dates. If a
// caller has named the dates, any refusal but a lock's is returned as an error.
func (t *Template) addEach(
	ctx context.Context, tx *db.Tx, dates []day.Day, named bool,
) (made []transaction.Transaction, refused []HeldBack, err error) {
	all, err := newInstances(ctx, tx, t, dates)
	if err != nil {
		return nil, nil, err
	}

	made, refused = []transaction.Transaction{}, []HeldBack{}

	// Chunks bound the memory of one attempt.
	for chunk := range slices.Chunk(all, addedTogether) {
		attempts, err := transaction.AddEach(ctx, tx, chunk, ledger.Lenience{})
		if err != nil {
			return nil, nil, err
		}

		for i, a := range attempts {
			switch {
			case a.Refusal == nil:
				made = append(made, *a.Added)
			case named && !ledger.IsLock(a.Refusal):
				return nil, nil, a.Refusal
			default:
				refused = append(refused, newHeldBack(chunk[i].Date, a.Refusal, day.At(tx.Now)))
			}
		}
	}

	return made, refused, nil
}
