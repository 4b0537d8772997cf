package archive

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"

	"stayledger/domain/books/ledger"
	"stayledger/domain/tenant/team"
	"stayledger/platform/blob"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// archiver writes archives of the rows of tables.
type archiver struct {
	store  blob.Store
	tables []parts.Table
}

// content is a file of the team with content in the store.
type content struct {
	ID      id.ID
	BlobKey string
}

// write writes the archive of a team: first the rows, as they are in one transaction, and then the content of files. No
// transaction is open while the store is asked for that.
func (a archiver) write(ctx context.Context, d *db.DB, scope db.Scope, schema int64, w io.Writer) error {
	var (
		m     manifest
		z     zipped
		files []content
	)

	// The entries come as they are made, so that memory does not grow with the team.
	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		z = newZipped(w, tx.Now)
		if err = a.writeRows(ctx, tx, schema, z, &m); err == nil {
			files, err = loadFiles(ctx, tx)
		}

		return err
	})
	if err != nil {
		return err
	}

	if m.Files, err = a.writeFiles(ctx, files, z); err != nil {
		return err
	}

	// The manifest comes last, because it has the counts.
	if err := z.add("manifest.json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")

		return e.Encode(m)
	}); err != nil {
		return err
	}

	return z.Close()
}

// writeRows writes the rows of the transaction's team, and begins the manifest. It fails with errStale while journals
// wait.
func (a archiver) writeRows(ctx context.Context, tx *db.Tx, schema int64, z zipped, m *manifest) error {
	stale, err := ledger.HasStale(ctx, tx)
	if err != nil {
		return err
	}

	if stale {
		return errStale
	}

	*m = manifest{Format: format, Schema: schema, ExportedAt: day.At(tx.Now), TeamID: tx.Team}
	if m.Team, err = team.LoadRow(ctx, tx); err != nil {
		return err
	}

	if err := z.add("README.txt", func(w io.Writer) error {
		_, err := io.WriteString(w, readme)
		return err
	}); err != nil {
		return err
	}

	// First the rows, then the books once more for people.
	if m.Tables, err = a.writeTables(ctx, tx, z); err != nil {
		return err
	}

	return z.add("journal.hledger", func(w io.Writer) error { return writeJournal(ctx, tx, w) })
}

// writeTables writes the rows of all tables that archives have.
func (a archiver) writeTables(ctx context.Context, tx *db.Tx, z zipped) ([]table, error) {
	var out []table

	for _, t := range a.tables {
		if t.Archived == parts.Left || t.Name == teamTable {
			continue
		}

		columns, err := loadColumns(ctx, tx, t.Name)
		if err != nil {
			return nil, err
		}

		// COPY takes no arguments: names are of the catalogue, and the team is an id.
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = quote(c.Name)
		}

		query := fmt.Sprintf(`select %s from %s where team_id = '%s' order by %s`,
			strings.Join(names, ", "), t.Name, tx.Team, firstKey(columns))
		row := table{Name: t.Name, Columns: columns, IsRestored: t.Archived == parts.Restored}

		if err := z.add("tables/"+t.Name+".csv", func(w io.Writer) (err error) {
			row.Rows, err = tx.CopyOut(ctx, w, query)
			return err
		}); err != nil {
			return nil, err
		}

		out = append(out, row)
	}

	return out, nil
}

// teamTable has the team itself, which the manifest has.
const teamTable = "team"

// firstKey is the column that the rows of a table are ordered by: the id if there is one, which goes by time.
func firstKey(columns []column) string {
	for _, c := range columns {
		if c.Name == "id" {
			return "id"
		}
	}

	return "1"
}

// loadColumns returns the columns of a table that are written, in their order.
func loadColumns(ctx context.Context, tx *db.Tx, name string) ([]column, error) {
	found, err := db.Select[column](ctx, tx, `
		select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute
		where attrelid = to_regclass(@name) and attnum > 0 and not attisdropped and attgenerated = '' and attidentity = '' order by attnum`,
		db.Args{"name": name})
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", name, err)
	}

	return found, nil
}

// quote returns the name of a column as SQL has it.
func quote(name string) string { return `"` + name + `"` }

// loadFiles selects the files of the team with content, without exports, which can be made again.
func loadFiles(ctx context.Context, tx *db.Tx) ([]content, error) {
	found, err := db.Select[content](ctx, tx, `
		select id, blob_key from file where team_id = @team and purged_at is null and kind not in ('export', 'archive') order by id`,
		db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("list the files of the team: %w", err)
	}

	return found, nil
}

// writeFiles writes the content of files, and returns those that have any.
func (a archiver) writeFiles(ctx context.Context, files []content, z zipped) ([]id.ID, error) {
	out := []id.ID{}

	for _, f := range files {
		object, err := a.store.Open(ctx, f.BlobKey)
		if errors.Is(err, blob.ErrNotFound) {
			continue // it was purged a moment ago
		}

		if err != nil {
			return nil, fmt.Errorf("open file %v: %w", f.ID, err)
		}

		if err := z.add("files/"+f.ID.String(), func(w io.Writer) error {
			_, err := io.Copy(w, object)
			return errors.Join(err, object.Close())
		}); err != nil {
			return nil, err
		}

		// Only what has content can be read back.
		out = append(out, f.ID)
	}

	return out, nil
}

// zipped is a ZIP that is being written, with the time of its entries.
type zipped struct {
	*zip.Writer
	at time.Time
}

// newZipped returns a ZIP that compresses fast: other teams need the processors too, and the standard library takes four
// times as long to make rows little smaller.
func newZipped(w io.Writer, at time.Time) zipped {
	z := zipped{zip.NewWriter(w), at}
	z.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestSpeed)
	})

	return z
}

// add writes an entry.
func (z zipped) add(name string, write func(io.Writer) error) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.at})
	if err != nil {
		return fmt.Errorf("begin %s: %w", name, err)
	}

	if err := write(w); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}

	return nil
}

// readme explains an archive to who opens it without the service.
const readme = `This is everything that a team of stayledger owns.

manifest.json    what the file has: the team, each table with its columns and rows
tables/*.csv     the rows of each table; an empty field without quotes is null; amounts are cents
journal.hledger  the books as a plain-text journal: hledger -f journal.hledger balance
files/*          the content of attachments and other files, by id; tables/file.csv has their names

Account numbers and tax identifiers of contacts are sealed: only a service with the keys of the one that wrote the file opens
them. Keys, logins, links for owners and webhooks are not in the file.
"stayledger team restore FILE" makes a team of it again.
`
