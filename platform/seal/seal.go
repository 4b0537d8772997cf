// Package seal encrypts what the service must be able to read again: account numbers, tax identifiers, credentials. A
// sealed value can be opened only under the label it was sealed with, so a value copied into another row or column is
// refused.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"stayledger/platform/id"
)

// ErrSealed means that a value cannot be opened: with none of the keys, or not under this label.
var ErrSealed = errors.New("sealed value cannot be opened")

// Box seals with its first key and opens with all of them, so that keys can be rotated.
type Box struct {
	ciphers []cipher.AEAD
	// secrets are the keys that secrets for others are derived from.
	secrets [][]byte
}

// New returns a box with secret keys of at least 32 bytes. Its keys are derived, so other uses of the same secrets
// have nothing in common with it.
func New(keys ...[]byte) (*Box, error) {
	if len(keys) == 0 {
		return nil, errors.New("seal: no key")
	}

	b := &Box{}

	for _, key := range keys {
		if len(key) < 32 {
			return nil, errors.New("seal: a key has at least 32 bytes")
		}

		// Each secret becomes a key of its own for this purpose.
		derived, err := hkdf.Key(sha256.New, key, nil, "stayledger seal v1", 32)
		if err != nil {
			return nil, fmt.Errorf("seal: %w", err)
		}

		block, err := aes.NewCipher(derived)
		if err != nil {
			return nil, fmt.Errorf("seal: %w", err)
		}

		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("seal: %w", err)
		}

		given, err := hkdf.Key(sha256.New, key, nil, "stayledger secrets v1", 32)
		if err != nil {
			return nil, fmt.Errorf("seal: %w", err)
		}

		b.ciphers, b.secrets = append(b.ciphers, aead), append(b.secrets, given)
	}

	return b, nil
}

// Secrets returns texts that only the service knows and that belong to a label, such as what another service signs its
// messages with: one of each key, that of the first key first. That one is given out, and all are accepted, so that keys
// can be rotated.
func (b *Box) Secrets(label string) []string {
	out := make([]string, len(b.secrets))

	for i, key := range b.secrets {
		h := hmac.New(sha256.New, key)
		_, _ = h.Write([]byte(label)) // never fails
		out[i] = hex.EncodeToString(h.Sum(nil))
	}

	return out
}

// Seal encrypts a value under a label, such as its table, column and id.
func (b *Box) Seal(plain []byte, label string) []byte {
	return b.ciphers[0].Seal( //nolint:gosec // the nonce is random: see NewGCMWithRandomNonce
		nil,
		nil,
		plain,
		[]byte(label),
	)
}

// Open decrypts a value. It fails with ErrSealed if no key fits the value and label.
func (b *Box) Open(sealed []byte, label string) ([]byte, error) {
	for _, c := range b.ciphers {
		if plain, err := c.Open(nil, nil, sealed, []byte(label)); err == nil {
			return plain, nil
		}
	}

	return nil, ErrSealed
}

// Reseal returns a value as the first key seals it: a new one, or the value itself if the first key has sealed it,
// and reports whether it is new. It fails with ErrSealed.
func (b *Box) Reseal(sealed []byte, label string) (fresh []byte, isNew bool, err error) {
	if _, err := b.ciphers[0].Open(nil, nil, sealed, []byte(label)); err == nil {
		return sealed, false, nil
	}

	plain, err := b.Open(sealed, label)
	if err != nil {
		return nil, false, err
	}

	return b.Seal(plain, label), true, nil
}

// Column is where a table keeps sealed values. Its rows are named by team_id and id.
type Column struct {
	Table string
	Name  string
	// Label returns the label that the value of a row is sealed under.
	Label func(row id.ID) string
}
