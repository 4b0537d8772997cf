package apitest_test

import (
	"testing"

	"stayledger/platform/apitest"
)

// A test serves its package's endpoints to a fresh team; a mutation that declares dryRun is sent dry first
// by itself.
func Example() {
	test := func(t *testing.T) {
		t.Helper()
		t.Parallel()
		x := apitest.New(t, apitest.Config{Endpoints: endpoints()})
		x.Put("/name", map[string]any{"name": "Seaside"}).Want(200)

		if got := x.Get("/name").Want(200).String("name"); got != "Seaside" {
			t.Errorf("the name is %q", got)
		}
	}
	_ = test // needs a database
}
