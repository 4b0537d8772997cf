package protocol_test

import (
	"testing"

	"stayledger/provider/pms/guidetest"
	"stayledger/provider/pms/protocol"
)

// The guide says what becomes of each field that the client reads.
func TestTheGuideNamesEveryField(t *testing.T) {
	t.Parallel()
	guidetest.Check(t, "pms-protocol.md", protocol.Records)
}
