package clients_test

import (
	"os"
	"os/exec"
	"testing"
)

const (
	golang     = "../../clients/go"
	typescript = "../../clients/typescript"
)

// TestClients runs the tests of the clients against one service, with a team for each.
func TestClients(t *testing.T) {
	t.Parallel()

	s := serve(t)

	t.Run("go", func(t *testing.T) {
		t.Parallel()

		test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
		test.Env = s.environment(t, "Go Stays")
		run(t, golang, test)
	})

	t.Run("typescript", func(t *testing.T) {
		t.Parallel()

		if _, err := exec.LookPath("npm"); err != nil {
			skip(t, "Node is not here")
		}

		if _, err := os.Stat(typescript + "/node_modules"); err != nil {
			skip(t, "the packages are not here: run npm install in clients/typescript")
		}

		run(t, typescript, exec.CommandContext(t.Context(), "npm", "run", "--silent", "build"))

		test := exec.CommandContext(t.Context(), "npm", "--silent", "test")
		test.Env = s.environment(t, "TypeScript Stays")
		run(t, typescript, test)
	})
}

// skip skips a test that lacks something which every integration server has.
func skip(t *testing.T, reason string) {
	t.Helper()

	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}

	t.Skip(reason)
}
