package connection_test

import (
	"slices"
	"testing"

	"stayledger/domain/tenant/connection"
)

// TestAppsAreDeclared holds the declarations to what the clients of the apps do. An app that is new here needs its row,
// so that somebody has thought about each capability.
func TestAppsAreDeclared(t *testing.T) {
	t.Parallel()

	all := []connection.Capability{connection.PaysByFile, connection.TakesReturnFiles, connection.TellsOutcomes, connection.VerifiesAccounts}
	want := map[string][]connection.Capability{
		"nacha":       {connection.PaysByFile, connection.TakesReturnFiles},
		"payProvider": {connection.TellsOutcomes, connection.VerifiesAccounts},
	}

	apps := connection.App("").Enum()
	if len(apps) != len(want) {
		t.Errorf("apps %v, want %d of them", apps, len(want))
	}

	for _, name := range apps {
		for _, c := range all {
			if got := connection.App(name).Can(c); got != slices.Contains(want[name], c) {
				t.Errorf("%s can %s: %v", name, c, got)
			}
		}
	}
}
