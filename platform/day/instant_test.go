package day_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stayledger/platform/day"
)

// Proves: OPS-18.
func TestInstantsAlwaysShowMilliseconds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "ms"))
		want := `"` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `"`

		got, err := json.Marshal(day.At(at))
		if err != nil || string(got) != want {
			t.Fatalf("%s, %v; want %s", got, err, want)
		}

		var back day.Instant
		if err := json.Unmarshal(got, &back); err != nil || !back.Equal(at) {
			t.Fatalf("%s came back as %s, %v", got, back, err)
		}
	})
}
