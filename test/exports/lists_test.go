package exports_test

import (
	"testing"

	"stayledger/test/world"
)

// The exports of collections.
func TestListPaths(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	g.ask(t, []pathCase{
		{name: "transactions", path: "/transactions/csv", selector: world.Object{"sort": "date"}},
	})
}
