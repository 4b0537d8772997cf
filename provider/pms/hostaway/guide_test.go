package hostaway_test

import (
	"testing"

	"stayledger/platform/golden"
	"stayledger/provider/pms/hostaway"
)

// The guide says what becomes of each field that the client reads.
func TestTheGuideNamesEveryField(t *testing.T) {
	t.Parallel()
	golden.CheckGuide(t, "hostaway.md", hostaway.Records)
}
