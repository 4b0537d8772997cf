package pms

import (
	"context"
	"sync"
	"time"
)

// Token is issued by a system for credentials, and authorizes calls until it expires.
type Token struct {
	Access, Refresh string
	// ExpiresAt is zero for a token that does not expire.
	ExpiresAt time.Time
}

// Grants is our registration at a system, to which account holders give access to their accounts instead of giving us
// credentials. It is safe for use by many goroutines.
type Grants interface {
	// Base is the address that the calls of such accounts go to.
	Base() string
	// Address returns where the system asks the account holder, who is sent on to redirectURI with the state and a
	// code.
	Address(state, redirectURI string) string
	// Exchange returns the token that the system gives for a code. It fails with an Error: ErrCredentials for a code
	// that it does not take.
	Exchange(ctx context.Context, code, redirectURI string) (Token, error)
}

// Tokens keep the token of a connection.
type Tokens interface {
	// Token returns the stored token. If there is none, or 90 % of its life is over, it calls renew with the stored
	// token and stores the new one; only one renewal runs at a time for a connection. It fails with the error of renew.
	Token(ctx context.Context, renew func(ctx context.Context, old Token) (Token, error)) (Token, error)
	// Refused drops a token that the system has refused, unless another one was stored meanwhile.
	Refused(ctx context.Context, t Token) error
}

// MemoryTokens keep a token in memory. The zero value has none. They are safe for use by many goroutines.
type MemoryTokens struct {
	mu      sync.Mutex
	kept    Token
	renewAt time.Time // zero for never
}

// Token returns the token. It fails with the error of renew.
func (m *MemoryTokens) Token(
	ctx context.Context, renew func(ctx context.Context, old Token) (Token, error),
) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	// The lock is held while renew runs, so that of many callers one renews.
	now := time.Now()
	if m.kept.Access != "" && (m.renewAt.IsZero() || now.Before(m.renewAt)) {
		return m.kept, nil
	}

	got, err := renew(ctx, m.kept)
	if err != nil {
		return Token{}, err
	}

	m.kept, m.renewAt = got, RenewAt(now, got.ExpiresAt)

	return got, nil
}

// Refused drops a token. It never fails.
func (m *MemoryTokens) Refused(_ context.Context, t Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	// Keep the refresh token, which is still good.
	if m.kept.Access == t.Access {
		m.kept.Access = ""
	}

	return nil
}

// RenewAt returns when 90 % of the life of a token is over, zero for one that does not end.
func RenewAt(issued, expires time.Time) time.Time {
	if expires.IsZero() {
		return time.Time{}
	}

	return issued.Add(expires.Sub(issued) / 10 * 9)
}
