package transaction_test

import (
	"testing"

	"stayledger/platform/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }
