package app_test

import (
	"maps"
	"slices"
	"testing"

	"stayledger/app"
	"stayledger/platform/golden"
	"stayledger/platform/job"
)

// An operation whose work nobody handles would wait until a worker gives it up.
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
