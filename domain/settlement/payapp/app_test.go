package payapp_test

import (
	"slices"
	"testing"

	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
)

// TestAppsAreDeclared holds the declarations to what the clients of the apps do. An app that is new here needs its row,
// so that somebody has thought about each capability.
func TestAppsAreDeclared(t *testing.T) {
	t.Parallel()

	all := []payapp.Capability{payapp.PaysByFile, payapp.TakesReturnFiles, payapp.TellsOutcomes, payapp.VerifiesAccounts}
	want := map[connection.AppID][]payapp.Capability{
		"nacha":       {payapp.PaysByFile, payapp.TakesReturnFiles},
		"payProvider": {payapp.TellsOutcomes, payapp.VerifiesAccounts},
	}

	apps := payapp.Apps(nil)
	if len(apps) != len(want) {
		t.Errorf("apps %v, want %d of them", apps, len(want))
	}

	for i := range apps {
		for _, c := range all {
			if got := payapp.Can(apps[i].ID, c); got != slices.Contains(want[apps[i].ID], c) {
				t.Errorf("%s can %s: %v", apps[i].ID, c, got)
			}
		}
	}

	if payapp.Can("pmsProtocol", payapp.PaysByFile) {
		t.Error("an app that does not pay can pay by file")
	}
}
