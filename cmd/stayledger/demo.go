package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stayledger/app"
	"stayledger/domain/setup/demo"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/pgserver"
)

type demoCmd struct {
	app.Config `embed:""`
	Months     int64  `env:"STAYLEDGER_DEMO_MONTHS" default:"12" help:"Months of data, 1 to 24."`
	Listings   int64  `env:"STAYLEDGER_DEMO_LISTINGS" default:"8" help:"Listings of the first team, 1 to 500."`
	Seed       int64  `env:"STAYLEDGER_DEMO_SEED" default:"1" help:"Same seed, same data."`
	Today      string `env:"STAYLEDGER_DEMO_TODAY" help:"Last day of the data (YYYY-MM-DD); today when empty."`
}

// Run serves sample books. A second run on the same folder finds everything unchanged.
func (c *demoCmd) Run(r *runContext) error {
	if c.Months < 1 || c.Months > 24 || c.Listings < 1 || c.Listings > 500 {
		return errors.New("--months: 1 to 24; --listings: 1 to 500")
	}

	if c.DataDir == "" {
		var err error
		if c.DataDir, err = defaultDataDir(); err != nil {
			return err
		}
	}

	c.LogLevel = quieter(c.LogLevel)
	c.DrainTime = 0 // no balancer sends requests to demos
	log := newLog(c.LogLevel)

	// Take the address first: the links in the books contain it.
	listener, err := listen(r.ctx, c.Listen)
	if err != nil {
		return err
	}

	c.Listen = listener.Addr().String()

	// The sandbox is on this machine. A demo that others can reach must be asked for that: its teams could call servers
	// behind it.
	if at, isTCP := listener.Addr().(*net.TCPAddr); isTCP && at.IP.IsLoopback() {
		c.LocalProviders = true
	}

	// Without a database of the caller's, run one in the data folder until the demo ends. Its address can be shown; that of
	// a caller may have a password.
	shownDatabase := "$DATABASE_URL"

	if c.DatabaseURL == "" {
		server, err := startPostgres(r.ctx, c.DataDir, log)
		if err != nil {
			return err
		}
		defer func() { _ = server.Stop(context.WithoutCancel(r.ctx)) }()

		c.DatabaseURL = server.URL(pgserver.Role, pgserver.Role)
		shownDatabase = c.DatabaseURL
	}

	// Sealed values must open again at the next start.
	if len(c.SecretKeys) == 0 {
		if c.SecretKeys, err = loadKey(c.DataDir); err != nil {
			return err
		}
	}

	done := step("bringing the schema up to date")

	a, err := open(r.ctx, &c.Config, true)
	if err != nil {
		return err
	}
	defer a.Close()

	done()

	// Fill the books at the first start, and say how to use them.
	path := filepath.Join(c.DataDir, "demo.json")

	d, err := c.fill(r.ctx, a, path)
	if err != nil {
		return err
	}

	if err := writeDemo(path, d); err != nil {
		return err
	}

	greet(d, path, shownDatabase)

	return a.Run(r.ctx, listener)
}

// quieter keeps request lines off a demo's terminal unless they were asked for.
func quieter(level string) string {
	if level == "info" && os.Getenv("STAYLEDGER_LOG_LEVEL") == "" {
		return "warn"
	}

	return level
}

// step says what the demo does now, and returns what says how long it took.
func step(what string) func() {
	began := time.Now()
	_, _ = fmt.Fprintln(os.Stderr, what)

	return func() { _, _ = fmt.Fprintf(os.Stderr, "  done in %.1f s\n", time.Since(began).Seconds()) }
}

// startPostgres starts the demo's own database server.
func startPostgres(ctx context.Context, dataDir string, log *slog.Logger) (*pgserver.Server, error) {
	done := step("starting a private PostgreSQL in " + dataDir)
	defer done()

	starting, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()

	return pgserver.Start(starting, pgserver.Options{
		Dir:     filepath.Join(dataDir, "postgres"),
		Durable: true,
		Logger:  log,
	})
}

// loadKey returns the folder's own secret key, which the first start makes.
func loadKey(dataDir string) ([]string, error) {
	if err := os.MkdirAll(dataDir, 0o711); err != nil { //nolint:gosec // the database's account must pass through
		return nil, fmt.Errorf("data folder: %w", err)
	}

	path := filepath.Join(dataDir, "secret.key")

	// A new key would make the sealed values of earlier starts unreadable, so it is made only once.
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own folder
	if errors.Is(err, fs.ErrNotExist) {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		text = []byte(base64.StdEncoding.EncodeToString(key))
		err = os.WriteFile(path, text, 0o600)
	}

	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}

	return []string{strings.TrimSpace(string(text))}, nil
}

// fill makes the demo's teams, users, keys and data, unless the folder's demo.json names teams that exist.
func (c *demoCmd) fill(ctx context.Context, a *app.App, path string) (*demoFile, error) {
	today := day.Of(a.DB.Now())

	if c.Today != "" {
		var err error
		if today, err = day.Parse(c.Today); err != nil {
			return nil, fmt.Errorf("--today: %w", err)
		}
	}

	// A later start may have another address.
	if d, err := readDemo(ctx, a, path); d != nil || err != nil {
		if d != nil {
			d.BaseURL = a.Config.PublicURL
		}

		return d, err
	}

	// First teams and people, then the books of both teams.
	d := &demoFile{
		BaseURL:  a.Config.PublicURL,
		Today:    today,
		StartsAt: demo.Data{Months: c.Months, Today: today}.Start(),
	}
	if err := a.DB.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		return c.people(ctx, tx, d)
	}); err != nil {
		return nil, err
	}

	done := step("filling two teams with books")
	defer done()

	bar := newProgress(os.Stderr, "  two teams")
	defer bar.done()

	for i, t := range []demoTeam{d.Team, d.SecondTeam} {
		scope := db.Scope{Team: t.TeamID, Actor: db.Actor{User: d.User.UserID}}

		settings := demo.Data{Months: c.Months, Listings: c.Listings, Seed: c.Seed + int64(i), Today: today}

		// The second team only shows that a key can serve several teams; a quarter of the listings is enough.
		if i > 0 {
			settings.Listings = max(1, c.Listings/4)
		}

		if err := demo.Fill(ctx, a.DB, scope, settings, func(share float64) {
			bar.at((float64(i) + share) / 2)
		}); err != nil {
			return nil, fmt.Errorf("fill demo team: %w", err)
		}
	}

	return d, a.DB.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error { return owner(ctx, tx, d) })
}

// people adds the partner, its two teams, their keys and a user.
func (c *demoCmd) people(ctx context.Context, tx *db.Tx, d *demoFile) (err error) {
	region := c.Regions[0]
	if d.Partner.TeamID, err = team.Create(ctx, tx, team.New{
		Name:   "Harbour Partners",
		Type:   team.Partner,
		Region: region,
	}); err != nil {
		return err
	}

	for name, t := range map[string]*demoTeam{"Seaside Stays": &d.Team, "Alpine Retreats": &d.SecondTeam} {
		n := team.New{
			Name:             name,
			Type:             team.PropertyManager,
			Region:           region,
			PartnerID:        d.Partner.TeamID,
			StatementStartAt: &d.StartsAt,
		}
		if t.TeamID, err = team.Create(ctx, tx, n); err != nil {
			return err
		}
	}

	// One key of each kind that the guides use.
	for _, k := range []struct {
		into  *string
		key   access.NewKey
		teams []id.ID
	}{
		{&d.Partner.APIKey, access.NewKey{
			Name:    "Partner backend",
			Partner: true,
			Scopes:  []string{"admin"},
		}, []id.ID{d.Partner.TeamID}},
		{&d.Team.APIKey, access.NewKey{Name: "Back office", Scopes: []string{"admin"}}, []id.ID{d.Team.TeamID}},
		{&d.Team.ReadOnlyKey, access.NewKey{Name: "Reporting", Scopes: []string{"reporting"}}, []id.ID{d.Team.TeamID}},
		{&d.SecondTeam.APIKey, access.NewKey{
			Name:   "Back office",
			Scopes: []string{"admin"},
		}, []id.ID{d.SecondTeam.TeamID}},
		{&d.MultiTeamKey, access.NewKey{
			Name:   "Both teams",
			Scopes: []string{"admin"},
		}, []id.ID{d.Team.TeamID, d.SecondTeam.TeamID}},
	} {
		k.key.Teams = k.teams

		issued, err := access.IssueKey(ctx, tx, k.key)
		if err != nil {
			return err
		}

		*k.into = issued.Secret
	}

	// A person who may do everything in all three teams.
	if d.User.UserID, err = person(ctx, tx, "Dana Demo", "dana@example.com"); err != nil {
		return err
	}

	for _, t := range []id.ID{d.Partner.TeamID, d.Team.TeamID, d.SecondTeam.TeamID} {
		if err := access.SetMember(ctx, tx, access.Member{
			Team:   t,
			User:   d.User.UserID,
			Scopes: []string{"admin"},
		}); err != nil {
			return err
		}
	}

	d.User.AccessToken, err = access.IssueToken(ctx, tx, d.User.UserID, nil)

	return err
}

// owner gives the first owner of the first team a session of their own.
func owner(ctx context.Context, tx *db.Tx, d *demoFile) error {
	type found struct {
		ID    id.ID
		Name  string
		Email *string
	}

	o, err := db.Get[found](ctx, tx, `
		select id, name, email from contact where team_id = @team and type = 'owner' order by id limit 1`, db.Args{"team": d.Team.TeamID})
	if err != nil {
		return fmt.Errorf("find the demo owner: %w", err)
	}

	// Contacts can do without an email address, users cannot.
	email := "owner@example.com"
	if o.Email != nil {
		email = *o.Email
	}

	user, err := person(ctx, tx, o.Name, email)
	if err != nil {
		return err
	}

	d.Owner.ContactID = o.ID
	if err := access.SetMember(ctx, tx, access.Member{
		Team:    d.Team.TeamID,
		User:    user,
		Contact: &o.ID,
		Scopes:  access.OwnerScopes(),
	}); err != nil {
		return err
	}

	d.Owner.AccessToken, err = access.IssueToken(ctx, tx, user, nil)

	return err
}

// person returns the user with an e-mail address, who may exist already if the data folder was deleted and the
// database was not.
func person(ctx context.Context, tx *db.Tx, name, email string) (id.ID, error) {
	user, err := access.AddUser(ctx, tx, name, email)
	if errors.Is(err, access.ErrEmailTaken) {
		return access.UserByEmail(ctx, tx, email)
	}

	return user, err
}

// greet prints where the demo is served and what to try first.
func greet(d *demoFile, path, database string) {
	fmt.Printf(`
stayledger serves sample books at %[1]s
  console     %[1]s/console
  reference   %[1]s/docs
  keys        %[2]s (team, read-only, second team, multi-team, partner, user, owner)
  key         %[3]s (of the team Seaside Stays, for the console)
  database    PGOPTIONS='-c stayledger.across_teams=on' psql "%[5]s"

Try in another terminal, or with another program and the key in the header x-api-key:
  %[6]s api GET /team
  %[6]s api GET /reports/trial-balance startDate=%[4]s endDate=%[4]s
  %[6]s api GET /statements month=%[4]s

Stop with Ctrl-C; the next start finds everything as it was left.
`, d.BaseURL, path, d.Team.APIKey, d.Today.Month().Prev(), database, os.Args[0])
}
