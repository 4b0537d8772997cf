package db_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stayledger/migrations"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/pgserver"
)

func TestAnEmptyAddressIsRefused(t *testing.T) {
	t.Parallel()

	for _, address := range []string{"", "  "} {
		if _, err := db.Open(t.Context(), db.Config{URL: address}); !errors.Is(err, db.ErrNoAddress) {
			t.Errorf("opening %q says %v", address, err)
		}

		if _, err := db.Migrate(t.Context(), address, migrations.FS); !errors.Is(err, db.ErrNoAddress) {
			t.Errorf("migrating %q says %v", address, err)
		}
	}
}

func TestASuperuserIsRefused(t *testing.T) {
	t.Parallel()

	server, err := pgserver.Start(t.Context(), pgserver.Options{Dir: filepath.Join(shortDir(t), "cluster")})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = server.Stop(context.Background()) })

	if _, err := db.Open(t.Context(), db.Config{URL: server.AdminURL()}); !errors.Is(err, db.ErrPrivileged) {
		t.Errorf("opening as superuser says %v", err)
	}

	if _, err := db.Migrate(t.Context(), server.AdminURL(), migrations.FS); !errors.Is(err, db.ErrPrivileged) {
		t.Errorf("migrating as superuser says %v", err)
	}
}

// shortDir is a folder with a name short enough for a socket, and open to the account that PostgreSQL runs as for
// root.
func shortDir(t *testing.T) string {
	t.Helper()

	dir, err := os.MkdirTemp("", "sl") //nolint:usetesting // only we may enter the parent of t.TempDir
	if err != nil {
		t.Fatal(err)
	}

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	return dir
}

// A pooler refuses the settings that a connection begins with, or swallows them when its operator set it to.
func TestAPoolerIsRefused(t *testing.T) {
	t.Parallel()

	for name, more := range map[string]string{
		"that refuses settings":  "",
		"that swallows settings": "ignore_startup_parameters = statement_timeout,lock_timeout,synchronous_commit,timezone,application_name\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			address := pooler(t, apitest.Database(t), more)
			if _, err := db.Open(t.Context(), db.Config{URL: address}); !errors.Is(err, db.ErrPooler) {
				t.Errorf("opening behind a pooler says %v", err)
			}

			if _, err := db.Migrate(t.Context(), address, migrations.FS); !errors.Is(err, db.ErrPooler) {
				t.Errorf("migrating behind a pooler says %v", err)
			}
		})
	}
}

// pooler starts a pgbouncer in transaction mode before a database and gives the address behind it.
func pooler(t *testing.T, database, more string) string {
	t.Helper()

	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer") // not in everybody's PATH
	}

	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("pgbouncer is not installed: scripts/ensure pgbouncer")
		}

		t.Skip("pgbouncer is not installed")
	}

	server, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}

	password, _ := server.User.Password()

	host, port := server.Hostname(), server.Port()
	if h := server.Query().Get("host"); h != "" {
		host, port = h, server.Query().Get("port")
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	_, own, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	dir := shortDir(t)
	config := filepath.Join(dir, "pgbouncer.ini")
	name := strings.TrimPrefix(server.Path, "/")

	text := "[databases]\n" + name + " = host=" + host + " port=" + port + " dbname=" + name + " user=" + server.User.Username() + " password=" + password +
		"\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + own + "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n" + more
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	args := []string{"-q", config}

	if os.Geteuid() == 0 {
		account, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}

		args = append([]string{"-u", account.Username}, args...)
	}

	cmd := exec.CommandContext(context.Background(), program, args...)

	var log strings.Builder

	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan struct{})

	go func() { _ = cmd.Wait(); close(ended) }()

	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })

	for deadline := time.After(time.Minute); ; {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+own)
		if err == nil {
			_ = conn.Close()
			return "postgres://anybody@127.0.0.1:" + own + "/" + name + "?sslmode=disable"
		}

		select {
		case <-ended:
			t.Fatalf("pgbouncer ended: %s", &log)
		case <-deadline:
			t.Fatal("pgbouncer does not listen")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
