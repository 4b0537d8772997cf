package plaid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"
)

// maxAnswer is how many bytes are read of an answer, after it was unpacked. A page of 500 transactions with all their
// details is some 2 MB.
const maxAnswer = 16 << 20

// call sends a request and reads its answer into a value. It fails with an Error.
func (c *Client) call(ctx context.Context, path string, body, into any) error {
	content, err := c.ask(ctx, path, body)
	if err != nil {
		return err
	}

	if err := json.Unmarshal(content, into); err != nil {
		return nonsense("is not of the protocol")
	}

	return nil
}

// ask sends a request and gives the JSON of its answer.
func (c *Client) ask(ctx context.Context, path string, body any) ([]byte, error) {
	if until, free := c.budget.take(time.Now()); !free {
		return nil, &Error{Kind: ErrLimited, Until: until}
	}

	ctx, stop := context.WithTimeout(ctx, c.config.Within)
	defer stop()

	req, err := c.request(ctx, path, body)
	if err != nil {
		return nil, err
	}

	answer, err := c.http.Do(req)
	if err != nil {
		return nil, cut(err)
	}

	defer func() { _ = answer.Body.Close() }()

	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, cut(err)
	case len(content) > maxAnswer:
		return nil, nonsense("is too large")
	case answer.StatusCode != http.StatusOK:
		return nil, failure(answer, content)
	}

	if media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, nonsense("is not JSON")
	}

	if !utf8.Valid(content) {
		return nil, nonsense("is not UTF-8")
	}

	if !bytes.Contains(content, []byte(`"request_id"`)) { // Every answer has one; {} would pass for one in which nothing happened.
		return nil, nonsense("is not of the protocol")
	}

	return content, nil
}

func (c *Client) request(ctx context.Context, path string, body any) (*http.Request, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("bank feed request: %w", err)
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("bank feed request: %w", err)
	}

	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "stayledger")
	req.Header.Set("Plaid-Version", "2020-09-14")
	req.Header.Set("Plaid-Client-Id", c.config.ClientID)
	req.Header.Set("Plaid-Secret", c.config.Secret)

	return req, nil
}

// bucket lets so many calls through in a minute. A fifth of them can come at once.
type bucket struct {
	mu    sync.Mutex
	every time.Duration // between calls
	burst time.Duration // how far calls can run ahead
	next  time.Time     // when the next call would be due
}

func newBucket(perMinute int) *bucket {
	burst := max(perMinute/5, 1)
	every := time.Minute / time.Duration(max(perMinute-burst, 1))

	return &bucket{every: every, burst: time.Duration(burst) * every}
}

// take reports whether a call may go out now, and otherwise when.
func (b *bucket) take(now time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.next.Before(now) {
		b.next = now
	}

	if due := b.next.Add(b.every); due.Sub(now) > b.burst {
		return due.Add(-b.burst), false
	}

	b.next = b.next.Add(b.every)

	return now, true
}
