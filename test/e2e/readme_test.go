package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// readme pastes the journey of the README into a shell, as a reader would, and holds what it prints against what the
// README says.
func readme(t *testing.T, data string) {
	t.Helper()

	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(text), "## A journey on the command line")
	_, rest, _ = strings.Cut(rest, "```sh\n")

	script, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README has no journey")
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	shell := exec.CommandContext(ctx, "sh", "-euc", script)
	shell.Dir = t.TempDir()

	shell.Env = append(os.Environ(), "STAYLEDGER_DATA_DIR="+data, withBinary())

	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the README's journey: %v\n%s", err, out)
	}

	promised := regexp.MustCompile(`# The month: start ([\d.]+), net revenue ([\d.]+) .*, expenses (-[\d.]+), payouts (-[\d.]+), end ([\d.]+), shares ([\d.]+) and ([\d.]+)`).
		FindStringSubmatch(script)
	if promised == nil {
		t.Fatal("the README does not say what the month comes to")
	}

	f := promised[1:]
	for i := range f {
		f[i] = strings.Replace(f[i], ".", "", 1)
	}

	// The statement as it was published, and then what its two owners were paid.
	for _, want := range []string{
		`"balanceStart":` + f[0] + `,"netRevenue":` + f[1] + `,"expenses":` + f[2] + `,`,
		`"payouts":` + f[3] + `,"balanceEnd":` + f[4] + `,`,
		`"amount":[` + f[5] + `,` + f[6] + `]`,
		"\n" + f[5] + "\t",
		"\n" + f[6] + "\t",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the README promises %s\n%s", want, out)
		}
	}

	if pdf, err := os.ReadFile(shell.Dir + "/statement.pdf"); err != nil || !strings.HasPrefix(string(pdf), "%PDF-") {
		t.Errorf("no PDF: %v", err)
	}
}
