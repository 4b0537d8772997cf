package plaid

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// How long a key is believed without asking for it again: the vendor can end it meanwhile.
	keyLife = time.Hour
	// How many keys are kept. The vendor has two or three at a time.
	maxKeys = 16
	// How often messages with made-up keys can make us ask the vendor for them.
	lookupsPerMinute = 20
)

// keyring holds the keys that webhooks are signed with.
type keyring struct {
	mu    sync.Mutex
	known map[string]webhookKey
}

type webhookKey struct {
	public  *ecdsa.PublicKey
	asked   time.Time // when the vendor was asked for it
	expires time.Time // zero when it does not
}

// isFresh reports whether the key is believed without asking the vendor again.
func (k webhookKey) isFresh(now time.Time) bool { return now.Sub(k.asked).Abs() < keyLife }

// key returns the key of an identifier, from the ring or from the vendor. It fails with ErrWebhook if there is none
// or if it has expired, and with an Error if the vendor cannot be asked now.
func (c *Client) key(ctx context.Context, id string, now time.Time) (*ecdsa.PublicKey, error) {
	k, has := c.keys.get(id)
	if !has || !k.isFresh(now) {
		// Anybody can send messages with made-up keys: the vendor is asked for new keys only so many times in a
		// minute. Known keys are asked for again without this limit.
		if !has {
			if until, free := c.lookups.Take(now); !free {
				return nil, &Error{Kind: ErrLimited, Until: until}
			}
		}

		var err error
		if k, err = c.askForKey(ctx, id, now); err != nil {
			return nil, err
		}

		c.keys.put(id, k, !has)
	}

	// The vendor ends keys while it changes them; a message that one of them signed is not believed any more.
	if !k.expires.IsZero() && !now.Before(k.expires) {
		return nil, ErrWebhook
	}

	return k.public, nil
}

type wireKey struct {
	Algorithm string `json:"alg"`
	Curve     string `json:"crv"`
	ID        string `json:"kid"`
	Type      string `json:"kty"`
	X         string `json:"x"`
	Y         string `json:"y"`
	ExpiredAt *int64 `json:"expired_at"` // seconds since 1970
}

// askForKey asks the vendor for a key. It fails with ErrWebhook if the vendor does not know it, and with an Error
// if there is no answer.
func (c *Client) askForKey(ctx context.Context, id string, now time.Time) (webhookKey, error) {
	var w struct {
		Key wireKey `json:"key"`
	}

	err := c.call(ctx, "/webhook_verification_key/get", map[string]string{"key_id": id}, &w)
	if errors.Is(err, ErrRefused) {
		return webhookKey{}, ErrWebhook // The vendor knows no such key.
	}

	if err != nil {
		return webhookKey{}, fmt.Errorf("ask for key: %w", err)
	}

	// The answer must be the key that was asked for, and of the one algorithm that we accept.
	public, err := w.Key.public()
	if err != nil || w.Key.ID != id {
		return webhookKey{}, fmt.Errorf("ask for key: %w", badAnswer("is no key for ES256"))
	}

	k := webhookKey{public: public, asked: now}
	if w.Key.ExpiredAt != nil {
		k.expires = time.Unix(*w.Key.ExpiredAt, 0)
	}

	return k, nil
}

// public returns the public key. It fails with ErrWebhook if it is not one for ES256.
func (w wireKey) public() (*ecdsa.PublicKey, error) {
	x, errX := base64.RawURLEncoding.DecodeString(w.X)

	y, errY := base64.RawURLEncoding.DecodeString(w.Y)
	if w.Type != "EC" || w.Curve != "P-256" || w.Algorithm != "ES256" || errX != nil || errY != nil ||
		len(x) != 32 || len(y) != 32 {
		return nil, ErrWebhook
	}

	// The form of an uncompressed point: a 4, then both coordinates. The parser refuses a point that is not on the
	// curve.
	point := append(append([]byte{4}, x...), y...)

	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return nil, ErrWebhook
	}

	return public, nil
}

// get returns a key, and false if it is not in the ring.
func (k *keyring) get(id string) (webhookKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()

	key, has := k.known[id]

	return key, has
}

// put saves a key. A new one means that the vendor changes its keys, so the others are asked for again before they
// are believed.
func (k *keyring) put(id string, key webhookKey, isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()

	if isNew {
		for other, known := range k.known {
			known.asked = time.Time{}
			k.known[other] = known
		}

		// A full ring is emptied: keys that are still in use come back with the next message.
		if len(k.known) >= maxKeys {
			clear(k.known)
		}
	}

	k.known[id] = key
}
