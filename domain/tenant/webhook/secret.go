package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// secretPrefix begins the secrets of Standard Webhooks; base64 follows.
const secretPrefix = "whsec_"

// formerTime is how long messages are signed with the former secret too.
const formerTime = 24 * time.Hour

// NewSecret returns a secret with 256 random bits.
func NewSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails

	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// label returns the name under which the secrets of a webhook are sealed, the former one as well.
func label(webhook id.ID) string { return "webhook:" + webhook.String() }

// SealedColumns returns the columns of the secrets.
func SealedColumns() []seal.Column {
	return []seal.Column{
		{Table: "webhook", Name: "secret", Label: label},
		{Table: "webhook", Name: "former_secret", Label: label},
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
