package statement_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/test/world"
)

// batchOf starts a batch and waits for it; it gives the answer about it.
func runBatch(w *world.World, body world.Object) (operation string, got *result) {
	w.T.Helper()
	ack := w.Post("/statements/batch?dryRun=false", body).Want(202)
	if ack.String("type") != "flow-run" || ack.String("status") != "queued" {
		w.T.Errorf("acknowledged with %s", ack.Body)
	}
	w.Work()
	operation = ack.String("operationId")
	got = &result{}
	w.Get("/statements/batch/" + operation).Want(200).Into(got)
	return w.Get("/operations/" + operation).Want(200).String("status"), got
}

type result struct {
	Status string
	Counts struct{ Total, Waiting, Changed, Unchanged, Refused int }
	Data   []struct {
		StatementID           string
		Code, Reason, Message string
	}
}

// A batch changes what it can and says of the rest what a single change would have said.
// Proves: OPS-04, OPS-85.
func TestABatchOfStatements(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	villa, barn, mill := w.Listing("Villa", ada), w.Listing("Barn", ada), w.Listing("Mill", ada)
	for _, l := range []world.Listing{villa, barn, mill} {
		w.Stay(l, "2026-01-10", 10_000)
		w.Stay(l, "2026-02-10", 10_000)
	}
	w.Post("/statements", world.Object{"month": "2026-02", "listingPeriodIds": world.Array{mill.Period}}).Want(201)

	status, got := runBatch(w, world.Object{"month": "2026-01", "status": "published"})
	if c := got.Counts; status != "failed" || c.Total != 3 || c.Changed != 2 || c.Refused != 1 || c.Waiting != 0 {
		t.Errorf("%s with %+v", status, got)
	}
	if len(got.Data) != 1 || got.Data[0].Reason != "statementFutureExists" || got.Data[0].StatementID != w.Statement(mill, "2026-01").String() {
		t.Errorf("refused: %+v", got.Data)
	}
	w.Delete("/statements/" + w.Statement(mill, "2026-02").String()).Want(204)

	status, got = runBatch(w, world.Object{"month": "2026-01", "status": "published"})
	if c := got.Counts; status != "completed" || c.Unchanged != 2 || c.Changed != 1 {
		t.Errorf("again: %s with %+v", status, got)
	}
	// Both months of each chain, and back again: the batch puts them in the order that the rule asks for.
	all := world.Array{}
	for _, month := range []string{"2026-02", "2026-01"} {
		for _, l := range []world.Listing{villa, barn, mill} {
			all = append(all, w.Statement(l, month))
		}
	}
	for _, to := range []string{"published", "draft", "published", "draft", "inReview"} {
		status, got = runBatch(w, world.Object{"statementIds": all, "status": to})
		if status != "completed" || got.Counts.Refused != 0 || got.Counts.Total != 6 || got.Status != to {
			t.Errorf("%s: %s with %+v", to, status, got)
		}
		for _, l := range []world.Listing{villa, barn, mill} {
			for _, month := range []string{"2026-01", "2026-02"} {
				if s := w.Get("/statements/" + w.Statement(l, month).String()).String("status"); s != to {
					t.Errorf("%s of %s is %s, want %s", month, l.ID, s, to)
				}
			}
		}
	}
}

func TestABatchDryRunTellsTheOutcome(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	w.Stay(villa, "2026-01-10", 10_000)
	w.Stay(villa, "2026-02-10", 10_000)
	dry := w.Post("/statements/batch?dryRun=true", world.Object{"month": "2026-02", "status": "published"}).Want(200)
	if dry.Int("counts.refused") != 1 || dry.String("data.0.reason") != "previousStatementsOpen" || dry.Int("counts.total") != 1 {
		t.Errorf("dry: %s", dry.Body)
	}
	if s := w.Get("/statements/" + w.Statement(villa, "2026-02").String()).String("status"); s != "draft" {
		t.Errorf("a dry run made it %s", s)
	}
}

func TestABatchRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	statement := w.Statement(villa, "2026-01")
	foreign := world.New(t)
	other := foreign.Statement(foreign.Listing("Other", foreign.Contact("owner", "Eve")), "2026-01")
	for name, c := range map[string]struct {
		body       world.Object
		code, path string
	}{
		"nothing named":     {world.Object{"status": "published"}, "required", "month"},
		"both named":        {world.Object{"status": "published", "month": "2026-01", "statementIds": world.Array{statement}}, "conflict", "statementIds"},
		"another team's":    {world.Object{"status": "published", "statementIds": world.Array{statement, other}}, "notFound", "statementIds.1"},
		"a month to come":   {world.Object{"status": "published", "month": "2035-01"}, "future", "month"},
		"nothing selected":  {world.Object{"status": "published", "month": "2026-01", "currency": "chf"}, "nothingSelected", ""},
		"no status at all":  {world.Object{"month": "2026-01"}, "required", "status"},
		"an unknown status": {world.Object{"month": "2026-01", "status": "void"}, "enum", "status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.Post("/statements/batch", c.body).WantError(apierr.CodeBadRequest, "").WantIssue(c.code, c.path)
		})
	}
	w.Post("/statements/batch", world.Object{"status": "published", "month": "2025-12"}).WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate)
	w.As([]string{"statements:write"}, nil).Post("/statements/batch", world.Object{"status": "published", "month": "2026-01"}).WantError(apierr.CodeForbidden, "")
	_, mine := runBatch(w, world.Object{"status": "inReview", "month": "2026-01"})
	if mine.Counts.Total != 1 {
		t.Errorf("batch: %+v", mine)
	}
}
