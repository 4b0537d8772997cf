package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"
)

const (
	// MinSigningKey is the shortest key in bytes that gives HMAC-SHA256 its full strength.
	minSigningKey = 32
	// LinkPurpose keeps a signature made here from being valid for anything else the same key may sign.
	linkPurpose = "stayledger file link\n"
)

// Signer signs download links, so that whoever holds one needs no credential (OPEN-48). It holds no clock.
type Signer struct {
	keys [][]byte
}

// NewSigner takes the signing keys, newest first: the first signs, all verify. To rotate, put the new key in front and
// drop the old one once the last link it signed has expired. It fails without a key and for keys under 32 bytes.
func NewSigner(keys ...[]byte) (*Signer, error) {
	if len(keys) == 0 {
		return nil, errors.New("blob: no signing key")
	}

	s := &Signer{keys: make([][]byte, len(keys))}

	// The keys are copied, so that the caller can clear its own.
	for i, key := range keys {
		if len(key) < minSigningKey {
			return nil, fmt.Errorf("blob: signing key %d has %d bytes, needs %d", i, len(key), minSigningKey)
		}

		s.keys[i] = append([]byte(nil), key...)
	}

	return s, nil
}

// Sign returns the signature of a link to fileID that is valid until expires, as base64url without padding. Only
// whole seconds of expires count, because a link carries seconds.
func (s *Signer) Sign(fileID string, expires time.Time) string {
	return base64.RawURLEncoding.EncodeToString(linkMAC(s.keys[0], fileID, expires))
}

// Verify reports whether Sign made sig for the same file and expiry with one of the keys. It takes the same time
// whichever key or byte differs. It does not check the time: the caller compares expires with its own clock.
func (s *Signer) Verify(fileID string, expires time.Time, sig string) bool {
	given, err := base64.RawURLEncoding.Strict().DecodeString(sig)
	if err != nil || len(sig) != base64.RawURLEncoding.EncodedLen(len(given)) {
		return false // the decoder skips line breaks; a link has one spelling
	}

	valid := false
	for _, key := range s.keys {
		valid = hmac.Equal(linkMAC(key, fileID, expires), given) || valid
	}

	return valid
}

// linkMAC signs the expiry in decimal on the last line, so that no id can be read as another id and expiry.
func linkMAC(key []byte, fileID string, expires time.Time) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(linkPurpose + fileID + "\n" + strconv.FormatInt(expires.Unix(), 10)))

	return mac.Sum(nil)
}
