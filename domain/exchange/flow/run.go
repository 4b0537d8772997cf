package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/banking/rule"
	"stayledger/domain/books/bank"
	"stayledger/domain/exchange/calendar"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

type runInput struct {
	ID           string `path:"id" maxLength:"100"`
	ConnectionID id.ID  `path:"connectionId"`
	Body         Run    `required:"false"`
}

// Run has the inputs of a flow.
type Run struct {
	Params *Params `json:"params,omitempty"`
}

// Params are the parameters of all flows.
type Params struct {
	StartAt *day.Day `json:"startAt,omitempty"`
	EndAt   *day.Day `json:"endAt,omitempty"`
}

// check fails for missing parameters, and for parameters that the flow does not have.
func (p *Params) check(f *Flow) error {
	if p == nil {
		p = &Params{}
	}

	var issues []apierr.Issue

	for _, v := range []struct {
		name  string
		value *day.Day
	}{{"startAt", p.StartAt}, {"endAt", p.EndAt}} {
		switch takes := f.ID == connection.ResyncWindow; {
		case takes && v.value == nil:
			issues = append(issues, apierr.IssueRequired.InBody("params", v.name))
		case !takes && v.value != nil:
			issues = append(issues, apierr.IssueContradiction.InBody("params", v.name))
		}
	}

	if issues == nil && p.StartAt != nil && p.EndAt.Before(*p.StartAt) {
		issues = append(issues, apierr.IssueDateOrder.InBody("params", "endAt"))
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// run starts the work of a flow, and an operation that waits for it.
func run(ctx context.Context, tx *db.Tx, in *runInput) (*operation.Acknowledgement, error) {
	// The flow must exist, and the system of the connection must support it.
	f := find(in.ID)
	if f == nil {
		return nil, apierr.NotFound
	}

	c, err := connection.Get(ctx, tx, in.ConnectionID)
	if err != nil {
		return nil, err
	}

	if !pms.Runs(c.AppID, f.ID) {
		return nil, apierr.NotImplemented
	}

	if err := in.Body.Params.check(f); err != nil {
		return nil, err
	}

	var args runArgs

	// Only reading a window has an operation to wait for: the other flows are done at once or leave their work to
	// jobs.
	switch f.ID {
	case connection.ResyncWindow:
		ack, err := pms.ReadWindow(ctx, tx, c.ID, *in.Body.Params.StartAt, *in.Body.Params.EndAt)
		if err != nil {
			return nil, err
		}

		args.Awaits = &ack.OperationID
	case connection.RematchDeposits:
		err = matchAgain(ctx, tx)
	case connection.RebuildOccupancy:
		err = calendar.NotifyAgain(ctx, tx, c.ID)
	}

	if err != nil {
		return nil, err
	}

	of := operation.Resource{Type: operation.Flow, ID: f.ResourceID, Role: operation.Source}

	return operation.Start(ctx, tx, operation.New{
		Type: operation.FlowRun, Primary: &of,
		Resources: []operation.Resource{of, {Type: operation.Connection, ID: c.ID, Role: operation.Target}},
		Tasks:     []operation.Task{{Kind: runKind, Args: args}},
	})
}

// openTogether is how many open bank records are loaded at once.
const openTogether = 5000

// matchAgain offers all open bank records with incoming money to the active bank rules. It fails with
// apierr.MissingScope if a rule would book and the caller may not write transactions.
func matchAgain(ctx context.Context, tx *db.Tx) error {
	var (
		last     id.ID
		incoming []id.ID
	)

	for more := true; more; {
		open, err := bank.ListOpenAfter(ctx, tx, last, openTogether)
		if err != nil {
			return fmt.Errorf("read open bank records: %w", err)
		}

		for i := range open {
			if last = open[i].ID; open[i].Amount > 0 {
				incoming = append(incoming, last)
			}
		}

		more = len(open) == openTogether
	}

	return rule.Offer(ctx, tx, incoming)
}

// runKind names the jobs that wait for the work of a flow.
var runKind = job.NewKind("flow.run")

// awaitPause is the time until such a job looks again.
const awaitPause = 2 * time.Second

type runArgs struct {
	// Awaits is the operation to wait for; nil if the work is done.
	Awaits *id.ID `json:"awaits,omitempty"`
}

// errFailed is the cause of a failed run.
var errFailed = errors.New("the operation that a flow has started has failed")

// awaitWork ends a run like the operation it waits for, or looks again after a pause.
func awaitWork(ctx context.Context, d *db.DB, j job.Job) error {
	var args runArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return job.Permanent(fmt.Errorf("decode task arguments: %w", err))
	}

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		status := operation.Completed

		if args.Awaits != nil {
			found, err := db.Maybe[operation.Status](ctx, tx, `select status from operation where team_id = @team and id = @id`,
				db.Args{"team": tx.Team, "id": *args.Awaits})
			if err != nil {
				return fmt.Errorf("read the operation of a flow: %w", err)
			}

			// Operations are purged some time after they have ended.
			if found != nil {
				status = *found
			}
		}

		switch status {
		case operation.Failed:
			return job.Permanent(errFailed)
		case operation.Completed:
			operation.Settle(tx, j)
			return nil
		case operation.Queued, operation.Running:
		}

		// The work goes on: a new job looks again, so that no worker is blocked meanwhile.
		next := job.New{Kind: runKind, Args: args, OperationID: j.OperationID, DueAt: tx.Now.Add(awaitPause)}
		if err := job.Insert(ctx, tx, next); err != nil {
			return err
		}

		return job.Done(ctx, tx, j)
	})
}
