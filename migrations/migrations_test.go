package migrations_test

import (
	"io/fs"
	"strings"
	"testing"

	"stayledger/migrations"
)

// The role that migrates sees the rows of no team before it says that it works across teams, so a migration that fills
// rows without having said so would leave all of them as they are.
func TestMigrationsThatFillRowsReachEveryTeam(t *testing.T) {
	t.Parallel()

	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}

	filling := 0

	for _, name := range names {
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}

		across := false

		for line := range strings.Lines(string(content)) {
			switch {
			case strings.Contains(line, "stayledger.across_teams"):
				across = !strings.Contains(line, "'off'")
			case strings.HasPrefix(line, "update "), strings.HasPrefix(line, "insert into "), strings.HasPrefix(line, "delete from "):
				filling++

				if !across {
					t.Errorf("%s reaches no team with: %s", name, line)
				}
			}
		}
	}

	if filling == 0 {
		t.Error("no migration fills rows: the test looks for the wrong thing")
	}
}
