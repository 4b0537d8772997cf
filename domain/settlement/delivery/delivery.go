// Package delivery delivers published owner statements to their owners: by links that open them without signing in, and
// by e-mails with such a link.
//
// An e-mail is a row, a job and a link, written in the transaction that asks for it; a dry run takes all three back.
// The row holds the sealed secret of the link until the message is settled, so every attempt sends the same text under
// the same Message-ID: a crash between the send and the commit is at worst the same message twice. No message contains
// an amount, because others may read or keep it.
//
// The page docs/decisions/delivery.md says what the contract leaves open and how it is answered here.
package delivery

import (
	"context"
	"fmt"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	"stayledger/provider/mail"
)

// Status of an e-mail.
type Status string

// The states: a queued message is sent or fails, and then stays as it is. A message without an address is never queued:
// it is notSent.
const (
	Queued  Status = "queued"
	Sent    Status = "sent"
	Failed  Status = "failed"
	NotSent Status = "notSent"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Queued), string(Sent), string(Failed), string(NotSent)}
}

// Failure says why an e-mail was not sent.
type Failure string

// The failures: the mail server refuses the recipient or the text; it could not be reached for a day; or the owner may
// not open the statement any more (reopened, link revoked, ownership or address changed); or the owner had no address
// when the statement was published.
const (
	Refused       Failure = "refused"
	Undeliverable Failure = "undeliverable"
	Withdrawn     Failure = "withdrawn"
	EmailMissing  Failure = "emailMissing"
)

// Enum lists the failures.
func (Failure) Enum() []string {
	return []string{string(Refused), string(Undeliverable), string(Withdrawn), string(EmailMissing)}
}

// Email is a message to an owner about a statement.
type Email struct {
	ID        id.ID        `json:"id"`
	ContactID id.ID        `json:"contactId"`
	To        *string      `json:"to" doc:"The address that it goes to; fixed when it is queued. Null of one that is notSent."`
	Status    Status       `json:"status"`
	Failure   *Failure     `json:"failure" doc:"refused by the mail server; undeliverable for a day; withdrawn: the owner may not open it any more; emailMissing: there was no address. Null unless failed or notSent."`
	CreatedAt day.Instant  `json:"createdAt"`
	SentAt    *day.Instant `json:"sentAt"`
}

var (
	errNotPublished = apierr.New(apierr.CodeBadRequest, "", "The statement is not published")
	errNoRecipient  = apierr.New(apierr.CodeBadRequest, "", "There is no one to send to")
)

// Config holds the outside services and settings that delivery needs.
type Config struct {
	// Sender takes the messages; without one every message fails as refused.
	Sender mail.Sender
	Box    *seal.Box
	// PublicURL is the service's own address without a trailing slash.
	PublicURL string
}

// Post delivers statements.
type Post struct{ Config }

// New returns a post. Without a sender every message fails as refused.
func New(c Config) Post {
	if c.Sender == nil {
		c.Sender = refusingSender{}
	}

	return Post{c}
}

// refusingSender is the sender if there is no mail server.
type refusingSender struct{}

// Send refuses the message.
func (refusingSender) Send(context.Context, mail.Message) error {
	return fmt.Errorf("%w: there is no mail server", mail.ErrRefused)
}

// handlers returns the handlers of the jobs of this package. Messages are sent in the lane of bulk work, because a mail
// server that hangs must not hold up the work of people.
func (p Post) handlers() map[job.Kind]job.Handler {
	return map[job.Kind]job.Handler{
		statement.MailKind: {Do: p.announce},
		sendKind:           job.Handler{Do: p.send, Exhausted: giveUp}.InBulk(),
	}
}

// address returns the address at which a link is opened. The secret comes after the #, which browsers do not send.
func (p Post) address(token string) string { return p.PublicURL + "/owner#" + token }
