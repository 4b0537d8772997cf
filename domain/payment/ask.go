package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/connection"
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

// Every lists the periodic tasks of the package: asking providers for news of the payments that are on their way, and forgetting callbacks.
func (s *Service) Every() []job.Every {
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

// Ask asks providers for the payments that are due. A payment is asked for the more rarely the longer it is on its way; the questions of a
// provider that does not answer are put off. It never submits anything.
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

// claimDue takes payments that are due and sets when they are due next: after a quarter of the time that they have been on their way, at least a
// minute and at most an hour; those that were paid after a day, for as long as banks give payments back.
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
	var news []pay.Outcome
	var unknown []id.ID
	var failure error
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
		if err := apply(ctx, tx, news); err != nil {
			return err
		}
		if err := reportUnknown(ctx, tx, unknown); err != nil {
			return err
		}
		return putOff(ctx, tx, g.ConnectionID, failure)
	})
}

// reportUnknown raises an issue on payments that the provider has taken and does not know any more. One that is still sending may never have
// arrived: that is for a person to decide.
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

// putOff lets a provider that does not answer alone for a while; one that refuses the credentials until somebody mends them.
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
