package summary_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"stayledger/platform/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// behind sums the journal entries of a drill-down's filter, sent as a client does.
func behind(x *apitest.Team, filter any) (debit, credit int64) {
	q := url.Values{}

	for name, value := range filter.(map[string]any) {
		if all, ok := value.([]any); ok {
			parts := make([]string, len(all))
			for i := range all {
				parts[i] = fmt.Sprint(all[i])
			}

			q.Set(name, strings.Join(parts, ","))

			continue
		}

		q.Set(name, fmt.Sprint(value))
	}

	r := x.Get("/reports/journal-entries?limit=1&" + q.Encode()).Want(200)

	return r.Int("totals.debit"), r.Int("totals.credit")
}
