package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"stayledger/cmd/stayledger/internal/apicall"
	"stayledger/domain/record/trail"
	"stayledger/domain/tenant/webhook"
)

// listenCmd follows the trail of a team and forwards its events, so that a receiver can be tried on a machine that the
// service cannot reach.
type listenCmd struct {
	service   `embed:""`
	ForwardTo string `name:"forward-to" help:"Address that gets each event, signed as a webhook signs it. Events are only printed when empty."`
	Secret    string `env:"STAYLEDGER_WEBHOOK_SECRET" help:"Secret to sign with (whsec_…); one is made and printed when empty."`
}

// followPause is how long the end of the trail is left alone before it is read again.
const followPause = time.Second

// Run prints and forwards events until it is stopped. It begins with those from now on.
func (c *listenCmd) Run(r *runContext) error {
	client, err := c.client()
	if err != nil {
		return err
	}

	if c.Secret == "" {
		c.Secret = webhook.NewSecret()
	}

	if c.ForwardTo != "" {
		fmt.Printf("signing with %s\n", c.Secret)
	}

	f := follower{listenCmd: c, client: client, receiver: &http.Client{Timeout: time.Minute}, from: time.Now(), seen: time.Now()}

	for {
		page, err := f.next(r.ctx)
		switch {
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case err != nil && f.cursor == "":
			return err // nothing was ever read: the address or the key is wrong
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
		default:
			for i := range page.Data {
				if err := f.tell(r.ctx, &page.Data[i]); err != nil {
					return err
				}
			}

			if page.Page.HasMore {
				continue
			}
		}

		select {
		case <-r.ctx.Done():
		case <-time.After(followPause):
		}
	}
}

// follower reads the trail from an instant on, and then from a cursor.
type follower struct {
	*listenCmd

	client   *apicall.Client
	receiver *http.Client
	// from is the filter that the cursor belongs to, seen is when the last event was recorded.
	from, seen time.Time
	cursor     string
}

// next reads the next page of events, which can be empty.
func (f *follower) next(ctx context.Context) (*trail.EventList, error) {
	query := url.Values{"sort": {"recordedAt"}, "limit": {"250"}, "from": {f.from.UTC().Format(time.RFC3339Nano)}}
	if f.cursor != "" {
		query.Set("cursor", f.cursor)
	}

	response, err := f.client.Do(ctx, apicall.Request{Method: http.MethodGet, Path: "/audit/events", Query: query})

	// A cursor lives a day: after a longer break the trail goes on from the last event.
	if failure, isFailure := errors.AsType[*apicall.FailureError](err); isFailure && failure.Status == http.StatusGone {
		f.cursor, f.from = "", f.seen
		return &trail.EventList{Page: trail.Page{HasMore: true}}, nil
	}

	if err != nil {
		return nil, err
	}

	defer response.Body.Close() //nolint:errcheck // nothing was written

	var page trail.EventList
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}

	if page.Page.NextCursor != nil {
		f.cursor = *page.Page.NextCursor
	}

	return &page, nil
}

// tell prints an event and forwards it. A receiver that fails is printed, and called again with the next event.
func (f *follower) tell(ctx context.Context, e *trail.Event) error {
	m := webhook.NewMessage(e)
	line := fmt.Sprintf("%s %s %s %s %s", e.RecordedAt, e.Type, e.Entity.Type, e.Entity.ID, strings.Join(m.Data.ChangedKeys, ","))
	f.seen = e.RecordedAt.Time

	if f.ForwardTo != "" {
		status, err := f.forward(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}

		if line += " → " + status; err != nil {
			line += err.Error()
		}
	}

	_, err := fmt.Println(line)

	return err
}

// forward sends a message as the service would, and returns the status of the answer.
func (f *follower) forward(ctx context.Context, m *webhook.Message) (string, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return "", err
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.ForwardTo, bytes.NewReader(body))
	if err != nil {
		return "", err
	}

	request.Header.Set("Content-Type", "application/json")

	if err := webhook.Sign(request.Header, m.ID.String(), time.Now(), body, f.Secret); err != nil {
		return "", err
	}

	response, err := f.receiver.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written

	return response.Status, nil
}
