package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"stayledger/domain/tenant/access"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// table prints rows in aligned columns under a heading.
func table[T any](heading string, rows []T, cells func(T) []string) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, heading); err != nil {
		return err
	}

	for _, r := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(cells(r), "\t")); err != nil {
			return err
		}
	}

	return w.Flush()
}

// printList reads rows across teams and prints them.
func printList[T any](
	r *runContext,
	d *database,
	heading string,
	read func(context.Context, *db.Tx) ([]T, error),
	cells func(*db.Tx, T) []string,
) error {
	var lines [][]string

	err := d.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		rows, err := read(ctx, tx)

		// The transaction may run again after a conflict: start over.
		lines = nil
		for _, row := range rows {
			lines = append(lines, cells(tx, row))
		}

		return err
	})
	if err != nil {
		return err
	}

	return table(heading, lines, func(line []string) []string { return line })
}

// formatInstant returns an instant as commands print it.
func formatInstant(at *time.Time) string {
	if at == nil {
		return "never"
	}

	return at.UTC().Format(time.RFC3339)
}

func orNone[T fmt.Stringer](v *T) string {
	if v == nil {
		return "-"
	}

	return (*v).String()
}

type keyCmd struct {
	Issue  keyIssue  `cmd:"" help:"Issue a key and print it, once."`
	List   keyList   `cmd:"" help:"List keys, without their secrets."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key at once."`
}

type keyIssue struct {
	database `embed:""`
	Team     []id.ID       `required:"" help:"Teams the key reaches; the first one issues it."`
	Partner  bool          `help:"A partner key: it reaches every team the partner manages."`
	Name     string        `default:"API key" help:"Name of the key and of the service user it acts as."`
	Scope    []string      `default:"admin" help:"Scopes, or bundles: reporting, bookkeeping, statements, payments, setup, admin."`
	Audience string        `default:"backend" enum:"backend,portal" help:"What a partner key is for: the partner's backend, or a portal that only makes embedded sessions."`
	Expires  time.Duration `help:"Lifetime; unlimited when absent."`
}

// Run issues the key.
func (c *keyIssue) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		k, err := access.IssueKey(ctx, tx, access.NewKey{
			Name:     c.Name,
			Teams:    c.Team,
			Partner:  c.Partner,
			Audience: access.Audience(c.Audience),
			Scopes:   c.Scope,
			Expires:  until(tx, c.Expires),
		})
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
	Team     id.ID `arg:"" optional:"" help:"Team that issued the keys; all teams when absent."`
}

// Run prints the keys without their secrets.
func (c *keyList) Run(r *runContext) error {
	return printList(r, &c.database, "KEY\tKIND\tAUDIENCE\tPREFIX\tSTATE\tEXPIRES\tTEAM\tNAME\tBUNDLES AND SCOPES",
		func(ctx context.Context, tx *db.Tx) ([]access.KeyInfo, error) { return access.Keys(ctx, tx, c.Team) },
		func(tx *db.Tx, k access.KeyInfo) []string {
			return []string{
				k.ID.String(),
				k.Kind,
				string(k.Audience),
				k.Prefix + "…",
				k.State(tx.Now),
				formatInstant(k.ExpiresAt),
				k.Team,
				k.Name,
				formatScopes(k.Scopes),
			}
		})
}

// formatScopes returns scopes as they would be issued: the names of bundles, and then the scopes besides.
func formatScopes(scopes []string) string {
	bundles, rest := access.Bundles(scopes)

	names := make([]string, len(bundles))
	for i, b := range bundles {
		names[i] = string(b)
	}

	return strings.Join(append(names, rest...), ",")
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
	Create       userCreate       `cmd:"" help:"Make a user and print its id."`
	List         userList         `cmd:"" help:"List the users."`
	Grant        userGrant        `cmd:"" help:"Grant a user a team."`
	Grants       userGrants       `cmd:"" help:"List what users may do in teams."`
	Revoke       userRevoke       `cmd:"" help:"Take a team from a user at once."`
	Token        userToken        `cmd:"" help:"Issue a bearer token and print it, once."`
	Tokens       userTokens       `cmd:"" help:"List a user's bearer tokens, without their secrets."`
	RevokeTokens userRevokeTokens `cmd:"" help:"End a bearer token, or all of a user, at once."`
}

type userCreate struct {
	database `embed:""`
	Name     string `arg:"" help:"Name of the person."`
	Email    string `arg:"" help:"E-mail address."`
}

// Run creates the user.
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

type userList struct {
	database `embed:""`
	Search   string `help:"Part of the name or of the e-mail address."`
}

// Run prints the users.
func (c *userList) Run(r *runContext) error {
	return printList(r, &c.database, "USER\tE-MAIL\tTEAMS\tMADE\tNAME",
		func(ctx context.Context, tx *db.Tx) ([]access.Person, error) { return access.People(ctx, tx, c.Search) },
		func(_ *db.Tx, p access.Person) []string {
			email := "-"
			if p.Email != nil {
				email = *p.Email
			}

			return []string{p.ID.String(), email, strconv.FormatInt(p.Teams, 10), formatInstant(&p.CreatedAt), p.Name}
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

type userGrants struct {
	database `embed:""`
	User     id.ID `help:"Grants of this user alone."`
	Team     id.ID `help:"Grants on this team alone."`
}

// Run prints the grants.
func (c *userGrants) Run(r *runContext) error {
	return printList(r, &c.database, "USER\tTEAM\tOWNER\tNAME\tTEAM NAME\tBUNDLES AND SCOPES",
		func(ctx context.Context, tx *db.Tx) ([]access.Grant, error) {
			return access.Grants(ctx, tx, c.User, c.Team)
		},
		func(_ *db.Tx, g access.Grant) []string {
			return []string{
				g.UserID.String(),
				g.TeamID.String(),
				orNone(g.ContactID),
				g.User,
				g.Team,
				formatScopes(g.Scopes),
			}
		})
}

type userRevoke struct {
	database `embed:""`
	User     id.ID `arg:"" help:"Id of the user."`
	Team     id.ID `arg:"" help:"Id of the team."`
}

// Run takes the team from the user.
func (c *userRevoke) Run(r *runContext) error {
	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		done, err := access.RevokeGrant(ctx, tx, c.User, c.Team)
		if err == nil && !done {
			err = errors.New("the user has no grant on this team")
		}

		return err
	})
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

type userTokens struct {
	database `embed:""`
	User     id.ID `arg:"" help:"Id of the user."`
}

// Run prints the tokens without their secrets.
func (c *userTokens) Run(r *runContext) error {
	return printList(r, &c.database, "TOKEN\tSTATE\tMADE\tEXPIRES",
		func(ctx context.Context, tx *db.Tx) ([]access.TokenInfo, error) {
			return access.Tokens(ctx, tx, c.User)
		},
		func(tx *db.Tx, t access.TokenInfo) []string {
			return []string{t.ID.String(), t.State(tx.Now), formatInstant(&t.CreatedAt), formatInstant(t.ExpiresAt)}
		})
}

type userRevokeTokens struct {
	database `embed:""`
	User     id.ID `help:"All tokens of this user."`
	Token    id.ID `help:"This token alone."`
}

// Run ends the tokens.
func (c *userRevokeTokens) Run(r *runContext) error {
	if c.User.IsZero() && c.Token.IsZero() {
		return errors.New("name a user (--user) or a token (--token)")
	}

	return c.across(r.ctx, func(ctx context.Context, tx *db.Tx) error {
		n, err := access.RevokeTokens(ctx, tx, c.User, c.Token)
		if err != nil {
			return err
		}

		if n == 0 {
			return errors.New("no such live token")
		}

		_, err = fmt.Printf("%d tokens revoked\n", n)

		return err
	})
}
