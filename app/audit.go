package app

import (
	"context"
	"fmt"
	"log/slog"

	"stayledger/domain/record/proof"
	"stayledger/platform/seal"
)

// AuditLog returns the audit log of a deployment with these settings, to seal and to verify it. It fails for secret keys
// or a file store that cannot be used.
func AuditLog(ctx context.Context, c *Config, log *slog.Logger) (p proof.Config, err error) {
	keys, err := c.keys()
	if err != nil {
		return p, err
	}

	if p.Box, err = seal.New(keys...); err != nil {
		return p, fmt.Errorf("secret keys: %w", err)
	}

	p.Store, err = c.store(ctx, log)

	return p, err
}
