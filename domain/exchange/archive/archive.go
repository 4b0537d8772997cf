// Package archive writes everything that a team owns into one file, and makes a team of such a file again.
//
// The file is a ZIP. Its manifest.json says what it has: the team, the version of the schema, and each table with
// its columns and rows. The rows of a table are in tables/NAME.csv, the content of a file is in files/ID, and the
// books are once more in journal.hledger, a plain-text journal that hledger reads. Everything is from one snapshot.
//
// The page docs/decisions/archive.md says what the contract leaves open and how it is answered here.
package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/blob"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// format names the layout of the file; it changes when an older reader would misread it.
const format = "stayledger-team-1"

// taskTime bounds one attempt at an archive, and at restoring one.
const taskTime = time.Hour

var exportKind = job.NewKind("team-export")

// errStale means that journals wait to be derived anew: an archive would have the old ones. Another attempt finds
// them done.
var errStale = errors.New("journals of the team wait to be derived")

// manifest says what an archive has.
type manifest struct {
	Format     string          `json:"format"`
	Schema     int64           `json:"schema"` // number of the newest migration
	ExportedAt day.Instant     `json:"exportedAt"`
	TeamID     id.ID           `json:"teamId"`
	Team       json.RawMessage `json:"team"`
	Tables     []table         `json:"tables"`
	Files      []id.ID         `json:"files"` // those with content
}

// table is a table in an archive.
type table struct {
	Name       string   `json:"name"`
	Columns    []column `json:"columns"`
	Rows       int64    `json:"rows"`
	IsRestored bool     `json:"isRestored"` // else the rows are there to be read
}

// column is a column with the name of its type in PostgreSQL.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Part returns the part that makes archives of the rows of all tables.
func Part(store blob.Store, tables []parts.Table) parts.Part {
	return parts.Part{
		Endpoints: []api.Endpoint{api.Write(api.Endpoint{
			Method: "POST", Path: "/team/export", ID: "exportTeam", Tag: "Teams",
			Summary: "Make one file of everything that the selected team owns",
			Doc: "Starts an operation of type export, whose result is a ZIP: tables as CSV, files, the books as a " +
				"journal that hledger reads, and a manifest that describes them. Account numbers, tax identifiers and " +
				"credentials stay sealed with the keys of this service. Only who may delete the team can read the file.",
			Scopes: []string{"team:execute"}, Status: 202,
		}, func(ctx context.Context, tx *db.Tx, _ *api.None) (*operation.Acknowledgement, error) {
			return operation.Start(ctx, tx, operation.New{Type: operation.Export, Tasks: []operation.Task{{Kind: exportKind}}})
		})},
		Handlers: map[job.Kind]job.Handler{exportKind: operation.External(taskTime, func(
			ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, _ struct{},
		) (db.Work, error) {
			return export(ctx, d, scope, run, archiver{store, tables})
		}).OnOutside().In(job.Rendering)},
	}
}

// export writes an archive into the store. Its file appears with the operation's completion.
func export(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, a archiver) (db.Work, error) {
	schema, err := d.Schema(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the version of the schema: %w", err)
	}

	reading := scope
	reading.Timeout = taskTime

	kept, err := file.Keep(ctx, d, scope, a.store, func(w io.Writer) error {
		return a.write(ctx, d, reading, schema, job.Resting(ctx, w))
	})
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, tx *db.Tx) error {
		f, err := file.Insert(ctx, tx, file.New{
			Stored: kept, Kind: file.Archive, ContentType: "application/zip", PurgeAt: tx.Now.Add(file.KeepExports),
			Filename: "team-" + tx.Today().String() + ".zip",
		})
		if err != nil {
			return err
		}

		result := operation.Resource{Type: operation.File, ID: f.ID, Role: operation.Result}

		return operation.AddResult(ctx, tx, run.OperationID, result)
	}, nil
}
