package plaid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"
)

// maxAnswer is how many bytes an answer can have, after it was unpacked. A page of 500 transactions with all their
// details is some 2 MB.
const maxAnswer = 16 << 20

// call sends a request and decodes its answer. It fails with an Error.
func (c *Client) call(ctx context.Context, path string, body, into any) error {
	content, err := c.ask(ctx, path, body)
	if err != nil {
		return err
	}

	if err := json.Unmarshal(content, into); err != nil {
		return badAnswer("is not of the protocol")
	}

	return nil
}

// ask sends a request and returns the JSON of its answer. It fails with an Error, also if the answer is not of the
// protocol.
func (c *Client) ask(ctx context.Context, path string, body any) ([]byte, error) {
	// First, the vendor's limit over all items: a call beyond it is not even sent.
	if until, free := c.budget.Take(time.Now()); !free {
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
		return nil, networkError(err)
	}

	defer func() { _ = answer.Body.Close() }()

	// One byte more than the bound, to notice an answer that is longer.
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, networkError(err)
	case len(content) > maxAnswer:
		return nil, badAnswer("is too large")
	case answer.StatusCode != http.StatusOK:
		return nil, failure(answer, content)
	}

	// A status of 200 alone proves nothing: proxies answer with it too.
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, badAnswer("is not JSON")
	}

	if !utf8.Valid(content) {
		return nil, badAnswer("is not UTF-8")
	}

	// Every answer has a request_id. Without this check {} would pass for an answer in which nothing happened.
	if !bytes.Contains(content, []byte(`"request_id"`)) {
		return nil, badAnswer("is not of the protocol")
	}

	return content, nil
}

// request builds the HTTP request of a call, with our keys in its headers.
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

	// The version of the protocol that this package is written for.
	req.Header.Set("Plaid-Version", "2020-09-14")
	req.Header.Set("Plaid-Client-Id", c.config.ClientID)
	req.Header.Set("Plaid-Secret", c.config.Secret)

	return req, nil
}
