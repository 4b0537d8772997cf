//go:build unix

package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pollInterval is how often a server that is not our child is looked at, and a starting one is asked.
const pollInterval = 50 * time.Millisecond

// process is a postmaster: our child, or one that an earlier process left behind.
type process struct {
	pid    int
	exited chan struct{} // closed when it has ended
	forget func()        // ends the watching of a process that is not our child
}

// spawnServer starts postgres in a session of its own, so that Ctrl-C in our terminal does not reach it before Stop
// does.
func (c *cluster) spawnServer(ctx context.Context, bin string) (*process, error) {
	if err := c.disownPidFile(); err != nil {
		return nil, err
	}

	log, err := c.openLog()
	if err != nil {
		return nil, err
	}

	defer func() { _ = log.Close() }() // The child has its own descriptor.
	// Not CommandContext: the server outlives the context of its start.
	cmd := c.command(context.WithoutCancel(ctx), filepath.Join(bin, "postgres"), "-D", c.path("data"))

	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}

	p := &process{pid: cmd.Process.Pid, exited: make(chan struct{}), forget: func() {}}
	go func() {
		defer close(p.exited)
		// Its own log says how it ended; the exit status adds nothing.
		_ = cmd.Wait()
	}()

	return p, nil
}

// running returns the postmaster that an earlier process left in the folder, or nil.
func (c *cluster) running() *process {
	pid := c.pidFile()
	if pid == 0 || !c.isPostmaster(pid) {
		return nil
	}

	stop := make(chan struct{})
	p := &process{pid: pid, exited: make(chan struct{}), forget: sync.OnceFunc(func() { close(stop) })}

	// It is not our child, so the only way to see its end is to look.
	go func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()

		for c.isPostmaster(pid) {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}

		close(p.exited)
	}()

	return p
}

// stop asks for a fast shutdown: sessions are ended, a checkpoint is written. When ctx ends first the server is stopped
// without one.
func (p *process) stop(ctx context.Context) error {
	ended, err := p.signal(ctx, syscall.SIGINT)
	if ended || err != nil {
		return err
	}

	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()

	ended, err = p.signal(last, syscall.SIGQUIT)
	if !ended && err == nil {
		return fmt.Errorf("postgres (pid %d) does not stop", p.pid)
	}

	return err
}

// signal sends s and reports whether the process ended before ctx did.
func (p *process) signal(ctx context.Context, s syscall.Signal) (bool, error) {
	select {
	case <-p.exited:
		return true, nil
	default:
	}

	if err := syscall.Kill(p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("signal postgres (pid %d): %w", p.pid, err)
	}

	select {
	case <-p.exited:
		return true, nil
	case <-ctx.Done():
		return false, nil
	}
}

// pidFile returns the process id that postgres noted in the folder, or 0.
func (c *cluster) pidFile() int {
	content, err := os.ReadFile(c.path("data", "postmaster.pid"))
	if err != nil {
		return 0
	}

	line, _, _ := bytes.Cut(content, []byte("\n"))

	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil || pid <= 1 {
		return 0
	}

	return pid
}

// isPostmaster reports whether a process is the server of this folder. After a reboot, and always in containers,
// the noted process id belongs to another program, which must not get our signals. A postmaster works in its data
// folder; a zombie has none.
func (c *cluster) isPostmaster(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}

	data, err := filepath.EvalSymlinks(c.path("data"))
	if err != nil {
		return false
	}

	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if _, err := os.Stat("/proc/self"); err == nil {
		cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
		return err == nil && cwd == data
	}
	// No /proc, as on macOS: the command line names the folder.
	//nolint:gosec // pid is a number.
	out, err := exec.CommandContext(
		context.Background(),
		"ps",
		"-ww",
		"-o",
		"command=",
		"-p",
		strconv.Itoa(pid),
	).Output()

	return err == nil && strings.Contains(string(out), "-D "+c.path("data"))
}

// noProcess is above every system's largest process id.
const noProcess = 99999999

// disownPidFile makes a noted process id harmless that another program has now. Postgres would refuse to start
// because of it. The lock of the socket notes the same process and is removed; the rest of postmaster.pid must
// stay, because by it postgres notices sessions of the dead server that are still at work on the data.
func (c *cluster) disownPidFile() error {
	pid := c.pidFile()
	if pid == 0 || c.isPostmaster(pid) {
		return nil
	}

	sockets, err := filepath.Glob(c.path("data", ".s.PGSQL.*.lock"))
	if err != nil {
		return fmt.Errorf("find socket locks: %w", err)
	}

	for _, lock := range sockets {
		if err := os.Remove(lock); err != nil {
			return fmt.Errorf("remove lock of a dead server's socket: %w", err)
		}
	}

	// Replace the first line only.
	name := c.path("data", "postmaster.pid")

	content, err := os.ReadFile(name) //nolint:gosec // A file of our own folder.
	if err != nil {
		return fmt.Errorf("read postmaster.pid: %w", err)
	}

	_, rest, _ := bytes.Cut(content, []byte("\n"))
	if _, err := c.replaceFile(fmt.Appendf(nil, "%d\n%s", noProcess, rest), "data", "postmaster.pid"); err != nil {
		return fmt.Errorf("correct postmaster.pid: %w", err)
	}

	return nil
}
