//go:build unix

package pgserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// cluster is the folder: what it holds on disk, and the account that works on it.
type cluster struct {
	dir     string
	account *account
	state   state
}

// state is cluster.json: what must be the same at the next start.
type state struct {
	Port              int    `json:"port"`
	SuperuserPassword string `json:"superuserPassword"`
	RolePassword      string `json:"rolePassword"`
}

func (c *cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

// openCluster reads the state of a cluster from its folder, or makes new passwords for a new one.
func openCluster(dir string) (*cluster, error) {
	c := &cluster{dir: dir}

	content, err := os.ReadFile(c.path("cluster.json"))
	if errors.Is(err, fs.ErrNotExist) {
		c.state = state{SuperuserPassword: rand.Text(), RolePassword: rand.Text()}
		return c, c.save()
	}

	if err != nil {
		return nil, fmt.Errorf("read cluster.json: %w", err)
	}

	if err := json.Unmarshal(content, &c.state); err != nil {
		return nil, fmt.Errorf("read %s: %w", c.path("cluster.json"), err)
	}

	return c, nil
}

// save replaces cluster.json as a whole: half a file would lose the passwords.
func (c *cluster) save() error {
	content, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return fmt.Errorf("encode cluster.json: %w", err)
	}

	next := c.path("cluster.json.new")
	if err := os.WriteFile(next, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write cluster.json: %w", err)
	}

	if err := os.Rename(next, c.path("cluster.json")); err != nil {
		return fmt.Errorf("write cluster.json: %w", err)
	}

	return nil
}

func (c *cluster) exists() bool {
	_, err := os.Stat(c.path("data", "PG_VERSION"))
	return err == nil
}

// binaries finds the programs: the newest for a new cluster, those of its own version for an existing one, which no
// other can read.
func (c *cluster) binaries(ctx context.Context) (string, error) {
	content, err := os.ReadFile(c.path("data", "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		dir, _, err := FindBinaries(ctx)
		return dir, err
	}

	if err != nil {
		return "", fmt.Errorf("read version of the cluster: %w", err)
	}

	version, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return "", fmt.Errorf("read version of the cluster: %w", err)
	}

	return findVersion(ctx, version)
}

// create runs initdb in a temporary folder and renames it, so that an interrupted one is not taken for a cluster.
func (c *cluster) create(ctx context.Context, bin string, durable bool) error {
	next := c.path("data.new")
	if err := os.RemoveAll(next); err != nil {
		return fmt.Errorf("remove unfinished cluster: %w", err)
	}

	if err := os.Mkdir(next, 0o700); err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}

	if err := c.chown(next); err != nil {
		return err
	}
	// The account cannot read cluster.json, and a command line would show the password to every user of the machine.
	password := c.path("password.new")
	if err := os.WriteFile(password, []byte(c.state.SuperuserPassword+"\n"), 0o600); err != nil {
		return fmt.Errorf("hand over password: %w", err)
	}
	defer func() { _ = os.Remove(password) }()

	if err := c.chown(password); err != nil {
		return err
	}
	// Locale C sorts and compares fastest; texts that people read are sorted with ICU collations, which do not depend
	// on it.
	args := []string{
		"-D", next, "--username=" + superuser, "--pwfile=" + password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--locale-provider=libc",
	}
	if durable {
		args = append(args, "--data-checksums")
	} else {
		args = append(args, "--no-sync")
	}

	// Only a complete cluster gets its final name.
	if out, err := c.command(ctx, filepath.Join(bin, "initdb"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}

	if err := os.Rename(next, c.path("data")); err != nil {
		return fmt.Errorf("put the new cluster in place: %w", err)
	}

	return nil
}

// choosePort keeps the port of the last run unless another program has taken it.
func (c *cluster) choosePort(ctx context.Context) error {
	var config net.ListenConfig

	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.state.Port)))
	if err != nil {
		listener, err = config.Listen(ctx, "tcp4", "127.0.0.1:0")
	}

	if err != nil {
		return fmt.Errorf("choose a port for the database: %w", err)
	}

	address, ok := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil || !ok {
		return fmt.Errorf("choose a port for the database: %w", err)
	}

	if address.Port != c.state.Port {
		c.state.Port = address.Port
		if err := c.save(); err != nil {
			return err
		}
	}

	return c.writePort()
}

// awaitServer returns when the server answers, and answers from our folder: another one may listen on a port we kept.
func (c *cluster) awaitServer(ctx context.Context, p *process) error {
	var last error
	for {
		if last = c.checkIdentity(ctx); last == nil {
			return nil
		}

		if refused, ok := errors.AsType[*pgconn.PgError](last); ok && refused.Code != "57P03" &&
			refused.Code != "53300" {
			// Anything but "is starting up" and "too many clients" does not pass with time.
			return fmt.Errorf("connect to the database: %w", last)
		}

		select {
		case <-p.exited:
			return fmt.Errorf("postgres ended while starting: %s", c.logTail())
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w (%w): %s", ctx.Err(), last, c.logTail())
		case <-time.After(pollInterval):
		}
	}
}

// checkIdentity fails unless the server at the cluster's port is that of the cluster.
func (c *cluster) checkIdentity(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	conn, err := pgx.Connect(ctx, c.url(superuser, "postgres"))
	if err != nil {
		return err
	}

	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	var data string
	if err := conn.QueryRow(ctx, "show data_directory").Scan(&data); err != nil {
		return err
	}

	if data != c.path("data") {
		return fmt.Errorf("the server on port %d works in %s", c.state.Port, data)
	}

	return nil
}

// prepareDatabase creates the service's role and database if they are missing, and sets the password of cluster.json.
func (c *cluster) prepareDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.url(superuser, "postgres"))
	if err != nil {
		return fmt.Errorf("connect to the new database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	var hasRole, hasDatabase, hasICU bool

	err = conn.QueryRow(ctx, `select exists (select from pg_roles where rolname = $1),
		exists (select from pg_database where datname = $1),
		exists (select from pg_collation where collprovider = 'i')`, Role).Scan(&hasRole, &hasDatabase, &hasICU)
	if err != nil {
		return fmt.Errorf("look up role and database: %w", err)
	}

	if !hasICU {
		return errors.New("this PostgreSQL was built without ICU, which sorting needs: install the distribution's " +
			"or Homebrew's package")
	}

	// The role owns its tables but is subject to row-level security.
	role := pgx.Identifier{Role}.Sanitize()

	verb := "alter"
	if !hasRole {
		verb = "create"
	}
	// The password is rand.Text: letters and digits only.
	_, err = conn.Exec(ctx,
		verb+" role "+role+" login nosuperuser nobypassrls createdb password '"+c.state.RolePassword+"'",
	)
	if err != nil {
		return fmt.Errorf("prepare role %s: %w", Role, err)
	}

	if hasDatabase {
		return nil
	}

	if _, err := conn.Exec(ctx, "create database "+role+" owner "+role); err != nil {
		return fmt.Errorf("create database %s: %w", Role, err)
	}

	return nil
}
