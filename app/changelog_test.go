package app_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/docs"
	"stayledger/platform/day"
)

// Every section has the day of its changes for a heading, newest first, and says something.
//
// Proves: VER-06.
func TestChangelogIsDated(t *testing.T) {
	t.Parallel()

	parts := regexp.MustCompile(`(?m)^## `).Split(docs.Changelog, -1)

	var days []string

	for _, section := range parts[1:] {
		heading, changes, _ := strings.Cut(section, "\n")
		if _, err := day.Parse(heading); err != nil || strings.TrimSpace(changes) == "" {
			t.Errorf("section %q: its heading is no date, or it has no changes", heading)
		}

		days = append(days, heading)
	}

	slices.Reverse(days)

	if len(days) == 0 || !slices.IsSorted(days) {
		t.Errorf("the sections are of %q, oldest first", days)
	}
}
