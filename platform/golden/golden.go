// Package golden compares what a test got with what is kept: a file that is rewritten by UPDATE_GOLDEN=1, or a list of
// names. A failure shows the difference and says what to do about it.
package golden

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shown are the lines of a difference that a failure shows. More do not help anybody to see what happened.
const shown = 80

// File fails the test unless the file at path, relative to the folder of the test, has the content that the test
// got. With UPDATE_GOLDEN=1 in the environment it writes the file instead.
func File(t testing.TB, path string, got []byte) {
	t.Helper()

	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := write(path, got); err != nil {
			t.Fatal(err)
		}

		return
	}

	// Say apart if only the line endings differ: the cause is then git's configuration.
	want, err := os.ReadFile(path) //nolint:gosec // The test names its file.
	switch {
	case os.IsNotExist(err):
		t.Errorf("%s does not exist. %s", path, advice(t))
	case err != nil:
		t.Fatal(err)
	case !bytes.Equal(got, want) && bytes.Equal(withoutCR(got), withoutCR(want)):
		t.Errorf("%s differs from what the code gives now only in the ends of its lines (CRLF or LF): have git "+
			"check it out as it is kept (core.autocrlf=false). %s", path, advice(t))
	case !bytes.Equal(got, want):
		t.Errorf("%s is not what the code gives now:\n%s\n%s", path, difference(t, path, got), advice(t))
	}
}

// withoutCR returns a text with LF alone at the end of its lines.
func withoutCR(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}

	return os.WriteFile(path, content, 0o600)
}

// advice returns the command that rewrites the files of the running test.
func advice(t testing.TB) string {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")

	folder, err := os.Getwd()
	if err != nil {
		folder = "."
	}

	return fmt.Sprintf("If it should be: UPDATE_GOLDEN=1 go test -count=1 -run '^%s$' %s and read the change with "+
		"git diff.", name, folder)
}

// difference returns the output of diff, or both texts if there is no diff.
func difference(t testing.TB, path string, got []byte) string {
	t.Helper()
	command := exec.CommandContext( //nolint:gosec // The test names its file.
		t.Context(),
		"diff",
		"-u",
		"-a",
		"--label",
		"kept",
		"--label",
		"got",
		path,
		"-",
	)
	command.Stdin = bytes.NewReader(got)

	output, err := command.Output()
	if len(output) == 0 {
		return fmt.Sprintf("(diff: %v)\n%s", err, got)
	}

	lines := strings.SplitAfter(string(output), "\n")
	if more := len(lines) - shown; more > 0 {
		lines = append(lines[:shown], fmt.Sprintf("… and %d lines more\n", more))
	}

	return strings.Join(lines, "")
}

// List fails the test unless got has the wanted names in the wanted order. It names missing and unexpected ones, or
// the first at another place. The word what says what the names are.
func List[Name ~string](t testing.TB, what string, got, want []Name) {
	t.Helper()

	missing, beyond := without(want, got), without(got, want)
	if len(missing) > 0 {
		t.Errorf("%s: missing %q", what, missing)
	}

	if len(beyond) > 0 {
		t.Errorf("%s: not expected %q", what, beyond)
	}

	if len(missing) > 0 || len(beyond) > 0 {
		return
	}

	for i, name := range got {
		if name != want[i] {
			t.Errorf("%s: %q is number %d, which is not its place: got %q, want %q", what, name, i+1, got, want)
			return
		}
	}
}

// without returns the names of a list that another does not have, as often as it lacks them.
func without[Name ~string](names, other []Name) []Name {
	rest := slices.Clone(other)

	var out []Name

	for _, name := range names {
		if at := slices.Index(rest, name); at >= 0 {
			rest = slices.Delete(rest, at, at+1)
			continue
		}

		out = append(out, name)
	}

	return out
}
