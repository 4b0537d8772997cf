package pay

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// CallbackType is the only kind of message that providers call back with.
const CallbackType = "payment.updated"

// CallbackTolerance is how far the time of a callback may be from ours: old messages are refused, even if their
// signature is right.
const CallbackTolerance = 5 * time.Minute

// ErrCallback means that a callback is not to be believed: its signature, its time or its form is wrong.
var ErrCallback = errors.New("callback of the payment provider is not to be believed")

// Signature has the values of the headers webhook-id, webhook-timestamp and webhook-signature of a callback (Standard
// Webhooks).
type Signature struct {
	ID        string
	Timestamp string // seconds since 1970
	Value     string // "v1," and base64; several with blanks between them while a secret is being changed
}

// Callback is a message that a payment has another state. It can come several times, and callbacks come in any order.
type Callback struct {
	ID      string // of the message: its repetitions have the same
	Outcome Outcome
}

type callbackMessage struct {
	ID   string       `json:"id"`
	Type string       `json:"type"`
	Data wireCallback `json:"data"`
}

type wireCallback struct {
	Key   string `json:"key"`
	ID    string `json:"id"`
	State State  `json:"state"`
	Code  string `json:"code,omitempty"`
}

// SignCallback returns the message of a callback and its signature. It fails with a SettingsError if the secret
// cannot sign.
func SignCallback(secret string, c Callback, at time.Time) (Signature, []byte, error) {
	key, err := callbackKey(secret)
	if err != nil {
		return Signature{}, nil, err
	}

	body, err := json.Marshal(callbackMessage{ID: c.ID, Type: CallbackType, Data: wireCallback{
		Key: c.Outcome.Key, ID: c.Outcome.Ref, State: c.Outcome.State, Code: c.Outcome.Code,
	}})
	if err != nil {
		return Signature{}, nil, err //nolint:wrapcheck // strings always marshal
	}

	// The signature covers the identifier, the time and the exact bytes of the body.
	s := Signature{ID: c.ID, Timestamp: strconv.FormatInt(at.Unix(), 10)}
	s.Value = "v1," + base64.StdEncoding.EncodeToString(s.mac(key, body))

	return s, body, nil
}

// VerifyCallback reads a callback that was signed with the secret. It fails with ErrCallback if the message is not
// to be believed. Whoever has the secret can sign, so each connection needs a secret of its own.
func VerifyCallback(secret string, s Signature, body []byte, now time.Time) (Callback, error) {
	key, err := callbackKey(secret)
	if err != nil {
		return Callback{}, err
	}

	// First the signature: nothing of the message is read before it is known to be right.
	if !s.verify(key, body) {
		return Callback{}, ErrCallback
	}

	// Then the time, which is signed too: an old message that was recorded must not work again.
	seconds, err := strconv.ParseInt(s.Timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > CallbackTolerance {
		return Callback{}, ErrCallback
	}

	// Last, the message itself. The identifier in it must be the one that was signed.
	var m callbackMessage
	if err := json.Unmarshal(body, &m); err != nil || m.ID != s.ID || m.Type != CallbackType {
		return Callback{}, ErrCallback
	}

	o, err := wirePayment{ID: m.Data.ID, Key: m.Data.Key, State: m.Data.State, Code: m.Data.Code}.outcome()
	if err != nil {
		return Callback{}, ErrCallback
	}

	return Callback{ID: m.ID, Outcome: o}, nil
}

// verify reports whether the signature was made with the key for this body.
func (s Signature) verify(key, body []byte) bool {
	if s.ID == "" || len(s.ID) > maxRef || len(s.Value) > 2000 {
		return false
	}

	// While a secret is being changed there is a signature for each secret; one that fits is enough.
	want := s.mac(key, body)
	for value := range strings.FieldsSeq(s.Value) {
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

// mac computes the signature of a body with a key.
func (s Signature) mac(key, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(s.ID + "." + s.Timestamp + ".")) // never fails
	_, _ = h.Write(body)

	return h.Sum(nil)
}

// callbackKey reads a secret: base64 after "whsec_", or any text as it is. It fails with a SettingsError if the
// base64 is wrong or the key has fewer than 16 bytes.
func callbackKey(secret string) ([]byte, error) {
	key := []byte(secret)
	if encoded, isEncoded := strings.CutPrefix(secret, "whsec_"); isEncoded {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, &SettingsError{Field: "callbackSecret", Problem: "has no base64 behind whsec_"}
		}

		key = decoded
	}

	// A shorter key could be guessed.
	if len(key) < 16 {
		return nil, &SettingsError{Field: "callbackSecret", Problem: "has fewer than 16 bytes"}
	}

	return key, nil
}
