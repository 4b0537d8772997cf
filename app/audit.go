package app

import (
	"context"
	"fmt"
	"log/slog"

	"stayledger/domain/record/proof"
	"stayledger/platform/db"
	"stayledger/platform/seal"
)

// VerifyAudit compares the audit trail with its log, and the log with the checkpoints of the database and the file
// store. With sealFirst it seals what is committed and makes a checkpoint before. The verifier key can be empty: see
// proof.Config.Verify.
func VerifyAudit(ctx context.Context, d *db.DB, c *Config, log *slog.Logger, verifier string, sealFirst bool) (*proof.Report, error) {
	keys, err := c.keys()
	if err != nil {
		return nil, err
	}

	box, err := seal.New(keys...)
	if err != nil {
		return nil, fmt.Errorf("secret keys: %w", err)
	}

	store, err := c.store(ctx, log)
	if err != nil {
		return nil, err
	}

	p := proof.Config{Box: box, Store: store}

	if sealFirst {
		if err := p.SealNow(ctx, d); err != nil {
			return nil, err
		}
	}

	return p.Verify(ctx, d, verifier)
}
