package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"text/tabwriter"
	"time"

	"stayledger/domain/access"
	"stayledger/domain/team"
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

// database is what the administrative commands need.
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
}

type teamCreate struct {
	database `embed:""`
	Name     string `arg:"" help:"Name of the team."`
	Partner  bool   `help:"A partner, which manages other teams and keeps no books itself."`
	Under    id.ID  `help:"Id of the partner that manages the team."`
	Region   string `default:"us" enum:"ap,ca,eu,sa,us" help:"Data region."`
	Currency string `default:"usd" help:"Default currency."`
	Start    string `help:"First day of owner statements (YYYY-MM-DD)."`
}

// Run makes the team.
func (c *teamCreate) Run(r *runContext) error {
	n := team.New{Name: c.Name, Type: team.PropertyManager, Region: c.Region, PartnerID: c.Under, Currency: c.Currency}
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
	var rows []row
	err := c.across(r.ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[row](ctx, tx, `select id, type, status, region, name from team order by name, id`, nil)
		return err
	})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, t := range rows {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Type, t.Status, t.Region, t.Name); err != nil {
			return err
		}
	}
	return w.Flush()
}

type keyCmd struct {
	Issue  keyIssue  `cmd:"" help:"Issue a key and print it, once."`
	List   keyList   `cmd:"" help:"List a team's keys."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key at once."`
}

type keyIssue struct {
	database `embed:""`
	Team     []id.ID       `required:"" help:"Teams the key reaches; the first one issues it."`
	Partner  bool          `help:"A partner key: it reaches every team the partner manages."`
	Name     string        `default:"API key" help:"Name of the key and of the service user it acts as."`
	Scope    []string      `default:"admin" help:"Scopes, or bundles: reporting, bookkeeping, statements, payments, setup, admin."`
	Expires  time.Duration `help:"Lifetime; unlimited when absent."`
}

// Run issues the key.
func (c *keyIssue) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		k, err := access.IssueKey(ctx, tx, access.NewKey{Name: c.Name, Teams: c.Team, Partner: c.Partner, Scopes: c.Scope, Expires: until(tx, c.Expires)})
		if err != nil {
			return err
		}
		_, err = fmt.Println(k.Secret)
		return err
	})
}

func until(tx *db.Tx, lifetime time.Duration) *time.Time {
	if lifetime == 0 {
		return nil
	}
	at := tx.Now.Add(lifetime)
	return &at
}

type keyList struct {
	database `embed:""`
	Team     id.ID `arg:"" help:"Team that issued the keys."`
}

// Run prints the keys without their secrets.
func (c *keyList) Run(r *runContext) error {
	var keys []access.KeyInfo
	err := c.across(r.ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		keys, err = access.Keys(ctx, tx, c.Team)
		return err
	})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, k := range keys {
		state := "live"
		if k.RevokedAt != nil {
			state = "revoked"
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\n", k.ID, k.Kind, k.Prefix, state, k.Name); err != nil {
			return err
		}
	}
	return w.Flush()
}

type keyRevoke struct {
	database `embed:""`
	Key      id.ID `arg:"" help:"Id of the key."`
}

// Run revokes the key.
func (c *keyRevoke) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		done, err := access.RevokeKey(ctx, tx, c.Key)
		if err == nil && !done {
			err = errors.New("no such live key")
		}
		return err
	})
}

type userCmd struct {
	Create userCreate `cmd:"" help:"Make a user and print its id."`
	Grant  userGrant  `cmd:"" help:"Grant a user a team."`
	Token  userToken  `cmd:"" help:"Issue a bearer token and print it, once."`
}

type userCreate struct {
	database `embed:""`
	Name     string `arg:"" help:"Name of the person."`
	Email    string `arg:"" help:"E-mail address."`
}

// Run makes the user.
func (c *userCreate) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		user, err := access.AddUser(ctx, tx, c.Name, c.Email)
		if err != nil {
			return err
		}
		_, err = fmt.Println(user)
		return err
	})
}

type userGrant struct {
	database `embed:""`
	User     id.ID    `arg:"" help:"Id of the user."`
	Team     id.ID    `arg:"" help:"Id of the team."`
	Scope    []string `default:"reporting" help:"Scopes or bundles."`
	Owner    id.ID    `help:"Id of the contact whose listings the user owns; the user then sees nothing else."`
}

// Run grants the team.
func (c *userGrant) Run(r *runContext) error {
	m := access.Member{Team: c.Team, User: c.User, Scopes: c.Scope}
	if !c.Owner.IsZero() {
		m.Contact, m.Scopes = &c.Owner, access.OwnerScopes()
	}
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error { return access.SetMember(ctx, tx, m) })
}

type userToken struct {
	database `embed:""`
	User     id.ID         `arg:"" help:"Id of the user."`
	Expires  time.Duration `default:"720h" help:"Lifetime."`
}

// Run issues the token.
func (c *userToken) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		token, err := access.IssueToken(ctx, tx, c.User, until(tx, c.Expires))
		if err != nil {
			return err
		}
		_, err = fmt.Println(token)
		return err
	})
}
