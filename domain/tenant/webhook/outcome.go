package webhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// waits are the pauses between the attempts to send a message: about three days in all (decisions, webhooks).
var waits = []time.Duration{
	5 * time.Second,
	5 * time.Minute,
	30 * time.Minute,
	2 * time.Hour,
	5 * time.Hour,
	10 * time.Hour,
	14 * time.Hour,
	20 * time.Hour,
	24 * time.Hour,
}

// jitter is by which part a pause can be longer, so that messages that failed together do not come back together.
const jitter = 0.2

// failingTime is how long a receiver fails before its webhook is disabled.
const failingTime = 5 * 24 * time.Hour

// slowTime is how long an attempt takes that makes a receiver slow.
const slowTime = 2 * time.Second

// leastPause and mostPause bound how long a receiver that is overloaded is left alone as a whole.
const (
	leastPause = 5 * time.Second
	mostPause  = 5 * time.Minute
)

// outcome is an attempt with its answer.
type outcome struct {
	delivery id.ID
	attempt  int64
	*answer
	at time.Time
}

// status returns the new status of the message, and when it is sent next; nil for never.
func (o *outcome) status() (DeliveryStatus, *time.Time) {
	switch {
	case o.failure == "":
		return DeliverySucceeded, nil
	case o.attempt > int64(len(waits)) || o.answer.status == http.StatusGone:
		return DeliveryExhausted, nil
	}

	// The receiver can ask for a longer pause.
	pause := waits[o.attempt-1]
	pause += time.Duration(rand.Float64() * jitter * float64(pause)) //nolint:gosec // no secret
	next := o.at.Add(o.took + max(pause, o.wait))

	return DeliveryFailed, &next
}

// hasFailed reports whether an attempt has failed.
func (o *outcome) hasFailed() bool { return o.failure != "" }

// health is how a receiver does.
type health struct {
	FailingSince *time.Time
	Failures     int64
	IsSlow       bool
	PausedUntil  *time.Time
}

// noteAttempt changes the health by an attempt.
func (h *health) noteAttempt(o *outcome) {
	h.IsSlow = o.took >= slowTime

	if !o.hasFailed() {
		h.FailingSince, h.Failures, h.PausedUntil = nil, 0, nil
		return
	}

	h.Failures++

	if h.FailingSince == nil {
		h.FailingSince = &o.at
	}

	// Other messages are not held back for as long as the receiver asks for one: it may work again before.
	if o.slowDown() {
		pause := min(max(leastPause<<min(h.Failures-1, 10), o.wait), mostPause)
		h.PausedUntil = new(o.at.Add(o.took + pause))
	}
}

// isSick reports whether the receiver is called in the places of sick receivers.
func (h *health) isSick() bool { return h.Failures > 0 || h.IsSlow }

// findDisableReason returns why the webhook of a receiver is to be disabled after some attempts, empty for not at all.
func (h *health) findDisableReason(outcomes []outcome, now time.Time) DisabledReason {
	switch {
	case slices.ContainsFunc(outcomes, func(o outcome) bool { return o.answer.status == http.StatusGone }):
		return Gone
	case h.FailingSince != nil && now.Sub(*h.FailingSince) >= failingTime:
		return Failing
	default:
		return ""
	}
}

// save saves outcomes and the health of the receiver. It disables the webhook if the receiver is gone or has failed for
// five days.
func (r *receiver) save(ctx context.Context, tx *db.Tx, found []outcome) error {
	outcomes := slices.SortedFunc(slices.Values(found), func(a, b outcome) int { return a.at.Compare(b.at) })

	was := r.health
	for i := range outcomes {
		r.noteAttempt(&outcomes[i])
	}

	// A receiver that does well as before costs no write of its webhook.
	reason := r.findDisableReason(outcomes, tx.Now)
	if r.health == was && reason == "" {
		return updateMessages(ctx, tx, outcomes)
	}

	// Webhooks are locked before their messages.
	w, err := lock(ctx, tx, r.ID)
	if err != nil {
		return err
	}

	if err := updateMessages(ctx, tx, outcomes); err != nil {
		return err
	}

	if reason != "" && w.Status == Active {
		return r.disable(ctx, tx, w, reason)
	}

	return r.saveHealth(ctx, tx)
}

// updateMessages updates the messages with their outcomes. It skips messages that another sender has sent meanwhile.
func updateMessages(ctx context.Context, tx *db.Tx, outcomes []outcome) error {
	n := len(outcomes)
	ids, at, due := make([]id.ID, n), make([]time.Time, n), make([]*time.Time, n)
	attempts, durations, answers := make([]int64, n), make([]int64, n), make([]*int64, n)
	statuses, bodies, failures := make([]string, n), make([]string, n), make([]*string, n)

	for i := range outcomes {
		o := &outcomes[i]

		var status DeliveryStatus

		status, due[i] = o.status()
		ids[i], attempts[i], statuses[i], at[i] = o.delivery, o.attempt, string(status), o.at
		bodies[i], durations[i] = o.body, o.took.Milliseconds()

		if o.hasFailed() {
			failures[i] = new(string(o.failure))
		}

		if o.answer.status != 0 {
			answers[i] = new(int64(o.answer.status))
		}
	}

	// The plan for any number of rows would compare each outcome with each message.
	err := db.Afresh(db.Send(db.Stmt{SQL: `
		update webhook_delivery d set status = o.status, attempts = o.attempt, due_at = o.due_at, response_status = o.answer, failure = o.failure,
			response_body = case when o.answer is not null then o.body end, duration_ms = o.duration, attempted_at = o.at,
			delivered_at = case when o.status = 'succeeded' then o.at end
		from unnest(@ids::uuid[], @attempts::bigint[], @statuses::text[], @due::timestamptz[], @answers::bigint[], @bodies::text[], @failures::text[],
			@durations::bigint[], @at::timestamptz[]) as o (id, attempt, status, due_at, answer, body, failure, duration, at)
		where d.team_id = @team and d.id = o.id and d.attempts = o.attempt - 1
			and (d.due_at is not null or o.status = 'succeeded')`, Args: db.Args{
		"team": tx.Team, "ids": ids, "attempts": attempts, "statuses": statuses, "due": due, "answers": answers, "bodies": bodies,
		"failures": failures, "durations": durations, "at": at,
	}}))(ctx, tx)
	if err != nil {
		return fmt.Errorf("save what became of messages: %w", err)
	}

	return nil
}

// saveHealth saves how the receiver does.
func (r *receiver) saveHealth(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `
		update webhook set failing_since = @since::timestamptz, failures = @failures, is_slow = @slow, paused_until = @paused::timestamptz
		where team_id = @team and id = @id`, db.Args{
		"team": tx.Team, "id": r.ID, "since": r.FailingSince, "failures": r.Failures, "slow": r.IsSlow, "paused": r.PausedUntil,
	})
	if err != nil {
		return fmt.Errorf("save how a receiver does: %w", err)
	}

	return nil
}

// disable disables the locked webhook and queues a mail to the team. The team has the issue webhookDisabled until the
// webhook is active again or deleted. Its health is reset, so a receiver that comes back starts anew.
func (r *receiver) disable(ctx context.Context, tx *db.Tx, w *stored, reason DisabledReason) error {
	if err := w.disable(ctx, tx, reason); err != nil {
		return err
	}

	r.health = health{}
	if err := r.saveHealth(ctx, tx); err != nil {
		return err
	}

	return job.Insert(ctx, tx, job.New{Kind: letterKind, Args: letterArgs{w.ID, w.Revision}})
}
