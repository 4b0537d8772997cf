package pms

import (
	"context"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	"stayledger/provider/pms"
)

// TokensFor returns what keeps the token of a connection with some sealed credentials.
func TokensFor(d *db.DB, scope db.Scope, box *seal.Box, one id.ID, credentials string) pms.Tokens {
	return newTokens(d, scope, box, &connection.Connection{ID: one, Credentials: []byte(credentials)})
}

// Renew is what Tokens.Token calls.
type Renew = func(ctx context.Context, old pms.Token) (pms.Token, error)
