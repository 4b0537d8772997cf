package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// TestShellsCompleteCommandLines reads the script of each shell that is here, and completes command lines as a person
// would who presses Tab. The scripts of bash and fish can be asked without a terminal.
func TestShellsCompleteCommandLines(t *testing.T) {
	t.Parallel()

	for shell, c := range map[string]struct{ script, want string }{
		"bash": {`compopt() { echo "$@"; }
			source <(stayledger completion bash)
			press() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _stayledger; echo "${COMPREPLY[@]}"; }
			press stayledger key iss
			press stayledger api GET /statements mon
			press stayledger api GET /contacts/7 --bo`, "issue\n-o nospace\nmonth=\n--body\n"},
		"fish": {`stayledger completion fish | source
			complete -C 'stayledger key iss'
			complete -C 'stayledger api GET /statements mon'
			complete -C 'stayledger api GET /contacts/7 --bo'`, "issue\nmonth=\n--body\n"},
	} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not here", shell)
			continue
		}

		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()

		run := exec.CommandContext(ctx, shell, "-c", c.script)

		run.Env = append(os.Environ(), withBinary())

		if out, err := run.CombinedOutput(); err != nil || string(out) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", shell, err, out, c.want)
		}
	}
}
