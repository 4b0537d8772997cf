package demo_test

import (
	"slices"
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
)

func TestMain(m *testing.M) { apitest.Main(m) }

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()

	return apitest.New(t, apitest.Config{
		Endpoints: slices.Concat(demo.Part(nil).Endpoints, operation.Part(time.Hour).Endpoints, recurring.Part().Endpoints, report.Part().Endpoints,
			account.Part(nil).Endpoints, bank.Part(rule.OfBank).Endpoints, rule.Part().Endpoints, trust.Part().Endpoints),
		Handlers: demo.Part(nil).Handlers,
	})
}
