package main

import (
	"context"
	"fmt"
	"net"

	"stayledger/app"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig

	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}

	return l, nil
}

// database has the settings that administrative commands share.
type database struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" required:"" help:"The service's database."`
}

// across runs work in one transaction over all teams.
func (c *database) across(ctx context.Context, work db.Work) error {
	d, err := db.Open(ctx, db.Config{URL: c.DatabaseURL, MaxConnections: 2})
	if err != nil {
		return err
	}
	defer d.Close()

	return d.Write(ctx, db.AcrossTeams(), work)
}

type teamCmd struct {
	Create teamCreate `cmd:"" help:"Make a team and print its id."`
	List   teamList   `cmd:"" help:"List the teams."`
	Move   teamMove   `cmd:"" help:"Give a team to another partner; the former one and its people do not reach it any more."`
	// Restore is the way back from POST /team/export.
	Restore teamRestore `cmd:"" help:"Make a team of an archive as POST /team/export gives it, and print its id."`
}

type teamCreate struct {
	database `embed:""`
	Name     string `arg:"" help:"Name of the team."`
	Partner  bool   `help:"A partner, which manages other teams and keeps no books itself."`
	Under    id.ID  `help:"Id of the partner that manages the team."`
	Region   string `default:"us" enum:"ap,ca,eu,sa,us" help:"Data region."`
	Currency string `default:"usd" help:"Default currency."`
	Start    string `help:"First day of owner statements (YYYY-MM-DD)."`
	Legacy   bool   `help:"A team without a general ledger, to fill with POST /legacy/import."`
}

// Run creates the team.
func (c *teamCreate) Run(r *runContext) error {
	n := team.New{Name: c.Name, Type: team.PropertyManager, Region: c.Region, PartnerID: c.Under, Currency: c.Currency, Legacy: c.Legacy}
	if c.Partner {
		n.Type = team.Partner
	}

	if c.Start != "" {
		start, err := day.Parse(c.Start)
		if err != nil {
			return fmt.Errorf("--start: %w", err)
		}

		n.StatementStartAt = &start
	}

	var made id.ID

	err := c.across(r.ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		made, err = team.Create(ctx, tx, n)
		return err
	})
	if err != nil {
		return err
	}

	_, err = fmt.Println(made)

	return err
}

type teamMove struct {
	database `embed:""`
	Team     id.ID `arg:"" help:"Id of the team."`
	Under    id.ID `required:"" help:"Id of the partner that manages it from now on."`
}

// Run moves the team.
func (c *teamMove) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		return team.Move(ctx, tx, c.Team, c.Under, access.DismissPartner)
	})
}

type teamRestore struct {
	app.Config `embed:""`
	File       string `arg:"" type:"existingfile" help:"The archive."`
	Name       string `help:"Name of the team; that of the archived one when empty."`
	Under      id.ID  `help:"Id of the partner that manages the team."`
}

// Run restores the team.
func (c *teamRestore) Run(r *runContext) error {
	// The content of files goes to where the service has its own.
	if err := complete(&c.Config); err != nil {
		return err
	}

	d, err := db.Open(r.ctx, db.Config{URL: c.DatabaseURL, MaxConnections: 2})
	if err != nil {
		return err
	}
	defer d.Close()

	made, err := app.RestoreTeam(r.ctx, &c.Config, d, newLog(c.LogLevel), app.ArchivedTeam{Path: c.File, Name: c.Name, Partner: c.Under})
	if err != nil {
		return err
	}

	_, err = fmt.Println(made)

	return err
}

type teamList struct {
	database `embed:""`
}

// Run prints the teams.
func (c *teamList) Run(r *runContext) error {
	type row struct {
		ID     id.ID
		Type   string
		Status string
		Region string
		Name   string
	}

	return printList(r, &c.database, "TEAM\tTYPE\tSTATUS\tREGION\tNAME",
		func(ctx context.Context, tx *db.Tx) ([]row, error) {
			return db.Select[row](ctx, tx, `select id, type, status, region, name from team order by name, id`, nil)
		},
		func(_ *db.Tx, t row) []string { return []string{t.ID.String(), t.Type, t.Status, t.Region, t.Name} })
}
