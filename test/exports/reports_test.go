package exports_test

import "testing"

// The exports of reports.
func TestReportPaths(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	g.ask(t, []pathCase{})
}
