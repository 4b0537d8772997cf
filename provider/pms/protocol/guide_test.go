package protocol_test

import (
	"testing"

	"stayledger/platform/golden"
	"stayledger/provider/pms/protocol"
)

// The guide says what becomes of each field that the client reads.
func TestTheGuideNamesEveryField(t *testing.T) {
	t.Parallel()
	golden.CheckGuide(t, "pms-protocol.md", protocol.Records)
}
