package webhook

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/outbound"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/provider/mail"
)

// Config has the parts of the service that webhooks use.
type Config struct {
	// Box seals the secrets.
	Box *seal.Box
	// Private allows receivers at private addresses, and at plain http ones of this machine. It is the operator's
	// choice and never a team's.
	Private bool
	// Lookup finds the addresses of names; nil asks the name service.
	Lookup outbound.Lookup
	// Within is how long a receiver may take to answer; zero means 15 seconds.
	Within time.Duration
	// Only, unless empty, restricts the sender to some teams: for tests that share a database.
	Only []id.ID
	// Mail sends mails about disabled webhooks; nil sends none.
	Mail mail.Sender
}

// Part returns the endpoints, jobs, tables and sender of webhooks.
func Part(c Config) parts.Part {
	if c.Lookup == nil {
		c.Lookup = outbound.LookUp
	}

	c.Within = cmp.Or(c.Within, answerTime)

	return parts.Part{
		Endpoints: c.endpoints(),
		Handlers: map[job.Kind]job.Handler{
			sendKind:   operation.External(answerTime+15*time.Second, c.sendOnce),
			replayKind: operation.Work(time.Minute, queueAgain),
			letterKind: job.Handler{Do: c.sendLetter}.InBulk().OnOutside(),
		},
		Every:  []job.Every{{Name: "webhook-purge", Interval: time.Hour, Do: deleteOld}},
		Loops:  []parts.Loop{c.Send},
		Tables: parts.Keeps("webhook_note", "webhook_rate", "webhook_delivery", "webhook"),
		Waits: []parts.Wait{{
			ID: "w.id",
			Columns: `w.disabled_at as since, 'webhookDisabled' as code, 'error' as severity, 'webhook' as entity_type, w.id as entity_id,
				jsonb_build_object('reason', w.disabled_reason) as context`,
			From: `webhook w where w.team_id = g.team_id and w.disabled_reason in ('gone', 'failing')`,
		}},
	}
}

// keep is how long messages are kept that nothing follows.
const keep = 90 * 24 * time.Hour

// deleteOld deletes old messages.
func deleteOld(ctx context.Context, d *db.DB) error {
	err := d.Repeat(ctx, 1, db.Stmt{SQL: `
		with old as materialized (
			select v.team_id, v.id from webhook w cross join lateral (
				select d.team_id, d.id from webhook_delivery d
				where d.team_id = w.team_id and d.webhook_id = w.id and d.created_at < @before and d.due_at is null order by d.created_at limit 500) v
			limit 5000),
		gone as (delete from webhook_delivery d using old where d.team_id = old.team_id and d.id = old.id returning d.id)
		select count(*) from gone`, Args: db.Args{"before": d.Now().Add(-keep)}})
	if err != nil {
		return fmt.Errorf("delete old messages: %w", err)
	}

	return nil
}
