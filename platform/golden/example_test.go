package golden_test

import (
	"testing"

	"stayledger/platform/golden"
)

// A test of an export compares the whole file; one of an enumeration compares the names.
func Example() {
	_ = func(t *testing.T) {
		t.Helper()
		golden.File(t, "testdata/contacts.csv", []byte("id,name\n"))
		golden.List(t, "states", []string{"queued", "running"}, []string{"queued", "running"})
	}
	// Output:
}
