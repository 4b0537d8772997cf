//go:build unix

package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// LockedError says that another process works with the folder.
type LockedError struct {
	Dir    string
	Holder string // process id of the other, empty when it is not known
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.Holder != "" {
		who += " (pid " + e.Holder + ")"
	}

	return fmt.Sprintf("%s already uses the database folder %s: stop it, or choose another folder", who, e.Dir)
}

// DefaultDir returns the folder for a cluster of this user that must last. For root it is not the home folder,
// which the account that PostgreSQL runs as cannot enter.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/stayledger/postgres", nil
	}

	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "stayledger", "postgres"), nil
	}

	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the database: %w", err)
	}

	return filepath.Join(home, ".local", "share", "stayledger", "postgres"), nil
}

// claimFolder creates the folder, or refuses one that is not ours: files of initdb do not belong
// among other documents, and in a folder of another user that user could read the passwords.
func claimFolder(dir string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711 // The account that PostgreSQL runs as must pass through to data/.
	}

	if err := os.MkdirAll(dir, mode); err != nil {
		return fmt.Errorf("create database folder: %w", err)
	}

	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("inspect database folder: %w", err)
	}

	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("the database folder %s belongs to another user (uid %d): choose another folder, or run "+
			"as that user", dir, owner.Uid)
	}

	// An existing folder must be empty or a cluster of ours.
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read database folder: %w", err)
	}

	for _, entry := range entries {
		switch entry.Name() {
		case "lock", "cluster.json":
		default:
			if _, err := os.Stat(filepath.Join(dir, "cluster.json")); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the folder %s holds other things than a database of ours: choose an empty or new "+
					"one", dir)
			}
		}
	}
	// MkdirAll obeys the umask and leaves an existing folder as it is.
	if missing := mode &^ info.Mode().Perm(); missing != 0 {
		if err := os.Chmod(dir, info.Mode().Perm()|mode); err != nil {
			return fmt.Errorf("open database folder: %w", err)
		}
	}

	return nil
}

// lockFile takes a lock that the kernel releases when its holder ends, however it ends. It fails with a
// LockedError.
func lockFile(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // A file of our own folder.
	if err != nil {
		return nil, fmt.Errorf("open lock of the database folder: %w", err)
	}

	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(name) //nolint:gosec // A file of our own folder.
		_ = file.Close()

		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Dir: filepath.Dir(name), Holder: strings.TrimSpace(string(holder))}
		}

		return nil, fmt.Errorf("lock the database folder: %w", err)
	}
	// Only for the message above; the lock is the kernel's.
	if err := file.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(file, os.Getpid())
	}

	return file, nil
}

func unlockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
}
