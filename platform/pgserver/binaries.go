//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// oldest is the first major version with CREATE DATABASE … STRATEGY, ICU as a database locale and MERGE.
const oldest = 15

// MissingError says that there is no PostgreSQL that can be used, and what to install.
type MissingError struct {
	Wanted  int    // major version that is needed; 0 for any from 15 on
	Pinned  string // the folder that PG_BIN names, if the programs are missing there
	TooOld  int    // newest version found, 0 when none was
	Install string // the command that installs it
}

// Error says what is missing and how to install it.
func (e *MissingError) Error() string {
	if e.Pinned != "" {
		return fmt.Sprintf(
			"PG_BIN names %s, which holds no initdb and postgres of %s: correct or unset it",
			e.Pinned,
			e.version(),
		)
	}

	found := ""
	if e.TooOld != 0 {
		found = fmt.Sprintf(" (found %d)", e.TooOld)
	}

	return fmt.Sprintf(
		"%s was not found%s: install it with %q, or set PG_BIN to the folder of initdb and postgres",
		e.version(),
		found,
		e.Install,
	)
}

func (e *MissingError) version() string {
	if e.Wanted != 0 {
		return fmt.Sprintf("PostgreSQL %d", e.Wanted)
	}

	return fmt.Sprintf("PostgreSQL %d or newer", oldest)
}

// FindBinaries finds the folder of initdb and postgres and their major version. PG_BIN decides when it is set; else the
// newest is taken from PATH, pg_config, and the folders that distributions and Homebrew use. The error is a
// *MissingError.
func FindBinaries(ctx context.Context) (dir string, version int, err error) {
	found, err := findAll(ctx)
	if err != nil {
		return "", 0, err
	}

	if len(found) == 0 || found[0].version < oldest {
		return "", 0, missing(found, 0)
	}

	return found[0].dir, found[0].version, nil
}

// findVersion returns the folder with the programs of exactly one major version.
func findVersion(ctx context.Context, version int) (string, error) {
	found, err := findAll(ctx)
	if err != nil {
		return "", err
	}

	for _, b := range found {
		if b.version == version {
			return b.dir, nil
		}
	}

	return "", fmt.Errorf(
		"the cluster was made by PostgreSQL %d, which alone can read it: %w",
		version,
		missing(found, version),
	)
}

type binaries struct {
	dir     string
	version int
}

// findAll returns what is installed, the newest first, and of equal versions the earlier place first.
func findAll(ctx context.Context) ([]binaries, error) {
	places := []string{os.Getenv("PG_BIN")}
	if places[0] == "" {
		places = usualPlaces(ctx)
	}

	var found []binaries

	for _, dir := range places {
		version, err := findMajor(ctx, dir)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("find PostgreSQL: %w", ctx.Err())
		}

		if err == nil {
			found = append(found, binaries{dir: dir, version: version})
		}
	}

	slices.SortStableFunc(found, func(a, b binaries) int { return b.version - a.version })

	return found, nil
}

// usualPlaces returns the folders in which systems install PostgreSQL.
func usualPlaces(ctx context.Context) []string {
	places := filepath.SplitList(os.Getenv("PATH"))
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		places = append(places, strings.TrimSpace(string(out)))
	}

	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		if matches, err := filepath.Glob(pattern); err == nil {
			places = append(places, matches...)
		}
	}

	return places
}

var majorVersion = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

var errNoPrograms = errors.New("no initdb and postgres")

// findMajor returns the major version of the programs in a folder. It fails if there are none.
func findMajor(ctx context.Context, dir string) (int, error) {
	if !filepath.IsAbs(dir) {
		return 0, errNoPrograms
	}

	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name)) //nolint:gosec // PG_BIN and PATH are the operator's to choose.
		if err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return 0, errNoPrograms
		}
	}
	//nolint:gosec // The folder is the operator's choice or a place where systems install programs.
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("ask postgres for its version: %w", err)
	}

	match := majorVersion.FindSubmatch(out)
	if match == nil {
		return 0, errNoPrograms
	}

	return strconv.Atoi(string(match[1]))
}

// missing returns an error that says which version of PostgreSQL to install, and how.
func missing(found []binaries, version int) *MissingError {
	e := &MissingError{Wanted: version, Pinned: os.Getenv("PG_BIN")}
	if len(found) > 0 {
		e.TooOld = found[0].version
	}

	switch {
	case version != 0 && runtime.GOOS == "darwin":
		e.Install = "brew install postgresql@" + strconv.Itoa(version)
	case version != 0:
		e.Install = "apt-get install postgresql-" + strconv.Itoa(version)
	case runtime.GOOS == "darwin":
		e.Install = "brew install postgresql@16"
	default:
		e.Install = "apt-get install postgresql-15"
	}

	return e
}
