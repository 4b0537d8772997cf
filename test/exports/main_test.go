// Package exports_test asks every export of the whole service and compares what comes out with golden files.
package exports_test

import (
	"testing"

	"stayledger/platform/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }
