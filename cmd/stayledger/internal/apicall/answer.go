package apicall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// answer is an answer below 400. Whoever has it reads or closes its body.
type answer struct {
	status      int
	contentType string
	body        io.ReadCloser
}

// inMemory returns an answer with JSON that was read already.
func inMemory(text []byte) *answer {
	return &answer{http.StatusOK, "application/json", io.NopCloser(bytes.NewReader(text))}
}

// get sends a request and returns its answer, or the errors of Do.
func (c *Client) get(ctx context.Context, r Request) (*answer, error) {
	response, err := c.Do(ctx, r) //nolint:bodyclose // the answer's
	if err != nil {
		return nil, err
	}

	return &answer{response.StatusCode, response.Header.Get("Content-Type"), response.Body}, nil
}

// read sends a request and returns the body of its answer.
func (c *Client) read(ctx context.Context, r Request) ([]byte, error) {
	a, err := c.get(ctx, r)
	if err != nil {
		return nil, err
	}

	return a.readAll()
}

// readAll reads the body and closes it.
func (a *answer) readAll() ([]byte, error) {
	text, err := io.ReadAll(a.body)
	if err = errors.Join(err, a.body.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}

	return text, nil
}
