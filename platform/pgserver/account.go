//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// account is who the server runs as. PostgreSQL refuses root, so root lends it an ordinary account; nil means our own.
type account struct {
	name     string
	uid, gid uint32
}

// AccountError says that the account PostgreSQL runs as cannot enter a folder on the way to the data.
type AccountError struct {
	Account string // name of the account
	Folder  string // the first folder it cannot enter
	Mode    fs.FileMode
	Dir     string // the folder asked for
}

// Error says which folder the account cannot enter, and what to do.
func (e *AccountError) Error() string {
	return fmt.Sprintf("PostgreSQL refuses to run as root, and the account %s that it runs as instead cannot enter "+
		"%s (%s), which is on the way to %s: choose a database folder outside it, for instance under /var/lib; or "+
		"allow it with chmod o+x %s; or run stayledger as an ordinary user",
		e.Account, e.Folder, e.Mode, e.Dir, e.Folder)
}

// chooseAccount decides which account runs the server. PostgreSQL refuses to run as root, so for root it is the owner
// of the existing data, else the account postgres, else the system's account without rights.
func (c *cluster) chooseAccount(ctx context.Context, bin string) error {
	if os.Geteuid() != 0 {
		return nil
	}

	a, err := dataOwner(c.path("data"))
	if err != nil {
		return err
	}

	if a == nil {
		if a, err = lookupAccount("postgres", "nobody"); err != nil {
			return err
		}
	}

	c.account = a

	return c.checkAccount(ctx, bin)
}

// dataOwner returns the account that owns the data, or nil if there is none yet. It fails if the owner is root.
func dataOwner(data string) (*account, error) {
	info, err := os.Stat(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // New data has no owner yet, which is no failure.
	}

	if err != nil {
		return nil, fmt.Errorf("inspect the data folder: %w", err)
	}

	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
		return nil, fmt.Errorf("the data in %s belongs to root, for whom PostgreSQL refuses to run: give it to "+
			"another account with chown -R", data)
	}

	return &account{name: "uid " + strconv.Itoa(int(stat.Uid)), uid: stat.Uid, gid: stat.Gid}, nil
}

// lookupAccount returns the first account of these names that exists and is not root.
func lookupAccount(names ...string) (*account, error) {
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}

		uid, uidErr := strconv.ParseInt(u.Uid, 10, 64)

		gid, gidErr := strconv.ParseInt(u.Gid, 10, 64)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		//nolint:gosec // macOS writes the id of nobody as -2; the kernel's ids have 32 bits, so it wraps as intended.
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}

	return nil, fmt.Errorf("PostgreSQL refuses to run as root and there is no account named %s: create one with "+
		"useradd --system postgres",
		strings.Join(names, " or "))
}

// checkAccount starts a child of the account in every folder on the way to the cluster, because permission bits do
// not show access lists and user namespaces. It fails with an AccountError.
func (c *cluster) checkAccount(ctx context.Context, bin string) error {
	enters := func(folder string) error {
		cmd := c.command(ctx, filepath.Join(bin, "postgres"), "--version")
		cmd.Dir = folder

		return cmd.Run()
	}
	if err := enters("/"); err != nil {
		return fmt.Errorf("the account %s that PostgreSQL runs as for root cannot run %s: %w", c.account.name, bin, err)
	}

	if enters(c.dir) == nil {
		return nil
	}

	// Find the first folder that the account cannot enter.
	folder := "/"
	for part := range strings.SplitSeq(strings.TrimPrefix(c.dir, "/"), "/") {
		folder = filepath.Join(folder, part)
		if enters(folder) == nil {
			continue
		}

		refusal := &AccountError{Account: c.account.name, Folder: folder, Dir: c.dir}
		if info, err := os.Stat(folder); err == nil {
			refusal.Mode = info.Mode()
		}

		return refusal
	}

	return nil
}

// command prepares a PostgreSQL program: in its own session, with the account's rights, and without the caller's
// PG* and locale variables, which would change how the programs work.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, //nolint:gosec // The name is a PostgreSQL program that FindBinaries found.
		name,
		args...,
	)
	cmd.Dir = c.dir

	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") &&
			!strings.HasPrefix(variable, "LANG") {
			cmd.Env = append(cmd.Env, variable)
		}
	}

	cmd.Env = append(cmd.Env, "LC_ALL=C")

	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.account.uid, Gid: c.account.gid}
	}

	return cmd
}

// chown hands a file or folder over to the account.
func (c *cluster) chown(name string) error {
	if c.account == nil {
		return nil
	}

	if err := os.Chown(name, int(c.account.uid), int(c.account.gid)); err != nil {
		return fmt.Errorf("give %s to %s: %w", name, c.account.name, err)
	}

	return nil
}
