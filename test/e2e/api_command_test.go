package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTheAPICommandSaysWhatIsWrong holds exit codes and messages to what scripts and people rely on: 2 for a command line
// that cannot be read, 1 for a request that fails.
func TestTheAPICommandSaysWhatIsWrong(t *testing.T) {
	t.Parallel()

	for line, want := range map[string]struct {
		code int
		says string
	}{
		"api GET":                              {2, "<path>"},
		"api FETCH /team":                      {2, "FETCH is no method"},
		"api GET /team month":                  {2, "name=value"},
		"api POST /x --all":                    {2, "--all"},
		"api POST /x --body a --form b=c":      {2, "one body"},
		"api -q id POST /x a=1 -nq id b:=x":    {2, "no JSON"},
		"api GET /team":                        {1, "start the demo"},
		"api GET /x --base-url http://[::1]:1": {1, "is the service running there?"},
	} {
		run := exec.CommandContext(t.Context(), binary, strings.Fields(line)...)
		run.Env = append(os.Environ(), "STAYLEDGER_DATA_DIR="+t.TempDir())

		out, err := run.CombinedOutput()

		exit, isExit := errors.AsType[*exec.ExitError](err)
		if !isExit || exit.ExitCode() != want.code || !strings.Contains(string(out), want.says) {
			t.Errorf("%s: %v\n%s\nwant code %d and %q", line, err, out, want.code, want.says)
		}
	}
}
