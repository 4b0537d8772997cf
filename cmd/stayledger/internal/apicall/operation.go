package apicall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"
)

// operation is an operation as the service shows it.
type operation struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Status    string     `json:"status"`
	Failure   *reason    `json:"failure"`
	Resources []resource `json:"resources"`
}

type reason struct{ Code, Message string }

// resource is something that an operation works on or has made; a file has the path to fetch it at.
type resource struct {
	URL string `json:"url"`
}

// settle waits for the operation that an acknowledgement names, and returns its result: that of a payout, else the
// operation. With wantFile it is the file that the operation has made, if it has made one. What was done comes with the
// *OperationError of an operation that failed. An answer that names no operation is returned as it is.
func (c *Client) settle(ctx context.Context, acknowledged *answer, wantFile bool) (*answer, error) {
	text, err := acknowledged.readAll()
	if err != nil {
		return nil, err
	}

	started := gjson.GetBytes(text, "operationId").String()
	if started == "" {
		return inMemory(text), nil
	}

	o, shown, err := c.await(ctx, started)
	if err != nil {
		return nil, err
	}

	var failure error

	if o.Status == "failed" {
		f := &OperationError{ID: o.ID, Type: o.Type}
		if o.Failure != nil {
			f.Code, f.Message = o.Failure.Code, o.Failure.Message
		}

		failure = f
	}

	// A file is what there is to save; it exists only if the operation has completed.
	for _, r := range o.Resources {
		if wantFile && r.URL != "" {
			return c.get(ctx, Request{Method: http.MethodGet, Path: r.URL})
		}
	}

	// Payouts have a result of their own. Other operations have none, and some keys may not read it.
	result, err := c.get(ctx, Request{Method: http.MethodGet, Path: "/operations/" + url.PathEscape(o.ID) + "/result"})
	if f, isFailure := errors.AsType[*FailureError](err); isFailure && (f.Status == http.StatusNotFound || f.Status == http.StatusForbidden) {
		return inMemory(shown), failure
	}

	if err != nil {
		return nil, errors.Join(failure, err)
	}

	return result, failure
}

// await reads an operation until it has settled, and returns it with its JSON.
func (c *Client) await(ctx context.Context, id string) (*operation, []byte, error) {
	at := "/operations/" + url.PathEscape(id)

	// Whoever watches wants to see how far it is; otherwise the service is asked as seldom as it allows.
	seconds := "20"
	if c.Waiting != nil {
		seconds = "1"
	}

	for {
		text, err := c.read(ctx, Request{Method: http.MethodGet, Path: at, Query: url.Values{"waitSeconds": {seconds}}})
		if err != nil {
			return nil, nil, err
		}

		var o operation
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, nil, fmt.Errorf("read operation %s: %w", id, err)
		}

		if o.Status == "completed" || o.Status == "failed" {
			if c.Waiting != nil {
				c.Waiting(Progress{Type: o.Type, HasEnded: true})
			}

			return &o, text, nil
		}

		if err := c.showProgress(ctx, at, o.Type); err != nil {
			return nil, nil, err
		}

		// A service that is about to stop answers at once: do not ask it in a tight loop.
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// showProgress reports how far an operation is to whoever watches.
func (c *Client) showProgress(ctx context.Context, at, kind string) error {
	if c.Waiting == nil {
		return nil
	}

	text, err := c.read(ctx, Request{Method: http.MethodGet, Path: at + "/progress"})
	if err != nil {
		return err
	}

	p := Progress{Type: kind}
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("read progress: %w", err)
	}

	c.Waiting(p)

	return nil
}
