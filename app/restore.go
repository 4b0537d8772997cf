package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"stayledger/domain/exchange/archive"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// ArchivedTeam is a team in a file.
type ArchivedTeam struct {
	Path    string
	Name    string // empty takes the one of the archive
	Partner id.ID  // zero for none
}

// RestoreTeam makes a team of an archive and returns its id. It opens the file store of the settings, and fails as
// archive.Restore does.
func RestoreTeam(ctx context.Context, c *Config, d *db.DB, log *slog.Logger, t ArchivedTeam) (id.ID, error) {
	store, err := c.store(ctx, log)
	if err != nil {
		return id.Zero, err
	}

	keys, err := c.keys()
	if err != nil {
		return id.Zero, err
	}

	box, err := seal.New(keys...)
	if err != nil {
		return id.Zero, fmt.Errorf("secret keys: %w", err)
	}

	// An archive is read in any order, so it is a file and no stream.
	f, err := os.Open(t.Path)
	if err != nil {
		return id.Zero, err
	}
	defer func() { _ = f.Close() }()

	info, err := f.Stat()
	if err != nil {
		return id.Zero, fmt.Errorf("read the archive: %w", err)
	}

	return archive.Restore(ctx, d, info.Size(), f, &archive.Restoring{
		Store: store, Tables: Parts(External{}, Config{}).Tables, Name: t.Name, Partner: t.Partner, Regions: c.Regions,
		Box: box, Sealed: listSealedColumns(),
	})
}
