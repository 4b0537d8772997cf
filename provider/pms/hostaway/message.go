package hostaway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// login is the name that messages come with. By it our subscription is known among those of others.
const login = "stayledger"

// minSecret is how many bytes a secret has at least: a shorter one could be guessed.
const minSecret = 16

const hooksPath = "/webhooks/unifiedWebhooks"

// ErrMessage means that a message is not to be believed: its password or its form is wrong.
var ErrMessage = errors.New("message of the system is not to be believed")

// ReadMessage reads a message from its headers and its body, as much of it as the caller has read. The password is the
// only proof, and messages come twice and late, so a message is a hint only, and its time does not matter. It fails
// with ErrMessage, and with a pms.SettingsError of the field secret if the secret could be guessed.
func ReadMessage(secret string, h http.Header, body []byte, _ time.Time) (*pms.Event, error) {
	if len(secret) < minSecret {
		return nil, &pms.SettingsError{Field: "secret", Problem: "has fewer than 16 bytes"}
	}

	// First the password: nothing of the message is read before it is known to be right.
	r := http.Request{Header: h}

	name, password, has := r.BasicAuth()
	if !has || !isEqual(name, login) || !isEqual(password, secret) {
		return nil, ErrMessage
	}

	var w struct {
		Object text            `json:"object"`
		Event  text            `json:"event"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &w) != nil {
		return nil, ErrMessage
	}

	// Others, such as those of guests and hosts to each other, say nothing that is read here.
	if w.Object != "reservation" && !strings.HasPrefix(string(w.Event), "reservation.") {
		return &pms.Event{}, nil
	}

	id, err := rowID(w.Data)
	if err != nil {
		return nil, ErrMessage
	}

	return &pms.Event{ReservationIDs: []string{id}}, nil
}

// isEqual compares texts in a time that does not depend on where they differ, nor on their lengths.
func isEqual(a, b string) bool {
	one, other := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(one[:], other[:]) == 1
}

// Subscribe has messages sent to an address, with the secret as their password. It fails with a pms.Error.
func (c *Client) Subscribe(ctx context.Context, to, secret string) error {
	old, err := c.subscriptions(ctx)
	if err != nil {
		return err
	}

	// The new one comes first: a message too many does no harm.
	body := map[string]any{"isEnabled": 1, "url": to, "login": login, "password": secret}
	if _, _, err := c.call(ctx, http.MethodPost, hooksPath, body); err != nil {
		return err
	}

	return c.drop(ctx, old)
}

// Unsubscribe ends the messages. It fails with a pms.Error.
func (c *Client) Unsubscribe(ctx context.Context) error {
	old, err := c.subscriptions(ctx)
	if err != nil {
		return err
	}

	return c.drop(ctx, old)
}

// subscriptions returns the ids of our subscriptions. It fails with a pms.Error.
func (c *Client) subscriptions(ctx context.Context) ([]string, error) {
	answer, _, err := c.call(ctx, http.MethodGet, hooksPath, nil)
	if err != nil {
		return nil, err
	}

	list, err := answer.rows()
	if err != nil {
		return nil, err
	}

	var out []string

	for _, content := range list {
		var w struct {
			ID    text `json:"id"`
			Login text `json:"login"`
		}
		if json.Unmarshal(content, &w) == nil && w.Login == login && outbound.Printable(string(w.ID), maxID) {
			out = append(out, string(w.ID))
		}
	}

	return out, nil
}

// drop ends subscriptions. It fails with a pms.Error.
func (c *Client) drop(ctx context.Context, ids []string) error {
	for _, id := range ids {
		_, _, err := c.call(ctx, http.MethodDelete, hooksPath+"/"+url.PathEscape(id), nil)
		if err != nil && !isAbsent(err) {
			return err
		}
	}

	return nil
}
