package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/pay"
)

const (
	// Due payments are looked for every askInterval; one round asks for askBudget.
	askInterval = time.Minute
	askBudget   = 45 * time.Second
	// A round takes so many payments at a time.
	askAtOnce = 50
	// The callbacks that were taken are remembered for so long; their time is believed for minutes.
	keepCallbacks = 24 * time.Hour
)

// every returns the periodic tasks of the package: asking providers for news of the payments that are on their way,
// and deleting old callbacks.
func (s *Gateway) every() []job.Every {
	return []job.Every{
		{Name: "payment-ask", Interval: askInterval, Do: s.Ask},
		{Name: "payment-callback-purge", Interval: time.Hour, Do: deleteOldCallbacks},
	}
}

// deleteOldCallbacks deletes the callbacks that are too old to be repeated.
func deleteOldCallbacks(ctx context.Context, d *db.DB) error {
	err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `delete from payment_callback where created_at < @before`, db.Args{"before": tx.Now.Add(-keepCallbacks)})
		return err
	})
	if err != nil {
		return fmt.Errorf("forget callbacks: %w", err)
	}

	return nil
}

// due is a payment to ask the provider for.
type due struct {
	TeamID       id.ID
	Zone         day.Zone
	ConnectionID id.ID
	ID           id.ID
}

// Ask asks providers for the payments that are due. The longer a payment is on its way, the more rarely it is asked
// for. If a provider does not answer, its payments are asked for later. Ask submits nothing itself: a payment that
// is sending, that the provider does not know and that no worker handles any more is queued for sending again.
func (s *Gateway) Ask(ctx context.Context, d *db.DB) error {
	end := d.Now().Add(askBudget)

	var failures []error

	// Work in small portions until the time is over or nothing is due.
	for d.Now().Before(end) {
		found, err := claimDue(ctx, d)
		if err != nil || len(found) == 0 {
			return errors.Join(append(failures, err)...)
		}

		// Group them by connection, in the order in which they came.
		groups := map[due][]id.ID{}

		var order []due

		for _, f := range found {
			g := due{TeamID: f.TeamID, Zone: f.Zone, ConnectionID: f.ConnectionID}
			if groups[g] == nil {
				order = append(order, g)
			}

			groups[g] = append(groups[g], f.ID)
		}

		// One provider that fails does not stop the others.
		for _, g := range order {
			if err := s.askConnection(ctx, d, g, groups[g]); err != nil {
				failures = append(failures, fmt.Errorf("ask over connection %v: %w", g.ConnectionID, err))
			}
		}
	}

	return errors.Join(failures...)
}

// claimDue returns payments that are due and sets when they are due next: after a quarter of the time that they
// have been on their way, at least a minute and at most an hour. Paid ones are due after a day, as long as banks
// give payments back.
func claimDue(ctx context.Context, d *db.DB) ([]due, error) {
	var found []due

	// Skip locked rows: another worker has them in its round.
	err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[due](ctx, tx, `
			with due as materialized (
				select team_id, id from payment a where ask_at <= @now and exists (select from team m where m.id = a.team_id and m.freeze_reason is null)
				order by ask_at limit @limit for update skip locked)
			update payment p set ask_at = case
				when p.status <> 'paid' then @now::timestamptz + greatest(interval '1 minute', least(interval '1 hour', (@now::timestamptz - p.sent_at) / 4))
				when p.sent_at > @now::timestamptz - interval '70 days' then @now::timestamptz + interval '1 day' end
			from due where p.team_id = due.team_id and p.id = due.id
			returning p.team_id, (select m.time_zone from team m where m.id = p.team_id) as zone, p.connection_id, p.id`, db.Args{"now": tx.Now, "limit": askAtOnce})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find payments to ask for: %w", err)
	}

	return found, nil
}

// askConnection asks for payments over one connection. It saves the news even if the provider stops answering.
func (s *Gateway) askConnection(ctx context.Context, d *db.DB, g due, payments []id.ID) error {
	scope := db.Scope{Team: g.TeamID, Zone: g.Zone}

	var p pay.Provider

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		c, err := connection.Get(ctx, tx, g.ConnectionID)
		if err == nil {
			p, err = s.Open(c)
		}

		return err
	})
	if err != nil {
		return err
	}

	var (
		news    []pay.Outcome
		unknown []id.ID
		failure error
	)

	// Ask one payment after the other, outside of any transaction.
	for _, payment := range payments {
		o, err := find(ctx, p, payment.String())
		switch {
		case err == nil:
			news = append(news, o)
			continue
		case errors.Is(err, pay.ErrUnknown):
			unknown = append(unknown, payment)
			continue
		}

		// The provider does not answer: the others would fail as well.
		failure = err

		break
	}

	return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		if err := requeueStranded(ctx, tx, unknown); err != nil { // it locks batches, and these come before payments
			return err
		}

		if err := apply(ctx, tx, news); err != nil {
			return err
		}

		if err := noteUnknown(ctx, tx, unknown); err != nil {
			return err
		}

		return delayQuestions(ctx, tx, g.ConnectionID, failure)
	})
}

// noteUnknown raises an issue on payments that the provider has accepted and does not know any more.
func noteUnknown(ctx context.Context, tx *db.Tx, payments []id.ID) error {
	if len(payments) == 0 {
		return nil
	}

	all, err := lockPayments(ctx, tx, payments)
	if err != nil {
		return err
	}

	for i := range all {
		if all[i].Status == Submitted {
			all[i].addIssue(issue(unknownToProvider, nil))
		}
	}

	return savePayments(ctx, tx, all)
}

// requeueStranded queues the batches of payments that are sending and that their provider has never seen, under their
// old keys, if no job is left to send them because the workers have died. After a day a person must decide instead.
func requeueStranded(ctx context.Context, tx *db.Tx, payments []id.ID) error {
	if len(payments) == 0 {
		return nil
	}

	type stranded struct {
		BatchID      id.ID
		ConnectionID id.ID
		InitiatedBy  id.ID
	}

	// Lock the batches first: they come before payments.
	batches, err := db.Select[stranded](ctx, tx, `
		select b.id as batch_id, b.connection_id, o.initiated_by
		from payment_batch b join operation o on o.team_id = b.team_id and o.id = b.operation_id
		where b.team_id = @team and b.id in (select batch_id from payment where team_id = @team and id = any(@ids) and status = 'sending')
		order by b.id for update of b`, db.Args{"team": tx.Team, "ids": payments})
	if err != nil {
		return fmt.Errorf("hold batches that were left: %w", err)
	}

	for _, b := range batches {
		// Only payments that no job handles and that no one is recovering.
		left, err := db.Select[id.ID](ctx, tx, `
			select p.id from payment p where p.team_id = @team and p.batch_id = @batch and p.id = any(@ids) and p.status = 'sending'
				and p.recovery_operation_id is null and not p.issues @> '[{"code": "givenUp"}]' and not exists (
					select from job j where j.team_id = @team and j.kind = @kind and j.args->>'batchId' = p.batch_id::text)`,
			db.Args{"team": tx.Team, "batch": b.BatchID, "ids": payments, "kind": SendKind.String()})
		if err != nil {
			return fmt.Errorf("find payments that were left: %w", err)
		}

		all, err := lockPayments(ctx, tx, left)
		if err != nil {
			return err
		}

		// Payments that were sent longer ago than job.OutsideTime are left to a person.
		late := func(h lockedPayment) bool { return h.SentAt == nil || h.SentAt.Before(tx.Now.Add(-job.OutsideTime)) }
		if fresh := slices.DeleteFunc(slices.Clone(all), late); len(fresh) > 0 {
			tx.Actor.User = b.InitiatedBy // the operation is that of the user who asked for the payments
			if err := restartBatch(ctx, tx, b.BatchID, b.ConnectionID, fresh); err != nil {
				return err
			}

			continue
		}

		// The issue says that a person must find out.
		for i := range all {
			all[i].noteGivenUp()
		}

		if err := savePayments(ctx, tx, all); err != nil {
			return err
		}
	}

	return nil
}

// restartBatch starts an operation that continues a batch after its former operation has ended.
func restartBatch(ctx context.Context, tx *db.Tx, batch, one id.ID, left []lockedPayment) error {
	n := operation.New{
		Type:  operation.ProviderPayment,
		Tasks: []operation.Task{{Kind: SendKind, Args: sendArgs{BatchID: batch}}},
	}

	// The operation names the transactions that are still to be paid.
	for i := range left {
		n.Resources = append(n.Resources, operation.Resource{
			Type: operation.Transaction,
			ID:   left[i].TransactionID,
			Role: operation.Target,
		})
	}

	if len(left) == 1 {
		n.Primary = &n.Resources[0]
	}

	n.Resources = append(n.Resources, operation.Resource{Type: operation.Connection, ID: one, Role: operation.Source})
	if _, err := operation.Start(ctx, tx, n); err != nil {
		return fmt.Errorf("go on with a batch of payments: %w", err)
	}

	return nil
}

// delayQuestions delays the questions of a provider that does not answer. If it refuses the credentials, the connection
// is marked so that no one asks before they are corrected.
func delayQuestions(ctx context.Context, tx *db.Tx, one id.ID, failure error) error {
	if failure == nil {
		return nil
	}

	if errors.Is(failure, pay.ErrCredentials) {
		if err := connection.RequireReconnect(ctx, tx, one); err != nil {
			return err
		}
	}

	// Wait five minutes at least; later dates stay.
	_, err := tx.Exec(ctx, `
		update payment set ask_at = @later where team_id = @team and connection_id = @connection and ask_at < @later`,
		db.Args{"team": tx.Team, "connection": one, "later": tx.Now.Add(5 * time.Minute)})
	if err != nil {
		return fmt.Errorf("put questions off: %w", err)
	}

	return nil
}
