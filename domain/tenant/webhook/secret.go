package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// secretPrefix begins the secrets of Standard Webhooks; base64 follows.
const secretPrefix = "whsec_"

// formerTime is how long messages are signed with a former secret too.
const formerTime = 24 * time.Hour

// NewSecret returns a secret with 256 random bits.
func NewSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails

	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// formerSecret is a secret that messages are still signed with.
type formerSecret struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until"`
}

// mostFormer bounds the former secrets, and so the signatures of a message.
const mostFormer = 4

// openFormer returns the former secrets that still sign.
func (c Config) openFormer(webhook id.ID, sealed []byte, now time.Time) ([]formerSecret, error) {
	if sealed == nil {
		return nil, nil
	}

	text, err := c.Box.Open(sealed, label(webhook))
	if err != nil {
		return nil, fmt.Errorf("former secrets of a webhook: %w", err)
	}

	var all []formerSecret
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("former secrets of a webhook: %w", err)
	}

	return slices.DeleteFunc(all, func(f formerSecret) bool { return !f.Until.After(now) }), nil
}

// rotate gives the webhook a new secret, which it returns. The present one signs for another day, and so do the former
// ones until their time.
func (c Config) rotate(w *stored, now time.Time) (string, error) {
	present, err := c.Box.Open(w.Secret, label(w.ID))
	if err != nil {
		return "", fmt.Errorf("secret of a webhook: %w", err)
	}

	former, err := c.openFormer(w.ID, w.FormerSecrets, now)
	if err != nil {
		return "", err
	}

	// The newest come first, and the oldest are dropped.
	former = append([]formerSecret{{string(present), now.Add(formerTime)}}, former...)

	text, err := json.Marshal(former[:min(len(former), mostFormer)]) //nolint:gosec // it is sealed
	if err != nil {
		return "", fmt.Errorf("encode former secrets: %w", err)
	}

	secret := NewSecret()
	w.Secret, w.FormerSecrets = c.Box.Seal([]byte(secret), label(w.ID)), c.Box.Seal(text, label(w.ID))

	return secret, nil
}

// label returns the name under which the secrets of a webhook are sealed, the former ones as well.
func label(webhook id.ID) string { return "webhook:" + webhook.String() }

// SealedColumns returns the columns of the secrets.
func SealedColumns() []seal.Column {
	return []seal.Column{
		{Table: "webhook", Name: "secret", Label: label},
		{Table: "webhook", Name: "former_secrets", Label: label},
	}
}

// Sign sets the headers of Standard Webhooks on a message: its id, the instant of the attempt, and a signature by each
// secret. It fails for a secret that is not base64.
func Sign(h http.Header, message string, at time.Time, body []byte, secrets ...string) error {
	signatures := make([]string, len(secrets))

	for i, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return fmt.Errorf("secret of a webhook: %w", err)
		}

		if signatures[i], err = signer.Sign(message, at, body); err != nil {
			return fmt.Errorf("sign a message: %w", err)
		}
	}

	h.Set(standardwebhooks.HeaderWebhookID, message)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))

	return nil
}
