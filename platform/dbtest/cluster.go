//go:build unix

package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stayledger/platform/pgserver"
)

// idleMinutes without a test process is when the cluster stops itself; heartbeat is how often a process says that it is
// one.
const (
	idleMinutes = 30
	heartbeat   = 5 * time.Minute
)

// memoryNeeded is the free space, in bytes, that makes memory the better place: some container runtimes give /dev/shm
// 64 MB, which one cluster fills.
const memoryNeeded = 2 << 30

// startCluster returns the URL of the service's role on the user's cluster, and starts the cluster if it is not
// running.
func startCluster(ctx context.Context) (string, error) {
	home, err := clusterHome()
	if err != nil {
		return "", err
	}

	lock, err := os.OpenFile( //nolint:gosec // A file of our own folder.
		filepath.Join(home, "lock"),
		os.O_RDWR|os.O_CREATE,
		0o600,
	)
	if err != nil {
		return "", fmt.Errorf("open lock of the test cluster: %w", err)
	}
	// The processes of a test run queue for this lock. The first starts the server, the others use it.
	defer func() { _ = lock.Close() }()

	if err := flock(int(lock.Fd())); err != nil {
		return "", fmt.Errorf("lock the test cluster: %w", err)
	}
	// Mark the cluster as used before looking for the server: the watcher must not stop it in between.
	used := filepath.Join(home, "used")
	if err := touch(used); err != nil {
		return "", err
	}

	server, err := pgserver.Start(ctx, pgserver.Options{
		Dir:      filepath.Join(home, "cluster"),
		Settings: map[string]string{"max_connections": "400", "max_wal_size": "512MB", "autovacuum_naptime": "10min"},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return "", fmt.Errorf("start the test cluster (if it is damaged, remove %s): %w", home, err)
	}

	// The server goes on after this process, for the next one.
	at, pid := server.URL(pgserver.Role, pgserver.Role), server.Pid()
	if err := server.Detach(); err != nil {
		return "", err
	}

	go func() {
		for range time.Tick(heartbeat) {
			_ = touch(used) // At worst the cluster stops and the next run starts it again.
		}
	}()

	return at, watch(ctx, home, pid)
}

// clusterHome returns the folder of the user's cluster, in memory if there is room. It fails if another user owns
// the folder, who could have planted it.
func clusterHome() (string, error) {
	parent := os.TempDir()

	var space syscall.Statfs_t
	//nolint:gosec,unconvert // A block size is positive, and its type differs between systems.
	if err := syscall.Statfs("/dev/shm", &space); err == nil &&
		uint64(space.Bavail)*uint64(space.Bsize) >= memoryNeeded {
		parent = "/dev/shm"
	}

	home := filepath.Join(parent, "stayledger-test-"+strconv.Itoa(os.Getuid()))

	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711 // The account that PostgreSQL runs as for root passes through.
	}

	if err := os.Mkdir(home, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("create folder of the test cluster: %w", err)
	}

	// Check the owner, without following a link.
	info, err := os.Lstat(home)
	if err != nil {
		return "", fmt.Errorf("inspect folder of the test cluster: %w", err)
	}

	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(owner.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s is not a folder of ours: remove it", home)
	}

	if err := os.Chmod(home, mode); err != nil {
		return "", fmt.Errorf("open folder of the test cluster: %w", err)
	}

	return home, nil
}

// flock waits; signals of the runtime interrupt the call.
func flock(fd int) error {
	for {
		err := syscall.Flock(fd, syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func touch(name string) error {
	if err := os.WriteFile(name, []byte(time.Now().UTC().Format(time.RFC3339)), 0o600); err != nil {
		return fmt.Errorf("mark the test cluster as used: %w", err)
	}

	return nil
}

// watchScript ends the server $1 when the file $2 was not touched for $3 minutes, and only while $4 still names that
// server.
const watchScript = `while sleep 60; do
	[ "$(head -n 1 "$4" 2>/dev/null)" = "$1" ] || exit 0
	[ -n "$(find "$2" -mmin "-$3" 2>/dev/null)" ] || { kill -INT "$1"; exit 0; }
done`

// watch starts a shell that stops the server when it is idle, once for each server.
func watch(ctx context.Context, home string, pid int) error {
	noted := filepath.Join(home, "watched")

	content, err := os.ReadFile(noted) //nolint:gosec // A file of our own folder.
	if err == nil && strings.TrimSpace(string(content)) == strconv.Itoa(pid) {
		return nil
	}

	// In a session of its own, so that it outlives this process.
	pidFile := filepath.Join(home, "cluster", "data", "postmaster.pid")
	//nolint:gosec // The arguments are our own paths and numbers.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", watchScript, "stayledger-test-watch",
		strconv.Itoa(pid), filepath.Join(home, "used"), strconv.Itoa(idleMinutes), pidFile)
	cmd.Dir = "/"

	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("watch over the test cluster: %w", err)
	}
	go func() { _ = cmd.Wait() }()

	if err := os.WriteFile(noted, []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return fmt.Errorf("note the watcher of the test cluster: %w", err)
	}

	return nil
}
