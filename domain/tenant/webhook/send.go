package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

// answerTime is how long a receiver may take to answer.
const answerTime = 15 * time.Second

// bodyTime is how long the beginning of its body is waited for, once it has answered, and bodyBytes how much of it is
// kept.
const (
	bodyTime  = time.Second
	bodyBytes = 1024
)

// mostWait is the longest time that a receiver can ask to be left alone.
const mostWait = 24 * time.Hour

// message is a request to a receiver.
type message struct {
	url     string
	secrets []string
	eventID id.ID
	payload string
}

// answer is the answer of a receiver, or the failure to get one.
type answer struct {
	failure Failure // empty for a success
	status  int     // 0 for no answer
	body    string
	took    time.Duration
	// wait is how long the receiver asks to be left alone; 0 if it does not say.
	wait time.Duration
}

// slowDown reports whether the receiver says that it gets too much, or cannot take anything now.
func (a *answer) slowDown() bool {
	switch a.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return a.wait > 0
	}
}

// send makes one attempt, whose answer is waited for within a time. It fails if the context ends or a secret cannot
// sign: then nothing is known of the message.
func (m *message) send(ctx context.Context, client *http.Client, within time.Duration, now time.Time) (*answer, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()

	r, err := http.NewRequestWithContext(limited, http.MethodPost, m.url, strings.NewReader(m.payload))
	if err != nil {
		return &answer{failure: Unreachable}, nil // An earlier version took such an address.
	}

	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "stayledger-webhooks")

	if err := Sign(r.Header, m.eventID.String(), now, []byte(m.payload), m.secrets...); err != nil {
		return nil, err
	}

	began := time.Now() //nolint:forbidigo // how long it takes

	response, err := client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err() //nolint:wrapcheck // the process is being stopped
		}

		return &answer{failure: findFailure(err), took: time.Since(began)}, nil
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written

	// The status decides.
	a := &answer{status: response.StatusCode}

	switch {
	case a.status >= http.StatusOK && a.status < http.StatusMultipleChoices:
	case a.status >= http.StatusMultipleChoices && a.status < http.StatusBadRequest:
		a.failure = Redirected
	default:
		a.failure = Answered
	}

	if a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError {
		a.wait = readRetryAfter(response.Header.Get("Retry-After"), now)
	}

	// The status is the answer. A body that comes slowly is not waited for.
	defer time.AfterFunc(bodyTime, cancel).Stop()

	var body bytes.Buffer

	_, _ = io.Copy(&body, io.LimitReader(response.Body, bodyBytes)) // a part of it is enough
	a.body = strings.ReplaceAll(strings.ToValidUTF8(body.String(), "\uFFFD"), "\x00", "\uFFFD")
	a.took = time.Since(began)

	return a, nil
}

// findFailure returns why there was no answer.
func findFailure(err error) Failure {
	switch why := outbound.Cause(err); {
	case errors.Is(why, outbound.ErrNotPublic):
		return AddressNotAllowed
	case errors.Is(why, outbound.ErrTimeout), errors.Is(why, context.Canceled):
		return TimedOut
	default:
		return Unreachable
	}
}

// readRetryAfter reads the header Retry-After: seconds or a date, at most a day. It returns 0 for any other text.
func readRetryAfter(text string, now time.Time) time.Duration {
	// Cut seconds before they are multiplied, so that none overflows.
	wait := time.Duration(0)

	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		wait = time.Duration(min(seconds, int64(mostWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}

	return min(max(wait, 0), mostWait)
}
