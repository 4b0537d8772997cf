package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/inside"
)

// ErrForeignStore is a file store that is not the one of this database.
var ErrForeignStore = errors.New("the file store does not carry the marker of this database: it is another folder or bucket than before, or belongs " +
	"to another database; set the right one (a copy has to take the object " + markerKey + " along), or start once with --adopt-store to use it all the same")

// markerKey is the object that says which database a store belongs to.
const markerKey = "stayledger-store"

// Claim checks that a store belongs to the database. A database without a marker marks the store it is given. Later
// each process compares the marker of the store with that of the database, because files in the wrong store are
// lost, and two databases in one store purge each other's files. With adopt the store is marked as this database's,
// whatever its marker says.
//
// It fails with ErrForeignStore, and with the errors of store and database.
func Claim(ctx context.Context, d *db.DB, store blob.Store, adopt bool) error {
	return d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		// The process serves nobody yet, and the lock is only for others that start.
		ctx = inside.Permit(ctx)

		// Processes that start together must not both mark the store.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('stayledger file store', 0))`, nil); err != nil {
			return fmt.Errorf("claim the file store: %w", err)
		}

		ours, err := loadMarker(ctx, tx)
		if err != nil {
			return err
		}

		// Only a store and a database that both have no marker are joined without being asked to.
		theirs, err := readMarker(ctx, store)
		switch {
		case err != nil:
			return err
		case ours != nil && theirs == ours.String():
			return nil
		case !adopt && (theirs != "" || ours != nil):
			return ErrForeignStore
		}

		// The marker is committed only after the store has it: a crash between the two is repaired by the next
		// start.
		if ours == nil {
			ours = new(tx.NewID())
			if _, err := tx.Exec(ctx, `insert into file_store (id, created_at) values (@id, @now)`, db.Args{"id": *ours, "now": tx.Now}); err != nil {
				return fmt.Errorf("keep the marker of the file store: %w", err)
			}
		}

		return writeMarker(ctx, store, ours.String())
	})
}

// loadMarker returns the marker of the store that the database belongs to, nil if no store has been claimed yet.
func loadMarker(ctx context.Context, tx *db.Tx) (*id.ID, error) {
	ours, err := db.Maybe[id.ID](ctx, tx, `select id from file_store`, nil)
	if err != nil {
		return nil, fmt.Errorf("load the marker of the file store: %w", err)
	}

	return ours, nil
}

// readMarker returns the marker of a store, or "" if it has none.
func readMarker(ctx context.Context, store blob.Store) (string, error) {
	object, err := store.Open(ctx, markerKey)
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}

	if err != nil {
		return "", fmt.Errorf("read the marker of the file store: %w", err)
	}

	defer func() { _ = object.Close() }()

	text, err := io.ReadAll(io.LimitReader(object, 100))
	if err != nil {
		return "", fmt.Errorf("read the marker of the file store: %w", err)
	}

	return strings.TrimSpace(string(text)), nil
}

// writeMarker writes the file that says which service owns the file store.
func writeMarker(ctx context.Context, store blob.Store, marker string) error {
	w, err := store.Create(ctx, markerKey)
	if err != nil {
		return fmt.Errorf("mark the file store: %w", err)
	}
	defer func() { _ = w.Abort() }()

	if _, err := io.WriteString(w, marker+"\n"); err != nil {
		return fmt.Errorf("mark the file store: %w", err)
	}

	if _, err := w.Commit(); err != nil {
		return fmt.Errorf("mark the file store: %w", err)
	}

	return nil
}
