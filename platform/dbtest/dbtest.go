//go:build unix

// Package dbtest gives tests their own databases on a real PostgreSQL.
//
// All test processes of a machine's user share one private cluster, in memory where the system has /dev/shm, without
// fsync. The first process starts it, the others find it, and it runs on after them so that the next run pays nothing;
// it stops by itself when no test has used it for half an hour. DATABASE_URL_TEST names another server instead: a role
// that may create databases and, like the service's own, is neither superuser nor exempt from row-level security.
//
// A schema is migrated once, into a template database named by the migrations' hash; a test's database is a copy of it,
// which takes tens of milliseconds. Databases left behind by killed tests are dropped after an hour, unused templates
// after twelve.
package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Migrate brings the empty database at a postgres:// URL to the current schema, and has closed its connections when it
// returns.
type Migrate = func(ctx context.Context, url string) error

// limit bounds the creation of one database; the first one waits for the cluster and the migrations.
const limit = 3 * time.Minute

// URL creates a database for the test tb and returns its URL, for a role that owns it and that row-level security
// applies to. It is dropped when tb ends, even if something is still connected to it. The hash names the schema:
// equal hashes promise equal migrations.
func URL(tb testing.TB, migrate Migrate, hash string) string {
	tb.Helper()

	at, drop, err := create(migrate, hash)
	if err != nil {
		tb.Fatalf("make a test database: %v", err)
	}

	tb.Cleanup(func() {
		if err := drop(); err != nil {
			tb.Errorf("drop the test database: %v", err)
		}
	})

	return at
}

// ForPackage creates a database that the tests of one package share. It is for TestMain, which has no test to fail:
// it panics with the cause if there can be no database.
func ForPackage(migrate Migrate, hash string) (at string, drop func()) {
	at, remove, err := create(migrate, hash)
	if err != nil {
		panic(fmt.Errorf("make a test database: %w", err))
	}

	return at, func() {
		if err := remove(); err != nil {
			panic(fmt.Errorf("drop the test database: %w", err))
		}
	}
}

// serverURL is found once in a process.
var serverURL = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()

	at := os.Getenv("DATABASE_URL_TEST")
	if at == "" {
		var err error
		if at, err = startCluster(ctx); err != nil {
			return "", err
		}
	}

	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return "", fmt.Errorf("connect to the test server: %w", err)
	}

	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	if err := checkRole(ctx, conn); err != nil {
		return "", err
	}

	return at, removeStale(ctx, conn)
})

// checkRole refuses a role that row-level security does not apply to: tests of tenancy would pass and prove
// nothing.
func checkRole(ctx context.Context, conn *pgx.Conn) error {
	var exempt, creates bool

	err := conn.QueryRow(ctx, "select rolsuper or rolbypassrls, rolcreatedb from pg_roles where rolname = "+
		"current_user").Scan(&exempt, &creates)
	if err != nil {
		return fmt.Errorf("look up the test role: %w", err)
	}

	if exempt || !creates {
		return errors.New("DATABASE_URL_TEST needs a role with CREATEDB, NOSUPERUSER and NOBYPASSRLS")
	}

	return nil
}

// create copies the migrated template into a new database, and returns its URL and a function that drops it.
func create(migrate Migrate, hash string) (at string, drop func() error, err error) {
	server, err := serverURL()
	if err != nil {
		return "", nil, err
	}

	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()

	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", nil, fmt.Errorf("connect to the test server: %w", err)
	}
	// Closing also frees the template's lock.
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	// The template stays locked until the copy is made.
	t := template{name: "template_" + hash, server: server, migrate: migrate}
	if err := t.holdReady(ctx, conn); err != nil {
		return "", nil, err
	}
	// The time of birth is in the name: that is how removeStale finds what a killed test has left.
	name := "test_" + strconv.FormatInt(time.Now().Unix(), 10) + "_" + strings.ToLower(rand.Text()[:12])

	statement := "create database " + quote(name) + " template " + quote(t.name) + " strategy file_copy"
	if _, err := conn.Exec(ctx, statement); err != nil {
		return "", nil, fmt.Errorf("copy the template: %w", err)
	}

	at, err = withDatabase(server, name)

	return at, func() error { return dropDatabase(server, name) }, err
}

// dropDatabase drops a database and waits for an autovacuum that is at work in it.
func dropDatabase(server, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()

	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}

	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	for {
		_, err := conn.Exec(ctx, "drop database if exists "+quote(name)+" with (force)")
		switch {
		case err == nil:
			return nil
		case !isVacuuming(err) || ctx.Err() != nil:
			return fmt.Errorf("drop %s: %w", name, err)
		}

		time.Sleep(50 * time.Millisecond)
	}
}

// isVacuuming reports whether the server itself is at work in the database, in a process that the role may not end.
func isVacuuming(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "42501"
}

// Ages after which unused databases are dropped.
const (
	databaseAge = time.Hour
	templateAge = 12 * time.Hour
)

// removeStale drops databases and templates that killed tests have left.
func removeStale(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `select datname, datistemplate from pg_database d
		where pg_get_userbyid(datdba) = current_user and not exists (select from pg_stat_activity a where a.datid = d.oid)
		  and (datname ~ '^test_[0-9]+_' and to_timestamp(split_part(datname, '_', 2)::double precision) < now() - make_interval(secs => $1)
		    or datname ~ '^template_' and shobj_description(oid, 'pg_database')::timestamptz < now() - make_interval(secs => $2))`,
		databaseAge.Seconds(), templateAge.Seconds())
	if err != nil {
		return fmt.Errorf("find stale test databases: %w", err)
	}

	type stale struct {
		Name       string `db:"datname"`
		IsTemplate bool   `db:"datistemplate"`
	}

	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[stale])
	if err != nil {
		return fmt.Errorf("find stale test databases: %w", err)
	}

	// Another process may use or drop them at the same time.
	for _, database := range found {
		if database.IsTemplate {
			err = removeTemplate(ctx, conn, database.Name)
		} else {
			_, err = conn.Exec(ctx, "drop database if exists "+quote(database.Name))
		}

		if err != nil && !wasOvertaken(err) {
			return fmt.Errorf("drop stale %s: %w", database.Name, err)
		}
	}

	return nil
}

// wasOvertaken reports whether somebody connected to a stale database since it was found (55006), or dropped it at the
// same time.
func wasOvertaken(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains([]string{"55006", "40P01", "3D000", "XX000"}, refused.Code)
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("DATABASE_URL_TEST must be a postgres:// URL: %w", err)
	}

	u.Path = "/" + name

	return u.String(), nil
}
