package payee

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

// letterKind is the kind of the job that sends a letter about a change.
var letterKind = job.NewKind("payee.letter")

type letterArgs struct {
	LetterID id.ID `json:"letterId"`
}

// letterWaits are the pauses between attempts to reach the mail server: about a day in all.
var letterWaits = []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 4 * time.Hour, 8 * time.Hour, 11 * time.Hour}

// letter is a letter with what it says.
type letter struct {
	ID        id.ID
	Address   string
	Kind      ChangeKind
	Last4     string
	Name      string
	TeamName  string
	TeamEmail *string
	Attempts  int
	CreatedAt time.Time
}

// message returns the letter as a mail. It names the account by its last digits only.
func (l *letter) message() mail.Message {
	what := "added as an account to pay you to"

	switch l.Kind { //nolint:exhaustive // a release writes no letter
	case MadeDefault:
		what = "chosen as the account that you are paid to"
	case Moved:
		what = "taken over from another contact as an account to pay you to"
	}

	m := mail.Message{
		Key: l.ID.String(), Date: l.CreatedAt, To: l.Address, ToName: l.Name, From: l.TeamName,
		Subject: "Where " + l.TeamName + " pays you has changed",
	}

	ask := l.TeamName
	if l.TeamEmail != nil {
		m.ReplyTo, ask = *l.TeamEmail, *l.TeamEmail
	}

	m.Text = fmt.Sprintf("Hello %s,\n\nthe bank account that ends with %s was %s on %s.\n\n"+
		"If you did not ask for this, tell %s at once, by a number or an address that you know.\n\n%s\n",
		l.Name, l.Last4, what, l.CreatedAt.UTC().Format("2 January 2006"), ask, l.TeamName)

	return m
}

// postman sends letters.
type postman struct{ sender mail.Sender }

// send gives one letter to the mail server and settles it, or queues the next attempt.
func (p postman) send(ctx context.Context, d *db.DB, j job.Job) error {
	var args letterArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return job.Permanent(fmt.Errorf("arguments of a letter: %w", err))
	}

	var l *letter

	err := d.Read(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		l, err = db.Maybe[letter](ctx, tx, `
			select l.id, l.address, c.kind, m.last4, k.name, t.name as team_name, coalesce(t.support_email, t.email) as team_email, l.attempts, c.created_at
			from payee_letter l join payee_change c on c.team_id = l.team_id and c.id = l.change_id
			join payee_method m on m.team_id = c.team_id and m.id = c.method_id
			join contact k on k.team_id = c.team_id and k.id = c.contact_id join team t on t.id = l.team_id
			where l.team_id = @team and l.id = @id and l.status = 'queued'`, db.Args{"team": tx.Team, "id": args.LetterID})

		return err
	})
	if err != nil {
		return err
	}

	// Talk to the mail server outside of any transaction.
	status := LetterSent

	if l != nil {
		err := mail.ErrRefused
		if p.sender != nil {
			err = p.sender.Send(ctx, l.message())
		}

		switch {
		case err == nil:
		case ctx.Err() != nil:
			return fmt.Errorf("send a letter: %w", err)
		case errors.Is(err, mail.ErrRefused), l.Attempts >= len(letterWaits):
			status = LetterFailed
		default:
			status = LetterQueued
		}
	}

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if l != nil {
			if err := l.settle(ctx, tx, status); err != nil {
				return err
			}
		}

		return job.Done(ctx, tx, j)
	})
}

// settle saves what became of a letter. One that waits is tried again later.
func (l *letter) settle(ctx context.Context, tx *db.Tx, status LetterStatus) error {
	_, err := tx.Exec(ctx, `update payee_letter set status = @status, attempts = attempts + 1 where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": l.ID, "status": string(status)})
	if err != nil {
		return fmt.Errorf("settle a letter: %w", err)
	}

	if status != LetterQueued {
		return nil
	}

	return job.Insert(ctx, tx, job.New{Kind: letterKind, Args: letterArgs{l.ID}, DueAt: tx.Now.Add(letterWaits[l.Attempts])})
}

// giveUp settles a letter if its job cannot be done.
func giveUp(ctx context.Context, tx *db.Tx, j job.Job, _ error) error {
	var args letterArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return nil //nolint:nilerr // a job that names no letter has none to settle
	}

	l := letter{ID: args.LetterID}

	return l.settle(ctx, tx, LetterFailed)
}
