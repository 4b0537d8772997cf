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

	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("curl is not here; the README's journey was not tried")
		return
	}

	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(text), "## A journey with curl")
	_, rest, _ = strings.Cut(rest, "```sh\n")

	script, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README has no journey")
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	shell := exec.CommandContext(ctx, "sh", "-euc", script)
	shell.Dir = t.TempDir()

	shell.Env = append(os.Environ(), "STAYLEDGER_DATA_DIR="+data)

	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the README's journey: %v\n%s", err, out)
	}

	promised := regexp.MustCompile(`# The month: start ([\d.]+), net revenue ([\d.]+) .*, expenses (-[\d.]+), payouts (-[\d.]+), end ([\d.]+), shares ([\d.]+) and ([\d.]+)`).
		FindStringSubmatch(script)
	if promised == nil {
		t.Fatal("the README does not say what the month comes to")
	}

	for i, field := range []string{"balanceStart", "netRevenue", "expenses", "payouts", "balanceEnd", "amount", "amount"} {
		if want := `"` + field + `":` + strings.Replace(promised[i+1], ".", "", 1); !strings.Contains(string(out), want) {
			t.Errorf("the README promises %s\n%s", want, out)
		}
	}

	if pdf, err := os.ReadFile(shell.Dir + "/statement.pdf"); err != nil || !strings.HasPrefix(string(pdf), "%PDF-") {
		t.Errorf("no PDF: %v", err)
	}
}
