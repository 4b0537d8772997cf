package e2e_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// refused runs a command that has to fail and gives what it says.
func refused(t *testing.T, environment []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(append(os.Environ(), "STAYLEDGER_SECRET_KEYS="+secretKey, "STAYLEDGER_DATA_DIR="+t.TempDir()), environment...)

	var says bytes.Buffer

	cmd.Stdout, cmd.Stderr = &says, &says
	if err := cmd.Run(); err == nil {
		t.Errorf("%v went well: %s", args, &says)
	}

	return says.String()
}

func TestCommandsRefuseADatabaseTheyCannotUse(t *testing.T) {
	t.Parallel()

	database := emptyDatabase(t)
	if says := refused(t, []string{"DATABASE_URL=" + database}, "work"); !strings.Contains(says, "stayledger migrate") {
		t.Errorf("a worker before an empty database says %s", says)
	}

	for _, command := range [][]string{{"migrate"}, {"serve"}, {"work"}, {"team", "list"}} {
		if says := refused(t, []string{"DATABASE_URL="}, command...); !strings.Contains(says, "DATABASE_URL") {
			t.Errorf("%v with an empty address says %s", command, says)
		}
	}
}

func TestVersionSaysWhichProgramThisIs(t *testing.T) {
	t.Parallel()

	says := command(t, "", "version")
	for _, want := range []string{"stayledger ", "commit ", "go ", "schema ", "api     2026-11-01"} {
		if !strings.Contains(says, want) {
			t.Errorf("version says %s", says)
		}
	}
}

// A worker has probes and metrics, and the people that the command line made can be listed and locked out by it.
func TestOperatorsSeeWorkersAndPeople(t *testing.T) {
	t.Parallel()
	database, data := emptyDatabase(t), t.TempDir()
	serving := start(t, database, data, "serve")
	address := freeAddress(t)
	start(t, database, data, "work", "--metrics-listen", address)
	open := &client{t: t}
	eventually(t, "ready to work", func() bool {
		resp, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false
		}

		_ = resp.Body.Close()

		return resp.StatusCode == http.StatusOK
	})

	if metrics := string(open.get("http://" + address + "/metrics").want(200).body); !strings.Contains(metrics, `stayledger_jobs{lane="bulk",state="due"}`) {
		t.Errorf("the worker's metrics lack the queue: %s", metrics)
	}

	office := command(t, database, "team", "create", "Office")

	person := command(t, database, "user", "create", "Robin", "robin@example.com")
	if says := refused(t, []string{"DATABASE_URL=" + database}, "user", "create", "Robin", "Robin@Example.com"); !strings.Contains(says, "e-mail") {
		t.Errorf("a second person with an address says %s", says)
	}

	command(t, database, "user", "grant", person, office, "--scope", "reporting")
	token := command(t, database, "user", "token", person)

	status := func() int { return (&client{t: t, base: serving.base, key: token}).get("/team").status }
	if got := status(); got != 200 {
		t.Fatalf("a granted person gets %d", got)
	}

	if says := command(t, database, "user", "list", "--search", "robin@"); !strings.Contains(says, person) || !strings.Contains(says, "Robin") {
		t.Errorf("the user list says %s", says)
	}

	if says := command(t, database, "user", "grants", "--team", office); !strings.Contains(says, person) || !strings.Contains(says, "reporting") {
		t.Errorf("the grants say %s", says)
	}

	command(t, database, "user", "revoke", person, office)
	eventually(t, "the end of the grant", func() bool { return status() != 200 })
	command(t, database, "user", "grant", person, office)
	eventually(t, "the new grant", func() bool { return status() == 200 })
	command(t, database, "user", "revoke-tokens", "--user", person)
	eventually(t, "the end of the token", func() bool { return status() == 401 })

	if says := command(t, database, "user", "tokens", person); !strings.Contains(says, "revoked") || strings.Contains(says, token) {
		t.Errorf("the tokens say %s", says)
	}

	key := command(t, database, "key", "issue", "--team", office)

	listed := command(t, database, "key", "list")
	if !strings.Contains(listed, "live") || strings.Contains(listed, key) {
		t.Errorf("the keys say %s", listed)
	}
}
