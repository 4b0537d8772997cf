package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"stayledger/domain/tenant/access"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// directoryCmd lets deployments of several regions know a partner.
type directoryCmd struct {
	Export directoryExport `cmd:"" help:"Print what the deployments of other regions have to know of a partner: its teams, and its keys without their secrets."`
	Import directoryImport `cmd:"" help:"Take in what another deployment has printed."`
}

type directoryExport struct {
	database `embed:""`
	Partner  id.ID `arg:"" help:"Id of the partner."`
}

// Run prints the directory.
func (c *directoryExport) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		d, err := access.ExportDirectory(ctx, tx, c.Partner)
		if err != nil {
			return err
		}

		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")

		return e.Encode(d)
	})
}

type directoryImport struct {
	database `embed:""`
	File     string   `arg:"" type:"existingfile" help:"The directory."`
	Regions  []string `env:"STAYLEDGER_REGIONS" default:"us" help:"Data regions served here: their teams stay as they are."`
}

// Run takes the directory in.
func (c *directoryImport) Run(r *runContext) error {
	content, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}

	var d access.Directory
	if err := json.Unmarshal(content, &d); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}

	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error { return access.ImportDirectory(ctx, tx, &d, c.Regions) })
}
