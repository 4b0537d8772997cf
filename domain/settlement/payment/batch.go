package payment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/settlement/payee"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/money"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// batch is a batch as stored. Day, Sequence and MadeAt are its identity, nil before the first attempt.
type batch struct {
	ID           id.ID
	ConnectionID id.ID
	Day          *day.Day
	Sequence     *int
	MadeAt       *day.Instant
	// BusyUntil is when the attempt under way ends at the latest, nil while none is.
	BusyUntil *day.Instant
	SettledAt *day.Instant
	FileID    *id.ID
}

var errNoBatch = errors.New("there is no such batch of payments")

// lockBatch locks a batch until the transaction ends and returns it. It fails with errNoBatch.
func lockBatch(ctx context.Context, tx *db.Tx, one id.ID) (*batch, error) {
	b, err := db.One[batch](ctx, tx, errNoBatch, `
		select id, connection_id, day, sequence, made_at, busy_until, settled_at, file_id from payment_batch
		where team_id = @team and id = @id for update`, db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return nil, fmt.Errorf("hold a batch of payments: %w", err)
	}

	return &b, nil
}

// member is a payment of a batch without an outcome, with the data that sending it needs.
type member struct {
	ID            id.ID
	ShortRef      string
	Status        Status
	Recovering    bool
	Amount        money.Cents
	Currency      string
	Date          day.Day
	MethodID      id.ID
	AccountHolder string
	AccountType   pay.AccountType
	Numbers       []byte
	Company       bool
}

// lockMembers locks and returns the payments of a batch that are still to be sent or that are sending.
func lockMembers(ctx context.Context, tx *db.Tx, batch id.ID) ([]member, error) {
	found, err := db.Select[member](ctx, tx, `
		select p.id, p.short_ref, p.status, p.recovery_operation_id is not null as recovering, p.amount, p.currency, p.date, m.id as method_id,
			m.account_holder, m.account_type, m.numbers, c.company_type is not null as company
		from payment p join payee_method m on m.team_id = p.team_id and m.id = p.payee_method_id
		join contact c on c.team_id = p.team_id and c.id = p.contact_id
		where p.team_id = @team and p.batch_id = @batch and p.status in ('requested', 'sending') order by p.id for update of p`,
		db.Args{"team": tx.Team, "batch": batch})
	if err != nil {
		return nil, fmt.Errorf("read the payments of a batch: %w", err)
	}

	return found, nil
}

// maxMemo is the number of characters that a recipient's bank shows at most.
const maxMemo = 15

// order returns the payment in the form that the provider gets. It is the same for every attempt: a date that has
// passed becomes the day on which the batch was first made.
func (m *member) order(b *batch, box *seal.Box) (pay.Payment, error) {
	method := payee.Method{
		ID:            m.MethodID,
		AccountHolder: m.AccountHolder,
		AccountType:   m.AccountType,
		Numbers:       m.Numbers,
	}

	// Account numbers are decrypted only here, right before they are sent.
	recipient, err := method.Account(box)
	if err != nil {
		return pay.Payment{}, err
	}

	return pay.Payment{
		Key:       m.ID.String(),
		Amount:    m.Amount,
		Currency:  m.Currency,
		Date:      day.Max(m.Date, *b.Day),
		Recipient: recipient,
		Company:   m.Company,
		Memo:      m.ShortRef[:min(len(m.ShortRef), maxMemo)],
	}, nil
}

// work holds what an attempt has to do.
type work struct {
	batch
	provider pay.Provider
	active   bool
	files    bool // the provider works by files
	// until is when this attempt ends at the latest; before is the value of BusyUntil when it began.
	until  time.Time
	before *day.Instant
	// recovering counts the payments that are being taken back. This attempt leaves them alone.
	recovering int
	// fresh payments were marked as sending by this attempt, so the provider cannot know them. It may know the unclear
	// ones.
	fresh, unclear []pay.Payment
}

// firstQuestion is how long after it was sent a payment is first asked for, unless its outcome is known at once.
const firstQuestion = 2 * time.Minute

// beginAttempt marks the requested payments of a batch as sending and gives the batch its identity. The provider may
// hear of them only after this has committed.
func (s *Gateway) beginAttempt(ctx context.Context, tx *db.Tx, run operation.Run, one id.ID) (*work, error) {
	b, err := lockBatch(ctx, tx, one)
	if err != nil {
		return nil, err
	}

	all, err := lockMembers(ctx, tx, one)
	if err != nil || len(all) == 0 {
		return &work{batch: *b, active: true}, err // callbacks or an earlier attempt have brought all outcomes
	}

	// The connection may have been closed since the payments were asked for.
	c, err := connection.Get(ctx, tx, b.ConnectionID)
	if err != nil {
		return nil, fmt.Errorf("read the connection of a batch: %w", err)
	}

	w := &work{
		active: c.Status == connection.Active,
		files:  payapp.Can(c.AppID, payapp.PaysByFile),
		until:  tx.Now.Add(sendTime),
		before: b.BusyUntil,
	}
	if w.provider, err = s.Open(c); err != nil {
		return nil, fmt.Errorf("open a payment provider: %w", err)
	}

	// An inactive connection sends nothing, so the payments stay as they are.
	if w.active {
		if err := b.updateIdentity(ctx, tx, run.OperationID, w.until); err != nil {
			return nil, err
		}

		if err := markSending(ctx, tx, one, c.AppID); err != nil {
			return nil, err
		}
	}

	// Sort the payments by what the provider may know of them. Their status is the one before this attempt.
	w.batch = *b

	for i := range all {
		switch {
		case all[i].Status == Requested && !w.active:
			continue // it never left, so it fails when the batch is given up
		case all[i].Recovering:
			w.recovering++
			continue
		}

		order, err := all[i].order(b, s.Box)
		if err != nil {
			return nil, err
		}

		if all[i].Status == Requested {
			w.fresh = append(w.fresh, order)
		} else {
			w.unclear = append(w.unclear, order)
		}
	}

	// Payments that were sending before this attempt belong to an earlier one that ended without an outcome.
	var left []id.ID

	for i := range all {
		if all[i].Status == Sending {
			left = append(left, all[i].ID)
		}
	}

	if left == nil {
		return w, nil
	}

	return w, markUnknown(ctx, tx, one, left)
}

// markUnknown sets since when the state of payments is unknown: of the given payments of a batch that are still
// sending, or of all of them with nil.
func markUnknown(ctx context.Context, tx *db.Tx, batch id.ID, some []id.ID) error {
	_, err := tx.Exec(ctx, `
		update payment set unknown_since = @now, updated_at = @now
		where team_id = @team and batch_id = @batch and status = 'sending' and unknown_since is null and (@some::uuid[] is null or id = any(@some))`,
		db.Args{"team": tx.Team, "batch": batch, "some": some, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("mark payments as unknown: %w", err)
	}

	return nil
}

// saveEnd saves that this attempt will tell the provider nothing more. If another attempt was under way when it
// began, the batch stays busy as long as that one may run. After a timeout it stays busy for some time, because the
// provider may still work on the answer.
func (w *work) saveEnd(ctx context.Context, tx *db.Tx, cause error) error {
	if w.until.IsZero() {
		return nil
	}

	// The other attempt may still be alive.
	before := w.before

	if errors.Is(cause, pay.ErrTimeout) {
		lingers := day.At(tx.Now.Add(linger))
		if before == nil || before.Before(lingers.Time) {
			before = &lingers
		}
	}

	// Only if no later attempt has taken over: then busy_until is no longer ours.
	_, err := tx.Exec(ctx, `
		update payment_batch set busy_until = case when @before::timestamptz > @now then @before::timestamptz end
		where team_id = @team and id = @id and busy_until = @until::timestamptz(3)`,
		db.Args{"team": tx.Team, "id": w.ID, "before": before, "until": w.until, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("end an attempt at a batch: %w", err)
	}

	return nil
}

// updateIdentity gives the batch its number among those of the connection on the day of the first attempt, and marks it
// as busy.
func (b *batch) updateIdentity(ctx context.Context, tx *db.Tx, operation id.ID, until time.Time) error {
	args := db.Args{"team": tx.Team, "id": b.ID, "now": tx.Now, "operation": operation, "until": until}

	// A repeated attempt keeps the number and the time, so that the same batch gives the same file.
	if b.Sequence == nil {
		today, at := tx.Today(), day.At(tx.Now)

		n, err := db.Get[int](ctx, tx, `
			insert into payment_batch_counter as c (team_id, connection_id, day, next) values (@team, @connection, @day, 1)
			on conflict (team_id, connection_id, day) do update set next = c.next + 1 returning next - 1`,
			db.Args{"team": tx.Team, "connection": b.ConnectionID, "day": today})
		if err != nil {
			return fmt.Errorf("number a batch of payments: %w", err)
		}

		b.Day, b.Sequence, b.MadeAt = &today, &n, &at
	}

	// The time until which the batch is busy is new with every attempt.
	args["day"], args["sequence"], args["made"] = b.Day, b.Sequence, b.MadeAt

	_, err := tx.Exec(ctx, `
		update payment_batch set day = @day, sequence = @sequence, made_at = @made, attempted_at = @now, operation_id = @operation,
			busy_until = @until
		where team_id = @team and id = @id`, args)
	if err != nil {
		return fmt.Errorf("begin a batch of payments: %w", err)
	}

	return nil
}

// markSending marks the requested payments of a batch as sending. If the provider can be asked for outcomes, it
// also sets the time of the first question.
func markSending(ctx context.Context, tx *db.Tx, batch id.ID, app connection.AppID) error {
	var ask *time.Time

	if payapp.Can(app, payapp.TellsOutcomes) {
		at := tx.Now.Add(firstQuestion)
		ask = &at
	}

	sending, err := db.Select[changedPayment](ctx, tx, `
		update payment p set status = 'sending', sent_at = @now, ask_at = @ask, updated_at = @now from payment o
		where p.team_id = @team and p.batch_id = @batch and p.status = 'requested' and o.team_id = p.team_id and o.id = p.id returning `+toldColumns, db.Args{"team": tx.Team, "batch": batch, "now": tx.Now, "ask": ask})
	if err != nil {
		return fmt.Errorf("mark payments as sending: %w", err)
	}

	notePayments(tx, sending)

	return nil
}

// result is the result of an attempt.
type result struct {
	*work

	batch    id.ID
	outcomes []pay.Outcome
	file     *file.New // nil when there is none
}

// saveResult saves the result of a batch in the transaction that settles its task. If several attempts made the
// batch's file, the first one to get here keeps its own.
func saveResult(ctx context.Context, tx *db.Tx, run operation.Run, r result) error {
	b, err := lockBatch(ctx, tx, r.batch)
	if err != nil {
		return err
	}

	// The caller of the operation downloads the file from its results.
	if r.file != nil && b.FileID == nil {
		if _, err := file.Insert(ctx, tx, *r.file); err != nil {
			return err
		}

		b.FileID = &r.file.ID

		result := operation.Resource{Type: operation.File, ID: r.file.ID, Role: operation.Result}
		if err := operation.AddResult(ctx, tx, run.OperationID, result); err != nil {
			return err
		}
	}

	_, err = tx.Exec(ctx, `update payment_batch set settled_at = @now, file_id = @file where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": r.batch, "now": tx.Now, "file": b.FileID})
	if err != nil {
		return fmt.Errorf("settle a batch of payments: %w", err)
	}

	// The attempt is over; now its outcomes count.
	if err := r.saveEnd(ctx, tx, nil); err != nil {
		return err
	}

	return apply(ctx, tx, r.outcomes)
}

// giveUpBatch gives a batch up. Payments that were never sent fail. Payments that are sending stay so, because the
// provider may have them, and an issue asks a person to decide. The exception is a worker that died while the
// provider can be asked: then the payments are sent again after asking.
func giveUpBatch(ctx context.Context, tx *db.Tx, one id.ID, cause error) error {
	if _, err := lockBatch(ctx, tx, one); errors.Is(err, errNoBatch) {
		return nil
	} else if err != nil {
		return err
	}

	// Everything without an outcome is concerned.
	ids, err := db.Select[id.ID](ctx, tx, `select id from payment where team_id = @team and batch_id = @batch and status in ('requested', 'sending')`,
		db.Args{"team": tx.Team, "batch": one})
	if err != nil {
		return fmt.Errorf("read payments without an outcome: %w", err)
	}

	all, err := lockPayments(ctx, tx, ids)
	if err != nil {
		return err
	}

	// Decide for each payment, save all of them, then book the consequences.
	now := day.At(tx.Now)

	for i := range all {
		switch {
		case all[i].Status == Requested:
			all[i].Status, all[i].SettledAt = Failed, &now
		case !errors.Is(cause, job.ErrWorkerDied) || all[i].AskAt == nil:
			all[i].noteGivenUp()
		}
	}

	if err := savePayments(ctx, tx, all); err != nil {
		return err
	}

	for i := range all {
		if err := all[i].bookConsequences(ctx, tx); err != nil {
			return err
		}
	}

	return markUnknown(ctx, tx, one, nil)
}

// noteGivenUp raises the issue that a person must find out whether the payment arrived.
func (h *lockedPayment) noteGivenUp() {
	h.addIssue(issue(givenUp, map[string]string{"amount": strconv.FormatInt(int64(h.Amount), 10)}))
}

// loadBatchFailed reports whether a payment of a batch has failed, or none went through (OPS-84, OPS-85).
func loadBatchFailed(ctx context.Context, tx *db.Tx, one id.ID) (bool, error) {
	failed, err := db.Get[bool](ctx, tx, `
		select coalesce(bool_or(status = 'failed') or bool_and(status in ('failed', 'canceled')), true) from payment where team_id = @team and batch_id = @batch`,
		db.Args{"team": tx.Team, "batch": one})
	if err != nil {
		return false, fmt.Errorf("read what a batch came to: %w", err)
	}

	return failed, nil
}
