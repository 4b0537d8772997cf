package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
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

// every lists the periodic tasks of the package: asking providers for news of the payments that are on their way, and
// forgetting callbacks.
func (s *Service) every() []job.Every {
	return []job.Every{
		{Name: "payment-ask", Interval: askInterval, Do: s.Ask},
		{Name: "payment-callback-purge", Interval: time.Hour, Do: forgetCallbacks},
	}
}

func forgetCallbacks(ctx context.Context, d *db.DB) error {
	err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `delete from payment_callback where created_at < @before`, db.Args{"before": tx.Now.Add(-keepCallbacks)})
		return err
	})
	if err != nil {
		return fmt.Errorf("forget callbacks: %w", err)
	}

	return nil
}

// due is a payment whose provider is to be asked.
type due struct {
	TeamID       id.ID
	ConnectionID id.ID
	ID           id.ID
}

// Ask asks providers for the payments that are due. A payment is asked for the more rarely the longer it is on its way;
// the questions of a provider that does not answer are put off. It submits nothing itself: what is sending, unknown to
// the provider and nobody's work any more goes back to those who send.
func (s *Service) Ask(ctx context.Context, d *db.DB) error {
	end := d.Now().Add(askBudget)

	var failures []error

	for d.Now().Before(end) {
		found, err := claimDue(ctx, d)
		if err != nil || len(found) == 0 {
			return errors.Join(append(failures, err)...)
		}

		groups := map[due][]id.ID{}

		var order []due

		for _, f := range found {
			g := due{TeamID: f.TeamID, ConnectionID: f.ConnectionID}
			if groups[g] == nil {
				order = append(order, g)
			}

			groups[g] = append(groups[g], f.ID)
		}

		for _, g := range order {
			if err := s.askConnection(ctx, d, g, groups[g]); err != nil {
				failures = append(failures, fmt.Errorf("ask over connection %v: %w", g.ConnectionID, err))
			}
		}
	}

	return errors.Join(failures...)
}

// claimDue takes payments that are due and sets when they are due next: after a quarter of the time that they have been
// on their way, at least a minute and at most an hour; those that were paid after a day, for as long as banks give
// payments back.
func claimDue(ctx context.Context, d *db.DB) ([]due, error) {
	var found []due

	err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[due](ctx, tx, `
			with due as materialized (
				select team_id, id from payment where ask_at <= @now order by ask_at limit @limit for update skip locked)
			update payment p set ask_at = case
				when p.status <> 'paid' then @now::timestamptz + greatest(interval '1 minute', least(interval '1 hour', (@now::timestamptz - p.sent_at) / 4))
				when p.sent_at > @now::timestamptz - interval '70 days' then @now::timestamptz + interval '1 day' end
			from due where p.team_id = due.team_id and p.id = due.id
			returning p.team_id, p.connection_id, p.id`, db.Args{"now": tx.Now, "limit": askAtOnce})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find payments to ask for: %w", err)
	}

	return found, nil
}

// askConnection asks for payments over one connection, and keeps what it learns even when the provider stops answering.
func (s *Service) askConnection(ctx context.Context, d *db.DB, g due, payments []id.ID) error {
	scope := db.Scope{Team: g.TeamID}

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

		failure = err

		break
	}

	return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		if err := sendAgain(ctx, tx, unknown); err != nil { // it locks batches, and these come before payments
			return err
		}

		if err := apply(ctx, tx, news); err != nil {
			return err
		}

		if err := reportUnknown(ctx, tx, unknown); err != nil {
			return err
		}

		return putOff(ctx, tx, g.ConnectionID, failure)
	})
}

// reportUnknown raises an issue on payments that the provider has taken and does not know any more.
func reportUnknown(ctx context.Context, tx *db.Tx, payments []id.ID) error {
	if len(payments) == 0 {
		return nil
	}

	all, err := hold(ctx, tx, payments)
	if err != nil {
		return err
	}

	for i := range all {
		if all[i].Status == Submitted {
			all[i].raise(issue(unknownToProvider, nil))
		}
	}

	return keep(ctx, tx, all)
}

// sendAgain queues the batches of payments that are sending and that their provider has never seen, under the keys that
// they have, when no job is left to do it: the workers have died of it. After a day it is for a person to decide.
func sendAgain(ctx context.Context, tx *db.Tx, payments []id.ID) error {
	if len(payments) == 0 {
		return nil
	}

	type stranded struct {
		BatchID      id.ID
		ConnectionID id.ID
		InitiatedBy  id.ID
	}

	batches, err := db.Select[stranded](ctx, tx, `
		select b.id as batch_id, b.connection_id, o.initiated_by
		from payment_batch b join operation o on o.team_id = b.team_id and o.id = b.operation_id
		where b.team_id = @team and b.id in (select batch_id from payment where team_id = @team and id = any(@ids) and status = 'sending')
		order by b.id for update of b`, db.Args{"team": tx.Team, "ids": payments})
	if err != nil {
		return fmt.Errorf("hold batches that were left: %w", err)
	}

	for _, b := range batches {
		left, err := db.Select[id.ID](ctx, tx, `
			select p.id from payment p where p.team_id = @team and p.batch_id = @batch and p.id = any(@ids) and p.status = 'sending'
				and p.recovery_operation_id is null and not p.issues @> '[{"code": "givenUp"}]' and not exists (
					select from job j where j.team_id = @team and j.kind = @kind and j.args->>'batchId' = p.batch_id::text)`,
			db.Args{"team": tx.Team, "batch": b.BatchID, "ids": payments, "kind": SendKind.String()})
		if err != nil {
			return fmt.Errorf("find payments that were left: %w", err)
		}

		all, err := hold(ctx, tx, left)
		if err != nil {
			return err
		}

		late := func(h held) bool { return h.SentAt == nil || h.SentAt.Before(tx.Now.Add(-job.OutsideTime)) }
		if fresh := slices.DeleteFunc(slices.Clone(all), late); len(fresh) > 0 {
			tx.Actor.User = b.InitiatedBy // whoever has asked for the payments asks for this, too
			if err := again(ctx, tx, b.BatchID, b.ConnectionID, fresh); err != nil {
				return err
			}

			continue
		}

		for i := range all {
			all[i].giveUp()
		}

		if err := keep(ctx, tx, all); err != nil {
			return err
		}
	}

	return nil
}

// again starts an operation that goes on with a batch; the one before has ended.
func again(ctx context.Context, tx *db.Tx, batch, one id.ID, left []held) error {
	n := operation.New{Type: operation.ProviderPayment, Tasks: []operation.Task{{Kind: SendKind, Args: sendArgs{BatchID: batch}}}}
	for i := range left {
		n.Resources = append(n.Resources, operation.Resource{Type: operation.Transaction, ID: left[i].TransactionID, Role: operation.Target})
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

// putOff lets a provider that does not answer alone for a while; one that refuses the credentials until somebody mends
// them.
func putOff(ctx context.Context, tx *db.Tx, one id.ID, failure error) error {
	if failure == nil {
		return nil
	}

	if errors.Is(failure, pay.ErrCredentials) {
		if err := connection.Refused(ctx, tx, one); err != nil {
			return err
		}
	}

	_, err := tx.Exec(ctx, `
		update payment set ask_at = @later where team_id = @team and connection_id = @connection and ask_at < @later`,
		db.Args{"team": tx.Team, "connection": one, "later": tx.Now.Add(5 * time.Minute)})
	if err != nil {
		return fmt.Errorf("put questions off: %w", err)
	}

	return nil
}
