package clients_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?s)```(go|ts)\n(.*?)```")

// Each block of code in the guide is a part of the code that the tests of its client run.
func TestGuideHasCodeThatRuns(t *testing.T) {
	t.Parallel()

	code := map[string]string{"go": flatten(t, golang+"/readme_test.go"), "ts": flatten(t, typescript+"/test/readme.ts")}

	guide, err := os.ReadFile("../../clients/README.md")
	if err != nil {
		t.Fatal(err)
	}

	blocks := block.FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 10 {
		t.Errorf("the guide has %d blocks of code", len(blocks))
	}

	for _, b := range blocks {
		if !strings.Contains(code[b[1]], trimLines(b[2])) {
			t.Errorf("the tests of the client do not run this code of clients/README.md:\n%s", b[2])
		}
	}
}

// flatten returns the lines of a file without their indents.
func flatten(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	return trimLines(string(text))
}

// trimLines removes the indents of lines.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}

	return strings.Join(lines, "\n")
}
