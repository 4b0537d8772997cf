package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/mail"
)

// letterKind is the kind of the job that sends a mail about a disabled webhook.
var letterKind = job.NewKind("webhook.letter")

// letterArgs name the webhook and its revision when it was disabled.
type letterArgs struct {
	WebhookID id.ID `json:"webhookId"`
	Revision  int64 `json:"revision"`
}

// letter has the data of a mail about a disabled webhook.
type letter struct {
	URL        string
	Reason     DisabledReason `db:"disabled_reason"`
	DisabledAt time.Time
	TeamName   string
	Email      *string
}

// sendLetter sends a mail to the team, unless the webhook has changed since or the team has no address. It is tried for
// a day.
func (c Config) sendLetter(ctx context.Context, d *db.DB, j job.Job) error {
	var args letterArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return job.Permanent(fmt.Errorf("arguments of a letter: %w", err))
	}

	var l *letter

	err := d.Read(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		l, err = db.Maybe[letter](ctx, tx, `
			select w.url, w.disabled_reason, w.disabled_at, t.name as team_name, coalesce(t.email, t.support_email) as email
			from webhook w join team t on t.id = w.team_id
			where w.team_id = @team and w.id = @id and w.revision = @revision and w.disabled_reason is not null`,
			db.Args{"team": tx.Team, "id": args.WebhookID, "revision": args.Revision})

		return err
	})
	if err != nil {
		return err
	}

	// Talk to the mail server outside of any transaction. A refusal is final.
	if l != nil && l.Email != nil && c.Mail != nil {
		if err := c.Mail.Send(ctx, l.message(&args)); err != nil && !errors.Is(err, mail.ErrRefused) {
			return fmt.Errorf("tell a team of its webhook: %w", err)
		}
	}

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
}

// message returns the letter as a mail.
func (l *letter) message(args *letterArgs) mail.Message {
	why := "it has failed for five days"
	if l.Reason == Gone {
		why = "it answered that it is gone (status 410)"
	}

	return mail.Message{
		Key: fmt.Sprintf("%s-%d", args.WebhookID, args.Revision), Date: l.DisabledAt, To: *l.Email, ToName: l.TeamName,
		Subject: "A webhook of " + l.TeamName + " was disabled",
		Text: fmt.Sprintf("Hello %s,\n\nthe webhook %s, which sends to %s, was disabled on %s: %s.\n\n"+
			"Nothing more is sent to it. When its receiver works again, send a test to the webhook, which makes it active, "+
			"and read GET /audit/events from that day on for what it has missed.\n",
			l.TeamName, args.WebhookID, withoutQuery(l.URL), l.DisabledAt.UTC().Format("2 January 2006"), why),
	}
}
