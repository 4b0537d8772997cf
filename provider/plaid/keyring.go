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
	// How often somebody who makes up keys can make us ask for them.
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

func (k webhookKey) fresh(now time.Time) bool { return now.Sub(k.asked).Abs() < keyLife }

// key gives the key of an identifier, from the ring or from the vendor. ErrWebhook when there is none, or when it has
// expired.
func (c *Client) key(ctx context.Context, id string, now time.Time) (*ecdsa.PublicKey, error) {
	k, has := c.keys.get(id)
	if !has || !k.fresh(now) {
		if !has {
			if until, free := c.lookups.take(now); !free {
				return nil, &Error{Kind: ErrLimited, Until: until}
			}
		}

		var err error
		if k, err = c.askForKey(ctx, id, now); err != nil {
			return nil, err
		}

		c.keys.put(id, k, !has)
	}

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

	public, err := w.Key.public()
	if err != nil || w.Key.ID != id {
		return webhookKey{}, fmt.Errorf("ask for key: %w", nonsense("is no key for ES256"))
	}

	k := webhookKey{public: public, asked: now}
	if w.Key.ExpiredAt != nil {
		k.expires = time.Unix(*w.Key.ExpiredAt, 0)
	}

	return k, nil
}

func (w wireKey) public() (*ecdsa.PublicKey, error) {
	x, errX := base64.RawURLEncoding.DecodeString(w.X)

	y, errY := base64.RawURLEncoding.DecodeString(w.Y)
	if w.Type != "EC" || w.Curve != "P-256" || w.Algorithm != "ES256" || errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
		return nil, ErrWebhook
	}

	point := append(append([]byte{4}, x...), y...)

	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return nil, ErrWebhook
	}

	return public, nil
}

func (k *keyring) get(id string) (webhookKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()

	key, has := k.known[id]

	return key, has
}

// put keeps a key. A new one means that the vendor changes its keys, so the others are asked for again before they are
// believed.
func (k *keyring) put(id string, key webhookKey, isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()

	if isNew {
		for other, known := range k.known {
			known.asked = time.Time{}
			k.known[other] = known
		}

		if len(k.known) >= maxKeys {
			clear(k.known)
		}
	}

	k.known[id] = key
}
