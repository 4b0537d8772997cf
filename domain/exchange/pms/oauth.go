package pms

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stayledger/domain/tenant/connection"
)

// oauth returns the OAuth flow of a system, nil if the operator has not registered there.
func (s *Systems) oauth(name connection.AppID) *connection.OAuth {
	grants := s.registered[name]
	if grants == nil {
		return nil
	}

	return &connection.OAuth{
		Address:  grants.Address,
		Settings: map[string]string{"baseUrl": grants.Base()},
		Exchange: func(ctx context.Context, code, redirectURI string) (json.RawMessage, *time.Time, error) {
			token, err := grants.Exchange(ctx, code, redirectURI)
			if err != nil {
				return nil, nil, checkError(err)
			}

			credentials, err := json.Marshal(map[string]any{"given": token})
			if err != nil {
				return nil, nil, fmt.Errorf("encode a token: %w", err)
			}

			// A renewable token lasts until the account holder takes it back.
			if token.Refresh != "" || token.ExpiresAt.IsZero() {
				return credentials, nil, nil
			}

			return credentials, &token.ExpiresAt, nil
		},
	}
}
