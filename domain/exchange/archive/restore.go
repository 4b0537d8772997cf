package archive

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stayledger/domain/record/file"
	"stayledger/domain/tenant/team"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// maxManifest bounds a manifest in bytes.
const maxManifest = 64 << 20

// What can be wrong with an archive.
var (
	errFormat  = errors.New("this is no archive of a team")
	errSchema  = errors.New("the archive is of another version of the service; restore it with that one")
	errRegion  = errors.New("the team lives in a region that is not served here")
	errSealed  = errors.New("none of the secret keys opens the secrets of the archive; add that of the service that wrote it")
	errDamaged = errors.New("the archive does not have what its manifest says")
)

// Restoring says how a team is made of an archive.
type Restoring struct {
	Store   blob.Store
	Tables  []parts.Table
	Name    string // empty for the name of the archived team
	Partner id.ID  // zero for none
	// Regions are those that are served here; empty for all.
	Regions []string
	// Box opens what is sealed in the columns, to see whether it has the keys for them.
	Box    *seal.Box
	Sealed []seal.Column
}

// Restore makes a team of an archive and returns its id. Records have the ids that they had; connections have to be
// connected anew, none has access yet, and the trail of changes begins anew. All of it is there or nothing.
func Restore(ctx context.Context, d *db.DB, size int64, from io.ReaderAt, r *Restoring) (made id.ID, err error) {
	z, err := zip.NewReader(from, size)
	if err != nil {
		return id.Zero, fmt.Errorf("%w: %w", errFormat, err)
	}

	m, err := readManifest(ctx, d, z)
	if err != nil {
		return id.Zero, err
	}

	made = id.New(d.Now())

	// Bytes come before the rows that name them, and go if those do not come.
	if err := copyFiles(ctx, r.Store, z, m, made); err != nil {
		return id.Zero, errors.Join(err, dropFiles(context.WithoutCancel(ctx), r.Store, m, made))
	}

	// The rows come in one transaction.
	scope := db.Scope{Team: made, Timeout: taskTime, Actor: db.Service}

	err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		if err := restoreTeam(ctx, tx, m, r); err != nil {
			return err
		}

		if err := (restorer{z, m, nil}).restoreTables(ctx, tx, r.Tables); err != nil {
			return err
		}

		return checkSealed(ctx, tx, r)
	})
	if err != nil {
		return id.Zero, errors.Join(err, dropFiles(context.WithoutCancel(ctx), r.Store, m, made))
	}

	return made, nil
}

// readManifest reads what an archive has. It fails with errFormat for other files, and with errSchema.
func readManifest(ctx context.Context, d *db.DB, z *zip.Reader) (*manifest, error) {
	f, err := z.Open("manifest.json")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	defer func() { _ = f.Close() }()

	// A manifest names tables and files, so it is small.
	var m manifest
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&m); err != nil || m.Format != format {
		return nil, fmt.Errorf("%w: its manifest is not of %s: %w", errFormat, format, err)
	}

	schema, err := d.Schema(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the version of the schema: %w", err)
	}

	if schema != m.Schema {
		return nil, fmt.Errorf("%w: schema %d, and here is %d", errSchema, m.Schema, schema)
	}

	return &m, nil
}

// copyFiles copies the content of files into the store.
func copyFiles(ctx context.Context, store blob.Store, z *zip.Reader, m *manifest, made id.ID) error {
	for _, f := range m.Files {
		if err := copyFile(ctx, store, z, "files/"+f.String(), file.BlobKey(made, f)); err != nil {
			return fmt.Errorf("copy file %v: %w", f, err)
		}
	}

	return nil
}

// copyFile copies an entry into the store.
func copyFile(ctx context.Context, store blob.Store, z *zip.Reader, name, key string) error {
	from, err := z.Open(name)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer func() { _ = from.Close() }()

	to, err := store.Create(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = to.Abort() }()

	if _, err := io.Copy(to, from); err != nil {
		return err
	}

	_, err = to.Commit()

	return err
}

// dropFiles removes what copyFiles has copied.
func dropFiles(ctx context.Context, store blob.Store, m *manifest, made id.ID) error {
	var failures []error

	for _, f := range m.Files {
		if err := store.Delete(ctx, file.BlobKey(made, f)); err != nil && !errors.Is(err, blob.ErrNotFound) {
			failures = append(failures, err)
		}
	}

	return errors.Join(failures...)
}

// restoreTeam inserts the team.
func restoreTeam(ctx context.Context, tx *db.Tx, m *manifest, r *Restoring) error {
	var was struct{ Name, Region string }
	if err := json.Unmarshal(m.Team, &was); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}

	if len(r.Regions) > 0 && !slices.Contains(r.Regions, was.Region) {
		return fmt.Errorf("%w: %s", errRegion, was.Region)
	}

	name := r.Name
	if name == "" {
		name = was.Name
	}

	return team.Restore(ctx, tx, &team.Restored{
		Row: m.Team, Name: name, Partner: r.Partner, From: map[string]any{"teamId": m.TeamID, "exportedAt": m.ExportedAt},
	})
}

// checkSealed fails with errSealed if the restored team has values that cannot be read here.
func checkSealed(ctx context.Context, tx *db.Tx, r *Restoring) error {
	type value struct {
		ID    id.ID
		Value []byte
	}

	for _, c := range r.Sealed {
		// Some sealed columns are in no archive, so there are no rows.
		err := db.Each(ctx, tx, db.Stmt{
			SQL:  fmt.Sprintf(`select id, %s as value from %s where team_id = @team and %[1]s is not null`, quote(c.Name), c.Table),
			Args: db.Args{"team": tx.Team},
		}, func(v value) error {
			if _, err := r.Box.Open(v.Value, c.Label(v.ID)); err != nil {
				return fmt.Errorf("%w: %s of %s %v", errSealed, c.Name, c.Table, v.ID)
			}

			return nil
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// reference is a column that names a row of a table, and is cleared when that row goes.
type reference struct{ Child, Parent, Column string }

// restorer restores the rows of an archive.
type restorer struct {
	*zip.Reader

	manifest *manifest
	// later are the columns that are set when the rows that they name are there.
	later []reference
}

// restoreTables inserts the rows of all tables that are restored: first those that others name. A column that names
// a row of a later table is set last.
func (r restorer) restoreTables(ctx context.Context, tx *db.Tx, tables []parts.Table) error {
	restored := slices.DeleteFunc(slices.Clone(tables), func(t parts.Table) bool {
		return t.Archived != parts.Restored || t.Name == teamTable
	})

	order, err := parts.ParentsFirst(ctx, tx, restored)
	if err != nil {
		return err
	}

	references, err := db.Select[reference](ctx, tx, `
		select c.conrelid::regclass::text as child, c.confrelid::regclass::text as parent, a.attname::text as column
		from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey) and a.attname <> 'team_id'
		where c.contype = 'f' and c.connamespace = 'public'::regnamespace and c.confdeltype = 'n'`, nil)
	if err != nil {
		return fmt.Errorf("read the foreign keys: %w", err)
	}

	// A table that comes later is not there yet when its child is filled.
	place := func(name string) int {
		return slices.IndexFunc(order, func(t parts.Table) bool { return t.Name == name })
	}
	r.later = slices.DeleteFunc(references, func(f reference) bool {
		return place(f.Child) < 0 || place(f.Parent) <= place(f.Child)
	})

	// Then table by table, and what had to wait.
	for i := range order {
		if err := r.restoreTable(ctx, tx, &order[i]); err != nil {
			return fmt.Errorf("restore %s: %w", order[i].Name, err)
		}
	}

	for _, f := range r.later {
		if _, err := tx.Exec(ctx, fmt.Sprintf(`update %[1]s r set %[2]s = s.%[2]s from %[3]s s where r.team_id = @team and r.id = s.id and s.%[2]s is not null`,
			f.Child, quote(f.Column), stage(f.Child)), db.Args{"team": tx.Team}); err != nil {
			return fmt.Errorf("restore %s.%s: %w", f.Child, f.Column, err)
		}
	}

	return nil
}

// stage is the name of the temporary table for the rows of a table.
func stage(name string) string { return "restored_" + name }

// restoreTable inserts the rows of a table in one statement, so that they can name each other and balance together.
func (r restorer) restoreTable(ctx context.Context, tx *db.Tx, t *parts.Table) error {
	at := slices.IndexFunc(r.manifest.Tables, func(known table) bool { return known.Name == t.Name })
	if at < 0 {
		return errDamaged
	}

	columns, err := loadColumns(ctx, tx, t.Name)
	if err != nil {
		return err
	}

	if !slices.Equal(columns, r.manifest.Tables[at].Columns) {
		return fmt.Errorf("%w: other columns", errDamaged)
	}

	// First the rows as they are in the file.
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], values[i] = quote(c.Name), "s."+quote(c.Name)

		switch instead := t.Instead[c.Name]; {
		case c.Name == "team_id":
			values[i] = "@team::uuid"
		case instead != "":
			values[i] = instead
		case slices.ContainsFunc(r.later, func(f reference) bool { return f.Child == t.Name && f.Column == c.Name }):
			values[i] = "null"
		}
	}

	// Names of columns come from the catalogue, see loadColumns.
	if _, err := tx.Exec(ctx, fmt.Sprintf(`create temporary table %s on commit drop as select %s from %s limit 0`,
		stage(t.Name), strings.Join(names, ", "), t.Name), nil); err != nil {
		return err
	}

	if err := r.fillStage(ctx, tx, t.Name, r.manifest.Tables[at].Rows); err != nil {
		return err
	}

	// Then they become rows of the new team.
	sql := fmt.Sprintf(`insert into %s (%s) select %s from %s s`,
		t.Name, strings.Join(names, ", "), strings.Join(values, ", "), stage(t.Name))

	args := db.Args{}
	if strings.Contains(sql, "@team") {
		args["team"] = tx.Team
	}

	_, err = tx.Exec(ctx, sql, args)

	return err
}

// fillStage reads the rows of a table into its temporary table. It fails with errDamaged unless there are as many as
// the manifest says.
func (r restorer) fillStage(ctx context.Context, tx *db.Tx, name string, want int64) error {
	f, err := r.Open("tables/" + name + ".csv")
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer func() { _ = f.Close() }()

	rows, err := tx.CopyIn(ctx, f, stage(name))
	if err != nil {
		return err
	}

	if rows != want {
		return fmt.Errorf("%w: %d rows instead of %d", errDamaged, rows, want)
	}

	return nil
}
