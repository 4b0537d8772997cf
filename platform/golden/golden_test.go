package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stayledger/platform/golden"
)

// listener is a test that remembers what it failed with.
type listener struct {
	testing.TB
	told []string
}

func (l *listener) Helper() {}

func (l *listener) Errorf(format string, values ...any) {
	l.told = append(l.told, fmt.Sprintf(format, values...))
}

// wantTold fails unless a failure says all that is wanted; nothing wanted is no failure.
func (l *listener) wantTold(t *testing.T, words ...string) {
	t.Helper()

	all := strings.Join(l.told, "\n")
	if len(words) == 0 && all != "" {
		t.Errorf("fails with %s", all)
	}

	for _, word := range words {
		if !strings.Contains(all, word) {
			t.Errorf("%q is not told: %s", word, all)
		}
	}
}

func TestFailureShowsTheDifferenceAndTheWayOut(t *testing.T) {
	t.Setenv("UPDATE_GOLDEN", "")
	path := filepath.Join(t.TempDir(), "kept.csv")
	missing := &listener{TB: t}
	golden.File(missing, path, []byte("a\n"))
	missing.wantTold(t, "does not exist", "UPDATE_GOLDEN=1 go test -count=1 -run '^TestFailureShowsTheDifferenceAndTheWayOut$'", "platform/golden")

	if err := os.WriteFile(path, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	other := &listener{TB: t}
	golden.File(other, path, []byte("a\nB\nc\n"))
	other.wantTold(t, "-b\n", "+B\n", " c\n", "UPDATE_GOLDEN=1")
	long := &listener{TB: t}
	golden.File(long, path, []byte(strings.Repeat("x\n", 200)))
	long.wantTold(t, "lines more")
	ends := &listener{TB: t}
	golden.File(ends, path, []byte("a\r\nb\r\nc\r\n"))
	ends.wantTold(t, "only in the ends of its lines", "UPDATE_GOLDEN=1")
	same := &listener{TB: t}
	golden.File(same, path, []byte("a\nb\nc\n"))
	same.wantTold(t)
}

func TestUpdateWritesTheFile(t *testing.T) {
	t.Setenv("UPDATE_GOLDEN", "1")
	path := filepath.Join(t.TempDir(), "new", "kept.csv")
	written := &listener{TB: t}
	golden.File(written, path, []byte("a\n"))
	written.wantTold(t)

	if kept, err := os.ReadFile(path); err != nil || string(kept) != "a\n" {
		t.Errorf("%q, %v", kept, err)
	}
}

func TestListNamesWhatDiffers(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ got, want, told string }{
		{got: "a b c", want: "a b c"},
		{},
		{got: "a c", want: "a b c", told: `letters: missing ["b"]`},
		{got: "a b c d", want: "a b c", told: `letters: not expected ["d"]`},
		{got: "a b b", want: "a b", told: `letters: not expected ["b"]`},
		{got: "a c b", want: "a b c", told: `letters: "c" is number 2`},
	} {
		l := &listener{TB: t}
		golden.List(l, "letters", strings.Fields(test.got), strings.Fields(test.want))

		if test.told == "" {
			l.wantTold(t)
		} else {
			l.wantTold(t, test.told)
		}
	}
}
