package hostaway_test

import (
	"testing"

	"stayledger/provider/pms/guidetest"
	"stayledger/provider/pms/hostaway"
)

// The guide says what becomes of each field that the client reads.
func TestTheGuideNamesEveryField(t *testing.T) {
	t.Parallel()
	guidetest.Check(t, "hostaway.md", hostaway.Records)
}
