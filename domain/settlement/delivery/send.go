package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/settlement/statement"
	"stayledger/domain/tenant/access"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/mail"
)

// sendKind is the kind of the job that sends a message.
var sendKind = job.NewKind("delivery.send")

// Messages wait behind all other bulk work: a month published for thousands of listings is thousands of them.
const sendPriority = 9

// waits are the pauses between attempts to reach the mail server: about a day in all.
var waits = []time.Duration{
	time.Minute,
	5 * time.Minute,
	15 * time.Minute,
	time.Hour,
	2 * time.Hour,
	4 * time.Hour,
	6 * time.Hour,
	10 * time.Hour,
}

type sendArgs struct {
	EmailID id.ID `json:"emailId"`
}

// announce queues a message to every active owner of a statement that was published, and inserts a row for each
// owner without an address. It does nothing for a statement that is not published any more.
func (p Post) announce(ctx context.Context, d *db.DB, j job.Job) error {
	var args statement.MailArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return job.Permanent(fmt.Errorf("arguments of a statement's e-mails: %w", err))
	}

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		pub, err := loadIfPublished(ctx, tx, args.StatementID)
		if err != nil {
			return err
		}

		// Everything is written together, so a repeated job queues no second message.
		if pub != nil {
			if err := insertMissing(ctx, tx, pub); err != nil {
				return err
			}

			if _, err := p.queueAll(ctx, tx, pub, pub.reachable()); err != nil {
				return err
			}
		}

		return job.Done(ctx, tx, j)
	})
}

// send gives one message to the mail server and settles it, or queues the next attempt.
func (p Post) send(ctx context.Context, d *db.DB, j job.Job) error {
	var args sendArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return job.Permanent(fmt.Errorf("arguments of an e-mail: %w", err))
	}

	// First look whether the message still waits and its link still opens the statement.
	var l *letter

	open := false

	err := d.Read(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		if l, err = loadLetter(ctx, tx, args.EmailID); err != nil || l == nil {
			return err
		}

		open, err = access.OwnerLinkOpens(ctx, tx, l.LinkID)

		return err
	})
	if err != nil {
		return err
	}

	// Then talk to the mail server, outside of any transaction.
	failure, retry := Withdrawn, false
	if l != nil && open {
		if failure, retry, err = p.sendLetter(ctx, l); err != nil {
			return err
		}
	}

	// Last, save the result together with the end of the job.
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if l != nil {
			if err := settleOrRetry(ctx, tx, l, failure, retry); err != nil {
				return err
			}
		}

		return job.Done(ctx, tx, j)
	})
}

// sendLetter gives a letter to the mail server and returns why it was not sent, and whether to try again. It fails if
// the worker is being stopped: then the result is not known.
func (p Post) sendLetter(ctx context.Context, l *letter) (f Failure, retry bool, err error) {
	token, err := p.Box.Open(l.Token, label(l.ID))
	if err != nil {
		return "", false, fmt.Errorf("open the link of an e-mail: %w", err)
	}

	// The secret of the link is decrypted only for this.
	m, err := l.renderMessage(p.address(string(token)))
	if err != nil {
		return "", false, err
	}

	err = p.Sender.Send(ctx, m)

	// A refusal is final; anything else may pass.
	switch {
	case err == nil:
		return "", false, nil
	case errors.Is(err, mail.ErrRefused):
		return Refused, false, nil
	case ctx.Err() != nil:
		return "", false, fmt.Errorf("send an e-mail: %w", err)
	}

	return Undeliverable, true, nil
}

// settleOrRetry settles a message, or counts the attempt and queues the next one if there is any left.
func settleOrRetry(ctx context.Context, tx *db.Tx, l *letter, f Failure, retry bool) error {
	if !retry || l.Attempts >= len(waits) {
		return updateSettled(ctx, tx, l.ID, f)
	}

	if err := updateAttempts(ctx, tx, l.ID); err != nil {
		return err
	}

	return job.Insert(ctx, tx, job.New{
		Kind:     sendKind,
		Args:     sendArgs{l.ID},
		Priority: sendPriority,
		DueAt:    tx.Now.Add(waits[l.Attempts]),
	})
}

// giveUp settles a message if its job cannot be done because its worker died at every attempt.
func giveUp(ctx context.Context, tx *db.Tx, j job.Job, _ error) error {
	var args sendArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return nil //nolint:nilerr // a job that names no message has none to settle
	}

	return updateSettled(ctx, tx, args.EmailID, Undeliverable)
}
