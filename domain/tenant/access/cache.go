package access

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
)

const cacheLimit = 10_000

// secretKey is the hash of a secret and the header it came in: a token is no key, not even while it is remembered.
type secretKey struct {
	sum    [sha256.Size]byte
	bearer bool
}

// cache remembers what secrets stand for, by their hash, for a few seconds. Refusals are not remembered.
type cache struct {
	mu      *sync.RWMutex
	entries map[secretKey]cached
	// age counts how often everything was forgotten, so that what was looked up before is not remembered after.
	age uint64
}

type cached struct {
	credential *credential
	until      time.Time
}

func newCache() cache {
	return cache{mu: &sync.RWMutex{}, entries: map[secretKey]cached{}}
}

// get returns the credential, or nil and the age to pass to put.
func (c *cache) get(key secretKey, now time.Time) (found *credential, age uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()

	if e, ok := c.entries[key]; ok && now.Before(e.until) {
		return e.credential, c.age
	}

	return nil, c.age
}

// add caches what a secret gives access to. Entries read before the cache was last emptied are dropped, as they
// can be out of date.
func (c *cache) add(key secretKey, e cached, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if age != c.age {
		return
	}

	if len(c.entries) >= cacheLimit {
		clear(c.entries)
	}

	c.entries[key] = e
}

func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()

	clear(c.entries)
	c.age++
}

// lookUp returns the credential of a secret, from the cache or from the database. It fails as look does.
func (g *Gate) lookUp(
	ctx context.Context,
	key secretKey,
	look func(context.Context, *db.Tx, []byte) (*credential, error),
) (*credential, error) {
	now := g.DB.Now()

	c, age := g.cache.get(key, now)
	if c != nil {
		return c, nil
	}

	// The cache forgets everything when its age changes, so a credential read before a revocation is not put into
	// it afterwards.
	var found *credential

	err := g.DB.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = look(ctx, tx, key.sum[:])
		return err
	})
	if err != nil {
		return nil, err
	}

	// Row-level security lets statements see only these teams.
	for i := range found.Teams {
		if t := &found.Teams[i]; t.works() {
			found.reach = append(found.reach, t.ID)
		}
	}

	// A credential is never remembered beyond its own end.
	until := now.Add(g.Remember)
	if found.Expires != nil && found.Expires.Before(until) {
		until = *found.Expires
	}

	g.cache.add(key, cached{found, until}, age)

	return found, nil
}

// Channel is where changes of credentials are announced.
const Channel = team.Channel

// Watch forgets everything remembered whenever a credential changes in any process, until the context ends.
func (g *Gate) Watch(ctx context.Context) {
	for ctx.Err() == nil {
		_ = g.DB.Listen(ctx, Channel, g.cache.forget) // without notifications the short memory is the bound
		g.cache.forget()

		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
