package proof

import (
	"context"
	"encoding/json"

	"golang.org/x/mod/sumdb/tlog"

	"stayledger/platform/db"
)

// Seal appends what is committed.
func (c Config) Seal(ctx context.Context, d *db.DB) error { return c.seal(ctx, d) }

// SealDue does what the periodic task does.
func (c Config) SealDue(ctx context.Context, d *db.DB) error { return c.sealDue(ctx, d) }

// Sweep seals what slipped past.
func (c Config) Sweep(ctx context.Context, d *db.DB) error { return c.sweep(ctx, d) }

// Commitment returns the commitment of a value under a label.
func Commitment(value json.RawMessage, salt []byte, label string) (string, error) {
	return newValue(value, salt, label).commit()
}

// Tiles reads the hashes of the tree.
func Tiles(ctx context.Context, tx *db.Tx) tlog.HashReader {
	return tlog.HashReaderFunc(newTiles(ctx, tx).readHashes)
}
