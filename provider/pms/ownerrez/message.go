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

// ReadMessage reads a message from its headers and its body, as much of it as the caller has read. The secret is both the
// name and the password that messages come with, and the only proof, so a message is a hint only, and its time does not
// matter. It fails with ErrMessage, and with a pms.SettingsError of the field secret if the secret could be guessed.
func ReadMessage(secret string, h http.Header, body []byte, _ time.Time) (*pms.Event, error) {
	if len(secret) < minSecret {
		return nil, &pms.SettingsError{Field: "secret", Problem: "has fewer than 16 bytes"}
	}

	// First the password: nothing of the message is read before it is known to be right.
	r := http.Request{Header: h}

	name, password, has := r.BasicAuth()
	if !has || !isEqual(name, secret) || !isEqual(password, secret) {
		return nil, ErrMessage
	}

	var w struct {
		Action     text `json:"action"`
		EntityType text `json:"entity_type"`
		EntityID   text `json:"entity_id"`
	}
	if json.Unmarshal(body, &w) != nil || w.Action == "" {
		return nil, ErrMessage
	}

	switch {
	case word(w.Action) == "applicationauthorizationrevoked":
		return &pms.Event{Revoked: true}, nil
	case word(w.EntityType) == "property":
		return &pms.Event{Listings: true}, nil
	case word(w.EntityType) != "booking":
		// Others, such as those of guests and tests, say nothing that is read here.
		return &pms.Event{}, nil
	case !isID(string(w.EntityID)):
		return nil, ErrMessage
	}

	return &pms.Event{ReservationIDs: []string{string(w.EntityID)}}, nil
}

// isEqual compares texts in a time that does not depend on where they differ, nor on their lengths.
func isEqual(a, b string) bool {
	one, other := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(one[:], other[:]) == 1
}
