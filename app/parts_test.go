package app_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/platform/golden"
	"stayledger/platform/job"
)

// An operation with work that no one handles would wait until a worker gives it up.
func TestEveryKindOfWorkIsHandled(t *testing.T) {
	t.Parallel()

	var handled, made []string
	for kind := range maps.Keys(app.Parts(app.External{}, app.Config{}).Handlers) {
		handled = append(handled, kind.String())
	}

	for _, kind := range job.Kinds() {
		made = append(made, kind.String())
	}

	slices.Sort(handled)
	golden.List(t, "kinds of work that have a handler", handled, made)
}

// Batches take bodies of 32 MiB, as the size limits of the contract say.
func TestBatchesTakeLargeBodies(t *testing.T) {
	t.Parallel()

	found := 0

	for _, e := range app.Parts(app.External{}, app.Config{}).Endpoints {
		if e.Method != http.MethodPost || !strings.HasSuffix(e.Path, "/batch") || strings.HasSuffix(e.Path, "/pdf/batch") {
			continue
		}

		found++

		if e.MaxBody != 32<<20 {
			t.Errorf("%s takes %d bytes", e.Path, e.MaxBody)
		}
	}

	if found < 6 {
		t.Errorf("%d batches were found", found)
	}
}
