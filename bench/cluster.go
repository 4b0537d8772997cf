package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/migrations"
	"stayledger/platform/db"
	"stayledger/platform/pgserver"
)

// superuser is the administrator of the cluster. Neither policies nor triggers apply to this user.
const superuser = "postgres"

// cluster is the bench's own PostgreSQL. It stays between runs with the seeds in it.
type cluster struct {
	server *pgserver.Server
	folder string // for the files of this run
	log    string // file of the service's log
	timed  bool   // PostgreSQL records where it spends its time
}

// startCluster starts PostgreSQL and drops what an interrupted run has left. It closes everything again if it fails.
func startCluster(ctx context.Context, o *options) (c *cluster, err error) {
	c = &cluster{timed: o.timed, log: o.log}

	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()

	if c.folder, err = os.MkdirTemp("", "stayledger-bench-"); err != nil {
		return c, fmt.Errorf("make a folder: %w", err)
	}

	// Commits are durable, because most limits compare how long commits take.
	server := pgserver.Options{Dir: o.dir, Durable: true, Logger: slog.New(slog.DiscardHandler)}
	if o.timed {
		server.Settings = map[string]string{
			"shared_preload_libraries":          "pg_stat_statements",
			"pg_stat_statements.track_planning": "on",
			"pg_stat_statements.track":          "all",
		}
	}

	if c.server, err = pgserver.Start(ctx, server); err != nil {
		return c, err
	}

	// Templates of a seed that is complete stay, unless they are to be made anew.
	left, err := c.databases(ctx, fmt.Sprintf(`datname like 'run\_%%' or datname like 'seed\_%%' and (not datistemplate or %t)`, o.fresh))
	if err != nil {
		return c, err
	}

	return c, c.drop(ctx, left...)
}

// close stops PostgreSQL and removes the files of this run. One failure does not keep the rest from being closed.
func (c *cluster) close() error {
	var err error

	if c.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()

		err = c.server.Stop(ctx)
	}

	return errors.Join(err, os.RemoveAll(c.folder))
}

// databases returns the names of the databases that a condition selects.
func (c *cluster) databases(ctx context.Context, where string) (names []string, err error) {
	err = c.connected(ctx, superuser, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select datname from pg_database where "+where)
		if err == nil {
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}

		return err
	})

	return names, err
}

// drop drops databases, templates among them.
func (c *cluster) drop(ctx context.Context, names ...string) error {
	for _, name := range names {
		quoted := pgx.Identifier{name}.Sanitize()
		if err := c.asSuperuser(ctx, superuser,
			"alter database "+quoted+" is_template false",
			"drop database "+quoted+" with (force)",
		); err != nil {
			return err
		}
	}

	return nil
}

// connected calls do with a session of the administrator in a database.
func (c *cluster) connected(ctx context.Context, database string, do func(conn *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, c.server.URL(superuser, database))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", database, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	if err := do(conn); err != nil {
		return fmt.Errorf("in %s: %w", database, err)
	}

	return nil
}

// asSuperuser runs statements in a database, each by itself.
func (c *cluster) asSuperuser(ctx context.Context, database string, statements ...string) error {
	return c.connected(ctx, database, func(conn *pgx.Conn) error {
		for _, sql := range statements {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%.80s: %w", sql, err)
			}
		}

		return nil
	})
}

// definitions are the files that say what seeds hold. A change in any of them makes all seeds anew.
//
//go:embed seed_*.go
var definitions embed.FS

// seed fills the database that a section starts with. It runs once, and its database is copied.
type seed struct {
	name  string
	sizes []int
	// on is the seed that it adds to; nil for one that begins with an empty schema.
	on *seed
	// fill adds the rows. The service runs meanwhile, unless the seed begins with an empty schema.
	fill func(ctx context.Context, b *bed) error
}

// prefix begins the names of the seed's templates, whatever its definition was.
func (s *seed) prefix() string {
	parts := []string{"seed", s.name}
	for _, n := range s.sizes {
		parts = append(parts, strconv.Itoa(n))
	}

	return strings.Join(parts, "_") + "_"
}

// template returns the name of the seed's template: its name, its sizes, and a hash of the definitions, of the newest
// migration, and of the month, since seeds have rows of the last and of the next days.
func (s *seed) template(at time.Time) (string, error) {
	hash := sha256.New()

	for _, files := range []fs.FS{definitions, newest{migrations.FS}} {
		names, err := fs.Glob(files, "*.*")
		if err != nil {
			return "", fmt.Errorf("hash the seeds: %w", err)
		}

		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return "", fmt.Errorf("hash the seeds: %w", err)
			}

			_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
		}
	}

	_, _ = hash.Write([]byte(at.Format("2006-01")))

	return s.prefix() + hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// newest is a folder of migrations of which only the newest is listed.
type newest struct{ fs.FS }

// Glob returns the last migration.
func (n newest) Glob(string) ([]string, error) {
	names, err := fs.Glob(n.FS, "*.sql")
	slices.Sort(names)

	return names[max(len(names)-1, 0):], err
}

// prepare returns the name of the seed's template, which it makes if it is not there. Templates of the same seed with
// another definition are dropped.
func (c *cluster) prepare(ctx context.Context, s *seed) (template string, err error) {
	if template, err = s.template(time.Now()); err != nil {
		return "", err
	}

	there, err := c.databases(ctx, "datistemplate and starts_with(datname, '"+s.prefix()+"')")
	if err != nil || slices.Contains(there, template) {
		return template, err
	}

	if err := c.drop(ctx, there...); err != nil {
		return "", err
	}

	// First what it adds to, which may have to be made as well.
	base := "template0"
	if s.on != nil {
		if base, err = c.prepare(ctx, s.on); err != nil {
			return "", err
		}
	}

	begin := time.Now()

	if err := c.copy(ctx, base, template); err != nil {
		return "", err
	}

	if err := c.fill(ctx, s, template); err != nil {
		return "", fmt.Errorf("make the seed %s: %w", template, err)
	}

	// It is complete when it is marked; before that the next start drops it.
	if err := c.asSuperuser(ctx, superuser, "alter database "+pgx.Identifier{template}.Sanitize()+" is_template true"); err != nil {
		return "", err
	}

	_, _ = fmt.Fprintf(os.Stderr, "made %s in %.1f s\n", template, time.Since(begin).Seconds())

	return template, nil
}

// copy creates a database from a template.
func (c *cluster) copy(ctx context.Context, template, name string) error {
	return c.asSuperuser(ctx, superuser, fmt.Sprintf("create database %s template %s owner %s strategy file_copy",
		pgx.Identifier{name}.Sanitize(), pgx.Identifier{template}.Sanitize(), pgserver.Role))
}

// fill adds the rows of a seed to a database: a copy of its parent seed, or an empty database if it has no parent.
func (c *cluster) fill(ctx context.Context, s *seed, database string) (err error) {
	if s.on == nil {
		if _, err := db.Migrate(ctx, c.server.URL(pgserver.Role, database), migrations.FS); err != nil {
			return err
		}

		if err := c.asSuperuser(ctx, database, createBench); err != nil {
			return err
		}
	}

	b, err := c.open(ctx, database)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, b.close()) }()

	if s.on != nil {
		if err := b.serve(ctx); err != nil {
			return err
		}
	}

	if err := s.fill(ctx, b); err != nil {
		return err
	}

	// Statistics and clean pages, so that neither autovacuum nor a checkpoint disturbs the measurement.
	return c.asSuperuser(ctx, database, "vacuum (freeze, analyze)", "checkpoint")
}

// keepTeam saves a team of a seed under a name.
func (b *bed) keepTeam(ctx context.Context, name string, t tenant) error {
	b.teams[name] = t

	return b.connected(ctx, b.database, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "insert into bench_team (name, team, actor, secret, rows) values ($1, $2, $3, $4, $5)",
			name, t.team, t.user, t.secret, t.rows)

		return err
	})
}

// loadTeams loads the teams of the seed.
func (b *bed) loadTeams(ctx context.Context) error {
	b.teams = map[string]tenant{}

	return b.connected(ctx, b.database, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select name, team, actor, secret, rows from bench_team")
		if err != nil {
			return err
		}

		var (
			name string
			t    tenant
		)

		_, err = pgx.ForEachRow(rows, []any{&name, &t.team, &t.user, &t.secret, &t.rows}, func() error {
			b.teams[name] = t
			return nil
		})

		return err
	})
}
