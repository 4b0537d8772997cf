// Package mail sends messages: through an SMTP server, or into a folder for development.
//
// What a message says comes from people: names, subjects, addresses. None of it can add a header or a recipient:
// control characters are taken out of display text, and an address that is more than one address is refused.
package mail

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// Message is a mail to one person.
type Message struct {
	// Key makes the Message-Id: the same key is the same message to every mail server on its way. Letters, digits, dots
	// and dashes.
	Key string
	// Date is when the message was written, the same at every attempt to send it.
	Date    time.Time
	To      string // address alone
	ToName  string
	ReplyTo string // address alone; empty for none
	From    string // display name; the address is the sender's own
	Subject string
	Text    string
	HTML    string // empty for none
}

// Sender delivers messages. ErrRefused is final. After any other error the same message can be sent again, although it
// may have been delivered.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// ErrRefused means that this message will never be accepted: it is malformed, or the server refuses its recipient or
// its content for good.
var ErrRefused = errors.New("mail: the message is refused")

var keyForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,198}[A-Za-z0-9])?$`)

// subjectLimit is how many characters a subject can have; longer ones are cut.
const subjectLimit = 200

// compose returns the message as it goes over the wire, from the sender's own address. It fails with ErrRefused if
// the key, the date or an address cannot be used.
func (m *Message) compose(from string) (*gomail.Msg, error) {
	// First the parts that cannot be repaired: without them the message is refused.
	if !keyForm.MatchString(m.Key) {
		return nil, fmt.Errorf("%w: key %q", ErrRefused, m.Key)
	}

	if m.Date.IsZero() {
		return nil, fmt.Errorf("%w: no date", ErrRefused)
	}

	to, err := parseAddress(m.To)
	if err != nil {
		return nil, err
	}

	// Names and subjects are made one line each, so that they cannot add a header.
	out := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	out.FromMailAddress(&mail.Address{Name: toOneLine(m.From), Address: from})
	out.ToMailAddress(&mail.Address{Name: toOneLine(m.ToName), Address: to})

	// The reply address is optional, but a wrong one is refused like that of the recipient.
	if m.ReplyTo != "" {
		reply, err := parseAddress(m.ReplyTo)
		if err != nil {
			return nil, err
		}

		out.ReplyToMailAddress(&mail.Address{Address: reply})
	}

	// Date and Message-Id are the same at every attempt, so that mail servers can recognize a repetition.
	out.SetDateWithValue(m.Date.UTC())
	out.SetMessageIDWithValue(m.Key + "@" + from[strings.LastIndexByte(from, '@')+1:])
	out.Subject(shortenText(toOneLine(m.Subject), subjectLimit))
	// A program wrote this to one person: out-of-office programs stay silent, and it is no list that one could leave.
	out.SetGenHeader("Auto-Submitted", "auto-generated")
	out.SetGenHeader("X-Auto-Response-Suppress", "All")

	// The plain text comes first and HTML second: programs show the last form that they can.
	out.SetBodyString(gomail.TypeTextPlain, m.Text)

	if m.HTML != "" {
		out.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}

	return out, nil
}

// parseAddress returns the address in a text, which must be one address and nothing else. It fails with ErrRefused.
func parseAddress(text string) (string, error) {
	a, err := mail.ParseAddress(text)
	if err != nil || a.Name != "" || a.Address != text || strings.ContainsFunc(text, isBlank) {
		return "", fmt.Errorf("%w: not an address", ErrRefused)
	}

	return a.Address, nil
}

// toOneLine returns a text that people wrote as one line.
func toOneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, isBlank), " ")
}

// isBlank reports whether a character is white space or a control character.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// shortenText returns the text, or its beginning with an ellipsis if it is longer than limit characters.
func shortenText(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}

	return string(runes[:limit-1]) + "…"
}
