package proof

import (
	"context"
	"encoding/json"

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
var Tiles = newTiles

// OpenCheckpoint returns the tree of a checkpoint.
var OpenCheckpoint = openCheckpoint
