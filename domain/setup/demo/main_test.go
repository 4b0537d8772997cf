package demo_test

import (
	"testing"
	"time"

	"stayledger/domain/activity/recurring"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/record/operation"
	"stayledger/domain/reporting/report"
	"stayledger/domain/reporting/trust"
	"stayledger/domain/setup/demo"
	"stayledger/platform/apitest"
	"stayledger/platform/parts"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()

	return apitest.New(t, apitest.Config{
		Endpoints: parts.Join(demo.Part(nil), operation.Part(time.Hour), recurring.Part(), report.Part(nil), account.Part(nil), bank.Part(rule.OfBank), rule.Part(), trust.Part()).Endpoints,
		Handlers:  demo.Part(nil).Handlers,
	})
}
