package rule_test

import (
	"strconv"
	"testing"

	"stayledger/platform/apierr"
)

// In a team without Operations Accounting a rule books nothing that touches operating accounts alone. The records of
// other accounts are booked.
//
// Proves: RSN-36.
func TestARuleBooksOperatingRecordsWithOperationsAccounting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot("mode", "suggest"))
	trust, operating := w.record(w.trust, "2026-02-10", -1500, "HOME DEPOT 1"), w.record(w.operating, "2026-02-12", -2500, "The depot")

	run := func() map[string]string {
		ack := w.Post(path+"/run?dryRun=false", nil).Want(202)
		w.Work()

		items, out := w.Get(path+"/runs/"+ack.String("operationId")).Want(200), map[string]string{}
		for i := range items.Len("data") {
			at := "data." + strconv.Itoa(i) + "."
			out[items.String(at+"bankRecordId")] = items.String(at+"outcome") + " " + items.String(at+"reason")
		}

		return out
	}

	w.Put("/team", object{"operationsAccounting": false}).Want(200)

	if got := run(); got[trust.String()] != "applied null" || got[operating.String()] != "failed "+string(apierr.ReasonOperationsAccountingDisabled) {
		t.Errorf("without: %v", got)
	}

	w.Put("/team", object{"operationsAccounting": true}).Want(200)

	if got := run(); got[operating.String()] != "applied null" {
		t.Errorf("with: %v", got)
	}
}
