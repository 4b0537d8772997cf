package plaid

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"stayledger/platform/outbound"
)

// VerificationHeader is the header of a webhook that proves where it comes from.
const VerificationHeader = "Plaid-Verification"

// WebhookTolerance is how far the time of a webhook may be from ours: old messages are refused, even if their signature
// is right.
const WebhookTolerance = 5 * time.Minute

// MaxWebhook is how many bytes a webhook can have.
const MaxWebhook = 1 << 20

// ErrWebhook means that a webhook is not to be believed: its signature, its time or its form is wrong.
var ErrWebhook = errors.New("webhook of the bank feed is not to be believed")

// WebhookTopic is the subject of a webhook: its type and code.
type WebhookTopic string

// The topics that mean something here. Others come too, and must be accepted without doing anything.
const (
	LinkFinished       WebhookTopic = "LINK/SESSION_FINISHED"
	SyncUpdates        WebhookTopic = "TRANSACTIONS/SYNC_UPDATES_AVAILABLE"
	ItemFailed         WebhookTopic = "ITEM/ERROR"
	LoginRepaired      WebhookTopic = "ITEM/LOGIN_REPAIRED"
	NewAccounts        WebhookTopic = "ITEM/NEW_ACCOUNTS_AVAILABLE"
	PendingDisconnect  WebhookTopic = "ITEM/PENDING_DISCONNECT"
	PendingExpiration  WebhookTopic = "ITEM/PENDING_EXPIRATION"
	PermissionRevoked  WebhookTopic = "ITEM/USER_PERMISSION_REVOKED"
	AccountRevoked     WebhookTopic = "ITEM/USER_ACCOUNT_REVOKED"
	WebhookAcknowledge WebhookTopic = "ITEM/WEBHOOK_UPDATE_ACKNOWLEDGED"
)

// Webhook is a hint to ask again. It can come several times, late and in any order, and a repetition cannot be
// recognized, so nothing may be done that asking does not confirm.
type Webhook struct {
	Topic  WebhookTopic
	ItemID string // empty for LinkFinished
	// LinkToken and Completed are of LinkFinished: which link, and whether the person came to an end with it.
	LinkToken string
	Completed bool
	// HistoryComplete is of SyncUpdates: the whole history has been fetched.
	HistoryComplete bool
	// Problem is of ItemFailed and of topics that revoke.
	Problem *Error
}

type wireWebhook struct {
	Type            string     `json:"webhook_type"`
	Code            string     `json:"webhook_code"`
	ItemID          string     `json:"item_id"`
	LinkToken       string     `json:"link_token"`
	Status          string     `json:"status"`
	HistoryComplete bool       `json:"historical_update_complete"`
	Error           *wireError `json:"error"`
}

type jwsHeader struct {
	Algorithm string   `json:"alg"`
	KeyID     string   `json:"kid"`
	Critical  []string `json:"crit"`
}

type jwsClaims struct {
	IssuedAt int64  `json:"iat"` // seconds since 1970
	BodyHash string `json:"request_body_sha256"`
}

// Webhook reads a webhook from the value of its VerificationHeader and its unchanged body. It fails with ErrWebhook
// if the message is not to be believed. It fails with an Error if the key to check it with cannot be had now: then
// it should be refused so that it comes again.
func (c *Client) Webhook(ctx context.Context, verification string, body []byte, now time.Time) (Webhook, error) {
	if len(body) > MaxWebhook || !utf8.Valid(body) {
		return Webhook{}, ErrWebhook
	}

	// First the checks that need no key, so that old or foreign messages cause no call to the vendor.
	signed, err := readJWS(verification)
	if err != nil || !signed.covers(body) || now.Sub(time.Unix(signed.claims.IssuedAt, 0)).Abs() > WebhookTolerance {
		return Webhook{}, ErrWebhook
	}

	// Then the signature. Only after it is anything of the body believed.
	key, err := c.key(ctx, signed.header.KeyID, now)
	if err != nil {
		return Webhook{}, fmt.Errorf("webhook: %w", err)
	}

	if !signed.verify(key) {
		return Webhook{}, ErrWebhook
	}

	var w wireWebhook
	if err := json.Unmarshal(body, &w); err != nil || w.Type == "" || w.Code == "" {
		return Webhook{}, ErrWebhook
	}

	// Fields that the topic does not have stay empty.
	out := Webhook{
		Topic:           WebhookTopic(tidyCode(w.Type) + "/" + tidyCode(w.Code)),
		ItemID:          tidyID(w.ItemID),
		LinkToken:       tidyID(w.LinkToken),
		Completed:       strings.EqualFold(w.Status, "success"),
		HistoryComplete: w.HistoryComplete,
	}
	if w.Error != nil && w.Error.Code != "" {
		out.Problem = w.Error.error()
	}

	return out, nil
}

// jws is a signed statement (RFC 7515) about the body of a webhook.
type jws struct {
	header    jwsHeader
	claims    jwsClaims
	hash      [sha256.Size]byte // of the signed text
	signature []byte
}

// readJWS decodes a signed statement. It fails with ErrWebhook if the form is wrong. It looks at the algorithm
// before anything else: a statement that chooses another one proves nothing.
func readJWS(s string) (jws, error) {
	parts := strings.Split(s, ".")
	if len(s) > 4000 || len(parts) != 3 {
		return jws{}, ErrWebhook
	}

	var out jws

	// No extension that must be understood is understood here (RFC 7515, crit).
	err := decodePart(parts[0], &out.header)
	if err != nil || out.header.Algorithm != "ES256" || len(out.header.Critical) > 0 ||
		!outbound.Printable(out.header.KeyID, maxCode) {
		return jws{}, ErrWebhook
	}

	if err := decodePart(parts[1], &out.claims); err != nil {
		return jws{}, ErrWebhook
	}

	// An ES256 signature is two numbers of 32 bytes.
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return jws{}, ErrWebhook
	}

	// Both parts are signed as they came, and not as they were decoded.
	out.signature = signature
	out.hash = sha256.Sum256([]byte(parts[0] + "." + parts[1]))

	return out, nil
}

// decodePart decodes one part of a statement: JSON in base64. It fails with ErrWebhook.
func decodePart(encoded string, into any) error {
	content, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return ErrWebhook
	}

	if err := json.Unmarshal(content, into); err != nil {
		return ErrWebhook
	}

	return nil
}

// covers reports whether the statement is about this body.
func (s *jws) covers(body []byte) bool {
	sum := sha256.Sum256(body)
	return subtle.ConstantTimeCompare([]byte(s.claims.BodyHash), []byte(hex.EncodeToString(sum[:]))) == 1
}

// verify reports whether the statement was signed with this key.
func (s *jws) verify(key *ecdsa.PublicKey) bool {
	r, v := new(big.Int).SetBytes(s.signature[:32]), new(big.Int).SetBytes(s.signature[32:])
	return ecdsa.Verify(key, s.hash[:], r, v)
}
