package upload

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stayledger/domain/record/export"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Config has the dependencies of imports.
type Config struct {
	Store blob.Store
	Nouns Nouns
	// Deletions delete records that an import has made; UndoOpening takes back an opening balance.
	Deletions   map[string]parts.Deletion
	UndoOpening func(ctx context.Context, tx *db.Tx, one id.ID) error
	Apps        connection.Apps
}

// service serves imports.
type service struct {
	store    blob.Store
	kinds    map[Kind]*kind
	apps     connection.Apps
	mappings *api.Form[Mapping]
}

// readTime bounds one attempt at a job. The next attempt at an import goes on after the last page that was saved.
const readTime = 30 * time.Minute

// newService returns the service of imports.
func newService(c *Config) *service {
	c.Nouns.Contact = withNames(c.Nouns.Contact, typeContact)
	c.Nouns.Listing = withNames(c.Nouns.Listing, typeListing)

	s := &service{store: c.Store, kinds: newKinds(&c.Nouns), apps: c.Apps, mappings: api.NewForm[Mapping]()}

	for _, k := range s.kinds {
		if k.undo = c.Deletions[string(k.noun.Entity)].Do; k.name == OpeningBalances {
			k.undo = c.UndoOpening
		}
	}

	return s
}

// Part returns the endpoints, jobs and tables of imports.
func Part(c Config) parts.Part {
	s := newService(&c)
	take := job.Handler{Timeout: readTime, Do: s.take, Exhausted: s.giveUp}.InBulk()

	return parts.Part{
		Endpoints: s.endpoints(),
		Handlers: map[job.Kind]job.Handler{
			stageKind:     job.Handler{Timeout: readTime, Do: s.stage, Exhausted: s.giveUp}.WithoutGate(),
			takeKind:      take,
			takeAloneKind: take.Exclusively(),
			undoKind:      job.Handler{Timeout: undoTime, Do: s.undo, Exhausted: s.giveUp}.InBulk(),
		},
		Every: []job.Every{{Name: "csv-import-purge", Interval: time.Hour, Do: purge}},
		Tables: append(parts.Owns("csv_import_row"), parts.Table{Name: "csv_import", Instead: map[string]string{
			"status": `case s.status when 'reading' then 'failed' when 'importing' then 'failed' when 'undoing' then 'imported' else s.status end`, // nobody goes on with it
		}}),
		Waits: []parts.Wait{{
			ID: "i.id",
			Columns: `i.imported_at as since, 'importRowsRefused' as code, 'warning' as severity, 'import' as entity_type, i.id as entity_id,
				jsonb_build_object('kind', i.kind, 'filename', i.filename, 'rows', (i.outcomes ->> 'failed')::bigint) as context`,
			From: `csv_import i where i.team_id = g.team_id and i.status = 'imported' and (i.outcomes ->> 'failed')::bigint > 0`,
		}},
		Exports: []parts.Export{export.DeclareAt[queuedRows](s.rowsCSV())},
	}
}

// AfterMapping returns the handler that runs when a line type was mapped. It imports the rows that waited for it.
func AfterMapping() job.Handler {
	return job.Handler{Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if err := importMapped(ctx, tx); err != nil {
				return err
			}

			return job.Done(ctx, tx, j)
		})
	}}
}

// importMapped imports the rows of finished imports that waited for a line mapping.
func importMapped(ctx context.Context, tx *db.Tx) error {
	waiting, err := db.Select[id.ID](ctx, tx, `
		select i.id from csv_import i where i.team_id = @team and i.kind = 'transactions' and i.status = 'imported' and exists (
			select from csv_import_row r where r.team_id = @team and r.import_id = i.id and r.status = 'faulty' and r.issues @> '[{"code": "lineTypeUnmapped"}]')
		order by i.id for update`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("find rows that wait for a line mapping: %w", err)
	}

	for _, one := range waiting {
		it, err := lock(ctx, tx, one)
		if err != nil {
			return err
		}

		// Rows without an outcome are imported. Other faulty rows keep theirs.
		_, err = tx.Exec(ctx, `update csv_import_row set outcome = null where team_id = @team and import_id = @id and status = 'faulty'
			and outcome in ('skipped', 'failed') and issues @> '[{"code": "lineTypeUnmapped"}]'`, db.Args{"team": tx.Team, "id": one})
		if err != nil {
			return fmt.Errorf("queue rows that waited for a line mapping: %w", err)
		}

		if _, err := startTake(ctx, tx, it, takeKind); err != nil {
			return err
		}
	}

	return nil
}

// decodeArgs returns the arguments of a job. A job that reads a file has no arguments, as the import shares the id of
// its operation.
func decodeArgs(j job.Job) (args importArgs, err error) {
	if len(j.Args) > 0 && string(j.Args) != "null" {
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return args, job.Permanent(fmt.Errorf("decode task arguments: %w", err))
		}
	}

	if args.ImportID.IsZero() {
		args.ImportID = j.OperationID
	}

	return args, nil
}

// loadApp returns the app of a connection.
func loadApp(ctx context.Context, tx *db.Tx, one id.ID) (*string, error) {
	c, err := connection.Get(ctx, tx, one)
	if err != nil {
		return nil, err
	}

	app := string(c.AppID)

	return &app, nil
}

// countKey returns how many other rows of an import have the same name at their source.
func countKey(ctx context.Context, tx *db.Tx, one id.ID, key string, position int) (int, error) {
	n, err := db.Get[int](ctx, tx, `
		select coalesce(max(ordinal) + 1, 0) from csv_import_row where team_id = @team and import_id = @id and key = @key and position <> @position`,
		db.Args{"team": tx.Team, "id": one, "key": key, "position": position})
	if err != nil {
		return 0, fmt.Errorf("count rows of a name: %w", err)
	}

	return n, nil
}
