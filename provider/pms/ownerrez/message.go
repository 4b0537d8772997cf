package ownerrez

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"stayledger/provider/pms"
)

// minSecret is how many bytes a secret has at least: a shorter one could be guessed.
const minSecret = 16

// ErrMessage means that a message is not to be believed: its password or its form is wrong.
var ErrMessage = errors.New("message of the system is not to be believed")

// ReadMessage reads a message from its headers and its body, as much of it as the caller has read. The secret is both
// the name and the password that messages come with, and the only proof, so a message is a hint only, and its time does
// not matter. It fails with ErrMessage, and with a pms.SettingsError of the field secret if the secret could be
// guessed.
func ReadMessage(secret string, h http.Header, body []byte, _ time.Time) (*pms.Event, error) {
	if len(secret) < minSecret {
		return nil, &pms.SettingsError{Field: "secret", Problem: "has fewer than 16 bytes"}
	}

	return readMessage(secret, secret, h, body)
}

// ReadAppMessage reads a message that an app gets for all accounts that have given access to it, with the name and
// password that the app has set at the system. The event has the account. It fails with ErrMessage.
func ReadAppMessage(name, password string, h http.Header, body []byte) (*pms.Event, error) {
	out, err := readMessage(name, password, h, body)
	if err == nil && out.AccountID == "" {
		return nil, ErrMessage
	}

	return out, err
}

// readMessage reads a message with a name and a password.
func readMessage(user, secret string, h http.Header, body []byte) (*pms.Event, error) {
	// First the password: nothing of the message is read before it is known to be right.
	r := http.Request{Header: h}

	name, password, has := r.BasicAuth()
	if !has || !isEqual(name, user) || !isEqual(password, secret) {
		return nil, ErrMessage
	}

	var w struct {
		UserID     text `json:"user_id"`
		Action     text `json:"action"`
		EntityType text `json:"entity_type"`
		EntityID   text `json:"entity_id"`
	}
	if json.Unmarshal(body, &w) != nil || w.Action == "" {
		return nil, ErrMessage
	}

	out := &pms.Event{AccountID: string(w.UserID)}

	switch {
	case word(w.Action) == "applicationauthorizationrevoked":
		out.Revoked = true
	case word(w.EntityType) == "property":
		out.Listings = true
	case word(w.EntityType) != "booking":
		// Others, such as those of guests and tests, say nothing that is read here.
	case !isID(string(w.EntityID)):
		return nil, ErrMessage
	default:
		out.ReservationIDs = []string{string(w.EntityID)}
	}

	return out, nil
}

// isEqual compares texts in a time that does not depend on where they differ, nor on their lengths.
func isEqual(a, b string) bool {
	one, other := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(one[:], other[:]) == 1
}
