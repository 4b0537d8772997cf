package ownerrez_test

import (
	"testing"

	"stayledger/provider/pms/guidetest"
	"stayledger/provider/pms/ownerrez"
)

// The guide says what becomes of each field that the client reads.
func TestTheGuideNamesEveryField(t *testing.T) {
	t.Parallel()
	guidetest.Check(t, "ownerrez.md", ownerrez.Records)
}
