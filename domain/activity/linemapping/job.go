package linemapping

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

// Mapped is the kind of the jobs that post what waited for a mapping. Each change of a mapping that can let lines be
// posted inserts one. The importer of the lines has the handler, which gets Change.
var Mapped = job.NewKind("linemapping.mapped")

// Change has the arguments of a job of kind Mapped: the lines that are decided on otherwise than before.
type Change struct {
	// AppID is the app that the lines come from; nil means every app.
	AppID *string `json:"appId"`
	// LineType is the type of the lines, compared case aside.
	LineType string `json:"lineType"`
}

// insertJobs inserts a job for each mapping that was made, changed or deleted.
func insertJobs(ctx context.Context, tx *db.Tx, mappings ...*Mapping) error {
	if len(mappings) == 0 {
		return nil
	}

	jobs := make([]job.New, len(mappings))
	for i, m := range mappings {
		jobs[i] = job.New{Kind: Mapped, Args: Change{AppID: m.AppID, LineType: m.LineType}}
	}

	insert, err := job.Statement(tx, jobs...)
	if err != nil {
		return err
	}

	return tx.Pipeline(ctx, insert)
}
