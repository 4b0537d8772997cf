package exports_test

import "testing"

// The exports of owner statements.
func TestStatementPaths(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	g.ask(t, []pathCase{})
}
