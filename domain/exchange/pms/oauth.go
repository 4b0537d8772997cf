package pms

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stayledger/domain/tenant/connection"
)

// oauth returns how an account holder gives access to us at a system, nil if the operator has not registered there.
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

			// What can be renewed lasts until it is taken back.
			if token.Refresh != "" || token.ExpiresAt.IsZero() {
				return credentials, nil, nil
			}

			return credentials, &token.ExpiresAt, nil
		},
	}
}
