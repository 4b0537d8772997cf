// Command stayledger runs the accounting service: `demo` brings everything with it, `serve` and `work` use a database
// of yours.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/alecthomas/kong"

	"stayledger/app"
	"stayledger/cmd/stayledger/internal/apicall"
	"stayledger/platform/api"
	"stayledger/platform/pgserver"
	"stayledger/provider/pms/protocol/check"
)

type cli struct {
	Demo       demoCmd       `cmd:"" help:"Serve sample books, with a private PostgreSQL unless DATABASE_URL is set."`
	API        apiCmd        `cmd:"" name:"api" help:"Call the API: stayledger api GET /statements month=2026-10."`
	Serve      serveCmd      `cmd:"" help:"Serve the API and work on jobs."`
	Work       workCmd       `cmd:"" help:"Work on jobs alone; several can run at once."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the schema up to date."`
	Team       teamCmd       `cmd:"" help:"Make and list teams."`
	Listen     listenCmd     `cmd:"" help:"Print what happens in a team, and forward it to a receiver on this machine, signed as a webhook is."`
	Key        keyCmd        `cmd:"" help:"Issue, list and revoke API keys."`
	Directory  directoryCmd  `cmd:"" help:"Let deployments of several regions know a partner and its keys."`
	Audit      auditCmd      `cmd:"" help:"Verify the audit trail, and check proofs of its events."`
	Reseal     resealCmd     `cmd:"" help:"Seal stored secrets anew with the first of the secret keys, so that the others can be dropped."`
	Metrics    metricsCmd    `cmd:"" help:"Print the dashboard and the alert rules for the metrics of the service."`
	Verify     verifyCmd     `cmd:"" help:"Verify after a restore that database, file store and secret keys belong together and the books add up; exit code 1 if not."`
	User       userCmd       `cmd:"" help:"Make users, grant them teams, issue bearer tokens."`
	PMS        pmsGroup      `cmd:"" name:"pms" help:"Check a server of our protocol for property-management systems."`
	Sandbox    sandboxGroup  `cmd:"" help:"Serve a payment provider that moves no money, a bank feed without banks and a PMS without guests, or print a legacy team, to try things with."`
	OpenAPI    openapiCmd    `cmd:"" name:"openapi" help:"Print the published description."`
	Completion completionCmd `cmd:"" help:"Print the script with which a shell completes command lines of this program."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print what can come next on a command line."`
	Version    versionCmd    `cmd:"" help:"Print which program this is."`
}

// main parses the command line and runs the command until it ends or a signal stops it.
func main() {
	var c cli

	k := kong.Must(&c, kong.Name("stayledger"), kong.ShortUsageOnError(), kong.Exit(exitUsage),
		kong.Vars{"pages": strconv.Itoa(check.DefaultPages), "rows": strconv.Itoa(check.DefaultRows)},
		kong.Description("Accounting for vacation-rental property managers. Every flag is an environment variable "+
			"too."))
	parsed, err := k.Parse(flagsFirst(k, os.Args[1:]))
	k.FatalIfErrorf(err)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = parsed.Run(&runContext{ctx: ctx})

	stop()

	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "stayledger:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode returns 2 for wrong usage and 1 for any other error.
func exitCode(err error) int {
	if errors.Is(err, apicall.ErrUsage) {
		return 2
	}

	return 1
}

// exitUsage ends the program as kong wants it, with 2 for a command line that it cannot read.
func exitUsage(code int) {
	if code != 0 {
		code = 2
	}

	os.Exit(code)
}

// runContext hands the process's context to the commands.
type runContext struct {
	ctx context.Context //nolint:containedctx // kong passes values, not contexts
}

func newLog(level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}

	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: l}))
}

// defaultDataDir returns the folder for this user's data that must last.
func defaultDataDir() (string, error) {
	dir, err := pgserver.DefaultDir()
	return filepath.Dir(dir), err
}

type serveCmd struct {
	app.Config `embed:""`
	NoMigrate  bool `env:"STAYLEDGER_NO_MIGRATE" help:"Do not bring the schema up to date first."`
}

// Run serves until it is stopped.
func (c *serveCmd) Run(r *runContext) error {
	a, err := open(r.ctx, &c.Config, !c.NoMigrate)
	if err != nil {
		return err
	}
	defer a.Close()

	listener, err := listen(r.ctx, c.Listen)
	if err != nil {
		return err
	}

	a.Log.Info("serving", "address", a.Config.PublicURL, "workers", c.Workers)

	return a.Run(r.ctx, listener)
}

type workCmd struct {
	app.Config `embed:""`
}

// Run works on jobs until it is stopped.
func (c *workCmd) Run(r *runContext) error {
	if c.Workers == 0 {
		return errors.New("--workers: a worker needs at least one")
	}

	a, err := open(r.ctx, &c.Config, false)
	if err != nil {
		return err
	}
	defer a.Close()

	if err := a.CheckSchema(r.ctx); err != nil {
		return err
	}

	a.Log.Info("working", "workers", c.Workers)

	return a.Run(r.ctx, nil)
}

type migrateCmd struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" required:"" help:"PostgreSQL 15 or later, as a role that owns its database."`
}

// Run migrates.
func (c *migrateCmd) Run(r *runContext) error {
	n, err := app.Migrate(r.ctx, c.DatabaseURL)
	if err != nil {
		return err
	}

	_, err = fmt.Printf("%d migrations applied\n", n)

	return err
}

type openapiCmd struct {
	JSON   bool   `help:"As JSON instead of YAML." xor:"form"`
	JSON30 bool   `name:"json30" help:"As JSON in OpenAPI 3.0, for older tools." xor:"form"`
	ByTag  string `name:"by-tag" help:"Write it to this folder instead, as one YAML file per tag." type:"path" xor:"form"`
}

// Run prints the description or writes its files; it needs no database.
func (c *openapiCmd) Run(*runContext) error {
	d, err := app.Describe()
	if err != nil {
		return err
	}

	if c.ByTag != "" {
		return writeByTag(d, c.ByTag)
	}

	out := d.YAML

	switch {
	case c.JSON:
		out = d.JSON
	case c.JSON30:
		out = d.JSON30
	}

	_, err = os.Stdout.Write(out)

	return err
}

// writeByTag writes the files of a description to a folder, and leaves other files there as they are.
func writeByTag(d api.Description, folder string) error {
	files, err := d.Files()
	if err != nil {
		return err
	}

	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil { //nolint:gosec // it is published
			return err
		}
	}

	return nil
}

type versionCmd struct{}

// Run prints versions: of the program, its commit, Go, the schema and the API.
func (*versionCmd) Run(*runContext) error {
	b := app.ReadBuild()
	_, err := fmt.Printf(
		"stayledger %s\ncommit  %s\ngo      %s\nschema  %d\napi     %s\n",
		b.Version,
		b.Revision,
		b.Go,
		b.Schema,
		b.API,
	)

	return err
}

// complete takes the default folder for data if the settings name none, and refuses settings that cannot work.
func complete(c *app.Config) error {
	if c.DataDir == "" {
		var err error
		if c.DataDir, err = defaultDataDir(); err != nil {
			return err
		}
	}

	return c.Check()
}

// open assembles the service for a command.
func open(ctx context.Context, c *app.Config, migrate bool) (*app.App, error) {
	if err := complete(c); err != nil {
		return nil, err
	}

	log := newLog(c.LogLevel)

	// Migrate first: opening does not check the schema, so an old one would only fail at the first query.
	if migrate {
		n, err := app.Migrate(ctx, c.DatabaseURL)
		if err != nil {
			return nil, err
		}

		if n > 0 {
			log.Info("migrated", "applied", n)
		}
	}

	return app.Open(ctx, *c, log)
}
