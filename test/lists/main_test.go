// Package lists_test holds every list of the service to what the contract promises of lists: filters, exclusions,
// dates, sorts and pages.
package lists_test

import (
	"testing"

	"stayledger/platform/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }
