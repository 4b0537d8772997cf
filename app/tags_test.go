package app_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"stayledger/app"
)

// The description says what each of the tags of its operations is, and of no others.
func TestEveryTagIsDescribed(t *testing.T) {
	t.Parallel()

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	var root struct {
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(d.JSON, &root); err != nil {
		t.Fatal(err)
	}

	described, used := map[string]bool{}, map[string]bool{}

	for _, tag := range root.Tags {
		if described[tag.Name] || tag.Description == "" {
			t.Errorf("the tag %q is described twice, or not", tag.Name)
		}

		described[tag.Name] = true
	}

	for _, op := range operations[struct{ Tags []string }](t, root.Paths) {
		for _, tag := range op.Tags {
			used[tag] = true
		}
	}

	if !maps.Equal(described, used) {
		t.Errorf("tags are described: %q, used: %q", slices.Sorted(maps.Keys(described)), slices.Sorted(maps.Keys(used)))
	}
}
