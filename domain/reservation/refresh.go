package reservation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"stayledger/domain/ledger"
	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// handlers are the tasks of reservations.
func handlers() map[job.Kind]job.Handler {
	refresh := operation.Outside(2*time.Minute, refreshTask).InBulk()
	settle := refresh.Exhausted
	refresh.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		if err := settle(ctx, tx, j, cause); err != nil {
			return err
		}
		return abandon(ctx, tx, j, cause)
	}
	return map[job.Kind]job.Handler{ledger.RefreshReservations: refresh}
}

// abandon marks as failed what a task that is given up leaves stale, so that nobody waits for it. Journals that a strict refresh found locked
// stay stale, and those that cannot be derived are marked already.
func abandon(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
	if errors.Is(cause, errUnderived) || ledger.IsLock(cause) {
		return nil
	}
	var args ledger.RefreshArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return fmt.Errorf("decode the journals of a task: %w", err)
	}
	if args.Stretch != nil {
		var err error
		if args.IDs, err = within(ctx, tx, args.Stretch); err != nil {
			return err
		}
	}
	ids, err := stale(ctx, tx, args.IDs)
	if err != nil {
		return err
	}
	return ledger.MarkFailed(ctx, tx, "reservation", ids)
}

// refreshTask derives the journals of a task.
func refreshTask(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args ledger.RefreshArgs) (db.Work, error) {
	return nil, refreshChunkOf(ctx, d, scope, args)
}

// refreshChunkOf derives some journals in one transaction. When one of them cannot be derived, the others are, and it is marked as failed;
// the task fails then, so that nobody takes the rest for all.
func refreshChunkOf(ctx context.Context, d *db.DB, scope db.Scope, args ledger.RefreshArgs) error {
	by := policyOf(args)
	if args.Stretch != nil {
		err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			args.IDs, err = within(ctx, tx, args.Stretch)
			return err
		})
		if err != nil {
			return err
		}
	}
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		_, err := refreshAs(ctx, tx, args.IDs, by)
		return err
	})
	if !refusal(err) || ledger.IsLock(err) {
		return err
	}
	var failed []id.ID
	writeErr := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		failed = nil
		for _, v := range args.IDs {
			err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
				_, err := refreshAs(ctx, tx, []id.ID{v}, by)
				return err
			})
			if refusal(err) && !ledger.IsLock(err) {
				failed = append(failed, v)
			} else if err != nil {
				return err
			}
		}
		return ledger.MarkFailed(ctx, tx, "reservation", failed)
	})
	if writeErr != nil {
		return writeErr
	}
	return operation.FailAs(operation.OperationFailed, fmt.Errorf("%w: %d reservations: %w", errUnderived, len(failed), err))
}

// errUnderived says that the journals of some reservations stayed as they were, since they cannot be derived.
var errUnderived = errors.New("reservation: journals cannot be derived")

// refusal reports whether an error is the contract's, which trying again does not change.
func refusal(err error) bool {
	return err != nil && apierr.From(err).Code().Status() < http.StatusInternalServerError
}

func policyOf(args ledger.RefreshArgs) policy {
	by := policy{Full, ledger.Lenience{SkipLocked: !args.Strict}}
	if args.Mode != "" {
		by.mode = Mode(args.Mode)
	}
	return by
}

// RefreshRequest selects the journals to derive.
type RefreshRequest struct {
	IDs        []id.ID           `json:"ids,omitempty" minItems:"1" maxItems:"10000" doc:"Absent means every reservation of the team."`
	Mode       Mode              `json:"mode,omitempty" doc:"What is replaced: full (default) all; recurringFeesOnly the charges of recurring fees; arOnly revenue and financial adjustments; decoupledAdjustmentsOnly the adjustments. What is not replaced stays as it is stored."`
	LockPolicy ledger.LockPolicy `json:"lockPolicy,omitempty" doc:"strict fails, bestEffort leaves locked journals as they are; absent means bestEffort."`
}

type refreshInput struct {
	Body RefreshRequest `required:"false"`
}

func refresh(ctx context.Context, tx *db.Tx, in *refreshInput) (*ledger.RefreshAnswer, error) {
	args := ledger.RefreshArgs{Strict: in.Body.LockPolicy == ledger.Strict, Mode: string(in.Body.Mode)}
	if in.Body.IDs == nil {
		ack, err := startAll(ctx, tx, args)
		return &ledger.RefreshAnswer{Acknowledgement: ack}, err
	}
	ids, err := selected(ctx, tx, in.Body.IDs)
	if err != nil {
		return nil, err
	}
	if len(ids) != 1 {
		ack, err := start(ctx, tx, ids, args)
		return &ledger.RefreshAnswer{Acknowledgement: ack}, err
	}
	if _, err := refreshAs(ctx, tx, ids, policyOf(args)); err != nil {
		return nil, err
	}
	r, err := show(ctx, tx, ids[0])
	if err != nil {
		return nil, err
	}
	return ledger.RefreshedOne(r.ID, r.JournalStatus), nil
}

// namedResources is up to how many reservations an operation names; a larger selection is the team's business, not a reservation's.
const namedResources = 20

// task derives the journals that the arguments name.
func task(args ledger.RefreshArgs) operation.Task {
	return operation.Task{Kind: ledger.RefreshReservations, Args: args, Priority: 1}
}

// start starts the operation that refreshes some reservations.
func start(ctx context.Context, tx *db.Tx, ids []id.ID, args ledger.RefreshArgs) (*operation.Acknowledgement, error) {
	n := operation.New{Type: operation.ReservationJournal}
	for chunk := range slices.Chunk(ids, refreshChunk) {
		args.IDs = chunk
		n.Tasks = append(n.Tasks, task(args))
	}
	if len(ids) <= namedResources {
		for _, v := range ids {
			n.Resources = append(n.Resources, operation.Resource{Type: operation.Reservation, ID: v, Role: operation.Target})
		}
	}
	return operation.Start(ctx, tx, n)
}

// startAll starts the operation that refreshes all reservations. Its tasks are stretches, so that what it costs to start hardly grows with the
// team; one that is booked meanwhile has its journal already.
func startAll(ctx context.Context, tx *db.Tx, args ledger.RefreshArgs) (*operation.Acknowledgement, error) {
	places, err := boundaries(ctx, tx, refreshChunk)
	if err != nil {
		return nil, err
	}
	n := operation.New{Type: operation.ReservationJournal}
	for i := range places {
		args.Stretch = &ledger.Stretch{From: places[i]}
		if i+1 < len(places) {
			args.Stretch.Until = &places[i+1]
		}
		n.Tasks = append(n.Tasks, task(args))
	}
	if len(places) == 0 {
		n.Tasks = []operation.Task{task(args)}
	}
	return operation.Start(ctx, tx, n)
}

// selected are the reservations to refresh, each once.
func selected(ctx context.Context, tx *db.Tx, given []id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and id = any(@ids) order by id`,
		db.Args{"team": tx.Team, "ids": given})
	if err != nil {
		return nil, err
	}
	var missing []apierr.Issue
	for i, v := range given {
		if _, known := slices.BinarySearchFunc(found, v, id.ID.Compare); !known && len(missing) < 100 {
			missing = append(missing, apierr.Issue{Message: "Reservation does not exist", Code: "notFound", Path: []any{"ids", i}, Schema: "body"})
		}
	}
	if missing != nil {
		return nil, apierr.BadRequest.At(missing...)
	}
	return found, nil
}
