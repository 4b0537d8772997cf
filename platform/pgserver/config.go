//go:build unix

package pgserver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// socketPathLimit is the shortest limit of the systems we run on (macOS, 104 with the closing zero).
const socketPathLimit = 103

// logLimit is the size in bytes at which server.log is set aside at a start.
const logLimit = 16 << 20

// configure writes the settings and reports whether they differ from those of the last start. They are files in the
// data folder, not arguments, so that any PostgreSQL tool can start the cluster the same way.
func (c *cluster) configure(o Options) (changed bool, err error) {
	settings := map[string]string{ //nolint:gosec // The password_encryption is no password.
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": "",
		"max_connections":         "200",
		"shared_buffers":          "256MB",
		"max_wal_size":            "2GB",
		"checkpoint_timeout":      "15min",
		"password_encryption":     "scram-sha-256",
		"jit":                     "off",
		"log_min_messages":        "warning",
		"log_timezone":            "UTC",
		"timezone":                "UTC",
	}

	// Paths of sockets are short on most systems.
	if len(c.path("data", ".s.PGSQL.65535.lock")) <= socketPathLimit {
		settings["unix_socket_directories"] = c.path("data")
	}

	if !o.Durable {
		settings["fsync"], settings["synchronous_commit"], settings["full_page_writes"] = "off", "off", "off"
	}

	// The caller's settings win. Sort them, so that equal settings give equal files.
	maps.Copy(settings, o.Settings)

	var text bytes.Buffer
	text.WriteString("# Written by stayledger at each start.\n")

	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}

	text.WriteString("include_if_exists = 'stayledger-port.conf'\n")

	changed, err = c.replaceFile(text.Bytes(), "data", "stayledger.conf")
	if err != nil {
		return false, err
	}

	return changed, c.includeSettings()
}

// includeSettings adds the line to the cluster's own configuration that includes ours.
func (c *cluster) includeSettings() error {
	const line = "include_if_exists = 'stayledger.conf'\n"

	name := c.path("data", "postgresql.conf")

	content, err := os.ReadFile(name) //nolint:gosec // A file of our own folder.
	if err != nil {
		return fmt.Errorf("read postgresql.conf: %w", err)
	}

	if bytes.HasSuffix(content, []byte(line)) {
		return nil
	}

	_, err = c.replaceFile(append(content, []byte("\n"+line)...), "data", "postgresql.conf")

	return err
}

func (c *cluster) writePort() error {
	_, err := c.replaceFile([]byte("port = "+strconv.Itoa(c.state.Port)+"\n"), "data", "stayledger-port.conf")
	return err
}

// replaceFile replaces a file of the account and reports whether its content was different.
func (c *cluster) replaceFile(content []byte, elem ...string) (bool, error) {
	name := c.path(elem...)

	old, err := os.ReadFile(name) //nolint:gosec // A file of our own folder.
	if err == nil && bytes.Equal(old, content) {
		return false, nil
	}

	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read %s: %w", filepath.Base(name), err)
	}

	// Write a new file and rename it, so that a crash leaves the old or the new one.
	next := name + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}

	if err := c.writeNew(next, content); err != nil {
		return false, fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}

	if err := os.Rename(next, name); err != nil {
		return false, fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}

	return true, nil
}

// writeNew follows no link: the account could lay one in its folder to make root overwrite or give away another file.
func (c *cluster) writeNew(name string, content []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // A file of our own folder.
	if err != nil {
		return err
	}

	_, err = file.Write(content)
	if c.account != nil && err == nil {
		err = file.Chown(int(c.account.uid), int(c.account.gid))
	}

	return errors.Join(err, file.Close())
}

// openLog opens server.log for the server and sets a large one aside.
func (c *cluster) openLog() (*os.File, error) {
	name := c.path("server.log")
	if info, err := os.Stat(name); err == nil && info.Size() > logLimit {
		if err := os.Rename(name, name+".1"); err != nil {
			return nil, fmt.Errorf("set server.log aside: %w", err)
		}
	}

	file, err := os.OpenFile( //nolint:gosec // A file of our own folder.
		name,
		os.O_WRONLY|os.O_CREATE|os.O_APPEND,
		0o600,
	)
	if err != nil {
		return nil, fmt.Errorf("open server.log: %w", err)
	}

	return file, nil
}

// logTail returns the end of server.log, for the error of a failed start.
func (c *cluster) logTail() string {
	content, err := os.ReadFile(c.path("server.log"))
	if err != nil {
		return "there is no server.log"
	}

	const size = 1000

	return strings.TrimSpace(string(content[max(0, len(content)-size):]))
}
