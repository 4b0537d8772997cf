// Package check checks a server against the description of our protocol for property-management systems
// (docs/guides/pms-protocol.md), for developers of servers. It sends the requests of stayledger through the same
// client, so that the rules of package protocol apply. It never trusts the server: calls, bytes, pages and rows are
// bounded, and what it reports has no control characters.
package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
)

// Options say which server is checked, and how far.
type Options struct {
	BaseURL, Token string
	// AllowPrivate allows private addresses and calls without TLS.
	AllowPrivate bool
	// Write also tries the requests that change something: messages and blocks.
	Write bool
	// WebhookURL is where messages are to go while Write is tried; empty for an address that nothing listens to.
	WebhookURL string
	// Pages and Rows are how much is read of a list at most; 0 for DefaultPages and DefaultRows.
	Pages, Rows int
	// Within is how long a call may take; 0 and more than pms.Timeout are pms.Timeout.
	Within time.Duration
}

// How much is read of a list unless the options say otherwise.
const (
	DefaultPages = 200
	DefaultRows  = 50_000
)

// The limits of waiting for a server that takes no more calls for now.
const (
	maxWaits = 10
	maxWait  = time.Minute
)

// checker is a run of all checks against one server.
type checker struct {
	Options

	report *Report
	base   string // path of the base URL
	client *protocol.Client
	// request and body are those of the last call; the body is nil if there was no answer.
	request string
	body    []byte
	waits   int
	// isRead is set once an answer was read.
	isRead bool

	listings map[string]bool // whether each listing that was given can be read
	// hasListings says that all listings were read.
	hasListings bool
	// free are listings with nights that can be blocked.
	free []string
}

// Run asks a server and reports which rules hold. It fails with a pms.SettingsError of baseUrl or token, and with the
// error of the context.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Pages <= 0 {
		o.Pages = DefaultPages
	}

	if o.Rows <= 0 {
		o.Rows = DefaultRows
	}

	c := &checker{Options: o, report: newReport(), listings: map[string]bool{}}

	var err error
	if c.client, err = c.open(o.Token); err != nil {
		return nil, err
	}

	if u, err := url.Parse(o.BaseURL); err == nil {
		c.base = strings.TrimSuffix(u.EscapedPath(), "/")
	}

	// With a refused token, or without any answer, all other checks would only repeat this.
	if c.checkAccount(ctx) {
		c.checkTokens(ctx)
		c.checkListings(ctx)
		c.checkReservations(ctx)
		c.checkPayouts(ctx)
		c.checkWrites(ctx)
	}

	if ctx.Err() != nil {
		return nil, fmt.Errorf("check a server: %w", ctx.Err())
	}

	c.finish()

	return c.report, nil
}

// open makes a client that presents a token. It fails with a pms.SettingsError.
func (c *checker) open(token string) (*protocol.Client, error) {
	settings, err := json.Marshal(map[string]string{"baseUrl": c.BaseURL})
	if err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}

	credentials, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return nil, fmt.Errorf("write credentials: %w", err)
	}

	return protocol.New(settings, credentials, pms.Options{
		AllowPrivate: c.AllowPrivate, Within: c.Within, Seen: c.keepLast,
	}) //nolint:wrapcheck // It is a SettingsError.
}

// keepLast keeps the last request and its answer, for findings.
func (c *checker) keepLast(r *http.Request, body []byte) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), c.base)
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}

	c.request, c.body = r.Method+" "+path, bytes.Clone(body)
}

// call makes a call, and repeats it after a pause if the server asks for fewer calls. It fails with the error of the
// call.
func (c *checker) call(ctx context.Context, do func() error) error {
	for {
		err := do()
		c.isRead = c.isRead || err == nil

		e, is := errors.AsType[*pms.Error](err)
		if !is || !errors.Is(err, pms.ErrLimited) || c.waits >= maxWaits {
			return err
		}

		c.waits++

		select {
		case <-time.After(min(time.Until(e.Until), maxWait)):
		case <-ctx.Done():
			return err
		}
	}
}

// wrong reports that the last request breaks a rule.
func (c *checker) wrong(rule, row, field, fault string) {
	c.report.fail(rule, Finding{Request: c.request, Row: row, Field: field, Fault: fault})
}

// part has the rules of the answer to a request: of its list, its pages and the ids of its rows.
type part struct{ list, next, pages, id string }

// only returns the rules of a request with an answer of one rule.
func only(rule string) part { return part{rule, rule, rule, rule} }

// reportCall reports the rule that a failed call breaks: own, unless the error points at another rule.
func (c *checker) reportCall(ctx context.Context, own part, err error) {
	// A stopped check proves nothing about the server.
	if ctx.Err() != nil {
		return
	}

	rule, field := own.list, ""

	// A malformed page may have a fault outside its rows, which has a rule of its own.
	if errors.Is(err, pms.ErrShape) {
		if fault := protocol.PageFault(c.body); fault != nil {
			field = fault.Field
		}
	}

	// The most general faults come first: they would break every other rule as well.
	e, _ := errors.AsType[*pms.Error](err)

	switch {
	case errors.Is(err, pms.ErrCredentials):
		rule = tokenAccepted
	case e != nil && e.Status >= 300 && e.Status < 400:
		rule = noRedirect
	case errors.Is(err, pms.ErrNotJSON):
		rule = contentType
	case errors.Is(err, pms.ErrNotUTF8):
		rule = utf8Text
	case errors.Is(err, pms.ErrTooLarge):
		rule = answerSize
	case errors.Is(err, protocol.ErrRowID):
		rule = own.id
	case errors.Is(err, protocol.ErrNext), errors.Is(err, protocol.ErrOwnNext), field == "next":
		rule = own.next
	case errors.Is(err, protocol.ErrMark), field == "mark":
		rule = stayMark
	case field == "complete":
		rule = stayComplete
	case e != nil && e.Status == 0 && !errors.Is(err, pms.ErrAnswer):
		rule = answers
	}

	c.wrong(rule, "", field, describe(err))
}

// isAbsent reports whether an error means that the server lacks the request.
func isAbsent(err error) bool {
	e, is := errors.AsType[*pms.Error](err)

	return is && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed ||
		e.Status == http.StatusNotImplemented)
}

// checkAccount reads the account, and reports whether other requests can succeed.
func (c *checker) checkAccount(ctx context.Context) bool {
	err := c.call(ctx, func() error {
		_, err := c.client.Account(ctx)
		return err
	})
	if err == nil {
		c.report.pass(accountID)
		return true
	}

	c.reportCall(ctx, only(accountID), err)

	e, _ := errors.AsType[*pms.Error](err)

	return errors.Is(err, pms.ErrAnswer) || e != nil && e.Status >= 300 && !errors.Is(err, pms.ErrCredentials)
}

// checkTokens checks that the server refuses an unknown token.
func (c *checker) checkTokens(ctx context.Context) {
	stranger, err := c.open("stayledger-check-no-such-token")
	if err != nil {
		return
	}

	for _, ask := range []func() error{
		func() error { _, err := stranger.Account(ctx); return err },
		func() error { _, err := stranger.Listings(ctx, ""); return err },
		func() error { _, err := stranger.Reservations(ctx, &pms.Query{}); return err },
	} {
		switch err := c.call(ctx, ask); {
		case ctx.Err() != nil:
			return
		case err == nil:
			c.wrong(tokenRefused, "", "", "the answer is given without the token of the account")
		case !errors.Is(err, pms.ErrCredentials):
			c.wrong(tokenRefused, "", "", describe(err))
		}
	}

	c.report.pass(tokenRefused)
}

// checkPage asks for a page that was never given. A server that gives no pages need not know of them.
func (c *checker) checkPage(ctx context.Context, rule string, hasPages bool, ask func(page string) error) {
	err := c.call(ctx, func() error { return ask("stayledger-check-no-such-page") })

	switch {
	case ctx.Err() != nil:
	case errors.Is(err, pms.ErrCursor), errors.Is(err, pms.ErrRefused):
		c.report.pass(rule)
	case err == nil && !hasPages:
		c.report.note(NotOffered, "All rows came on one page, so there are no others to ask for.", rule)
	case err == nil:
		c.wrong(rule, "", "page", "is answered as if it was a page")
	default:
		c.wrong(rule, "", "page", describe(err))
	}
}

// finish passes the general rules that no request has broken, if any answer was read. Rules that are still unchecked
// without a reason get the note that an earlier request failed.
func (c *checker) finish() {
	if c.isRead {
		c.report.pass(answers, contentType, utf8Text, answerSize, noRedirect, tokenAccepted)
	}

	for i := range c.report.Results {
		if r := &c.report.Results[i]; r.Outcome == NotChecked && r.Note == "" {
			r.Note = "An earlier request failed or was stopped."
		}
	}
}
