package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// MessageTolerance is how far the time of a message may be from ours: old messages are refused, even if their signature
// is right.
const MessageTolerance = 5 * time.Minute

// ErrMessage means that a message has a wrong signature, time or form.
var ErrMessage = errors.New("message of the system is not to be believed")

// ReadMessage reads a message from its headers and its unchanged body, of at most 1 MiB. Messages are signed as
// Standard Webhooks are. It fails with ErrMessage, and with a pms.SettingsError of the field secret if the secret
// cannot sign. A message can come twice and late, so it is a hint only.
func ReadMessage(secret string, h http.Header, body []byte, now time.Time) (*pms.Event, error) {
	key, err := messageKey(secret)
	if err != nil {
		return nil, err
	}

	// First the signature: nothing of the message is read before it is known to be right.
	id, timestamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	if !outbound.Printable(id, maxID) || !isSigned(h.Get("Webhook-Signature"), signMessage(key, id, timestamp, body)) {
		return nil, ErrMessage
	}

	// Then the time, which is signed too: an old message that was recorded must not work again.
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > MessageTolerance {
		return nil, ErrMessage
	}

	// Last the content. It comes from the system, so it is checked like an answer.
	var w struct {
		ReservationIDs []string `json:"reservationIds"`
		Listings       bool     `json:"listings"`
		Revoked        bool     `json:"revoked"`
	}
	if json.Unmarshal(body, &w) != nil || len(w.ReservationIDs) > maxRows {
		return nil, ErrMessage
	}

	for _, id := range w.ReservationIDs {
		if !outbound.Printable(id, maxID) {
			return nil, ErrMessage
		}
	}

	return &pms.Event{ReservationIDs: w.ReservationIDs, Listings: w.Listings, Revoked: w.Revoked}, nil
}

// isSigned reports whether one of the signatures in a header, parted by blanks, is the one wanted. There are several
// while a secret is being changed.
func isSigned(header string, want []byte) bool {
	if len(header) > 2000 {
		return false
	}

	for value := range strings.FieldsSeq(header) {
		encoded, isV1 := strings.CutPrefix(value, "v1,")
		if !isV1 {
			continue
		}

		if got, err := base64.StdEncoding.DecodeString(encoded); err == nil && hmac.Equal(got, want) {
			return true
		}
	}

	return false
}

// signMessage computes the signature of a message.
func signMessage(key []byte, id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(id + "." + timestamp + ".")) // never fails
	_, _ = h.Write(body)

	return h.Sum(nil)
}

// messageKey reads a secret: base64 after "whsec_", or any text as it is. It fails with a pms.SettingsError if the
// base64 is wrong or the key has fewer than 16 bytes, which could be guessed.
func messageKey(secret string) ([]byte, error) {
	key := []byte(secret)
	if encoded, isEncoded := strings.CutPrefix(secret, "whsec_"); isEncoded {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, &pms.SettingsError{Field: "secret", Problem: "has no base64 behind whsec_"}
		}

		key = decoded
	}

	if len(key) < 16 {
		return nil, &pms.SettingsError{Field: "secret", Problem: "has fewer than 16 bytes"}
	}

	return key, nil
}
