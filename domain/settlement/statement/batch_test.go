package statement_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/test/world"
)

// runBatch starts a batch and waits for it; it gives how the work ended and what was refused.
func runBatch(w *world.World, body world.Object) (state string, got *result) {
	w.T.Helper()

	begun := &result{}
	w.Post("/statements/batch?dryRun=false", body).Want(202).Into(begun)

	if begun.State != "queued" || begun.Counts.Waiting != begun.Counts.Total || len(begun.Data) != begun.Counts.Total || begun.Data[0].Outcome != "waiting" {
		w.T.Errorf("begun with %+v", begun)
	}

	w.Work()

	got = &result{}
	w.Get("/statements/batch/" + begun.ID + "?outcome=refused").Want(200).Into(got)

	return got.State, got
}

type result struct {
	ID     string
	Status string
	State  string
	Counts struct{ Total, Waiting, Changed, Unchanged, Refused int }
	Data   []struct {
		StatementID, Outcome  string
		Code, Reason, Message string
	}
}

// A batch changes what it can and says of the rest what a single change would have said.
// Proves: OPS-85.
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

// A batch keeps the statements that payouts rest on, and changes the others.
// Proves: RSN-60.
func TestABatchKeepsPaidStatements(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	villa, barn := w.Listing("Villa", ada), w.Listing("Barn", ada)
	w.Stay(villa, "2026-01-10", 10_000)
	w.Stay(barn, "2026-01-10", 10_000)
	w.Publish("2026-01", villa, barn)
	paid, free := w.Statement(villa, "2026-01"), w.Statement(barn, "2026-01")
	w.Post("/transactions", world.Object{"type": "payout", "date": "2026-02-05", "lines": world.Array{
		world.Object{"amount": 10_000, "listingId": villa.ID, "contactId": ada, "ownerStatementId": paid},
	}}).Want(201)

	for _, to := range []string{"inReview", "draft"} {
		status, got := runBatch(w, world.Object{"statementIds": world.Array{paid, free}, "status": to})
		if c := got.Counts; status != "failed" || c.Changed != 1 || c.Refused != 1 || len(got.Data) != 1 ||
			got.Data[0].StatementID != paid.String() || got.Data[0].Reason != "statementHasPayouts" {
			t.Errorf("%s: %s with %+v", to, status, got)
		}

		if s := w.Get("/statements/" + paid.String()).Want(200).String("status"); s != "published" {
			t.Errorf("%s: the paid statement is %s", to, s)
		}
	}
}

// A batch names its statements from the beginning, and what became of each. It is internal work: the contract has no
// type of operations for it.
// Proves: OPS-32, OPS-33.
func TestABatchNamesItsStatements(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")

	villa, barn := w.Listing("Villa", ada), w.Listing("Barn", ada)
	for _, l := range []world.Listing{villa, barn} {
		w.Stay(l, "2026-01-10", 10_000)
		w.Stay(l, "2026-02-10", 10_000)
	}

	w.Post("/statements", world.Object{"month": "2026-02", "listingPeriodIds": world.Array{barn.Period}}).Want(201)
	want := map[string]string{w.Statement(villa, "2026-01").String(): "changed", w.Statement(barn, "2026-01").String(): "refused"}

	before := w.Get("/operations").Want(200).Int("total")
	begun := &result{}
	w.Post("/statements/batch?dryRun=false", world.Object{"month": "2026-01", "status": "published"}).Want(202).Into(begun)

	for _, s := range begun.Data {
		if want[s.StatementID] == "" || s.Outcome != "waiting" || s.Code != "" {
			t.Errorf("begun with %+v", s)
		}
	}

	w.Work()

	got := &result{}
	w.Get("/statements/batch/" + begun.ID).Want(200).Into(got)

	if got.ID != begun.ID || got.State != "failed" || len(begun.Data) != 2 || len(got.Data) != 2 {
		t.Errorf("begun with %+v, ended as %+v", begun, got)
	}

	for _, s := range got.Data {
		// A saved statement has an id of its own.
		if refused := s.StatementID == w.Statement(barn, "2026-01").String(); (s.Outcome == "refused") != refused || (s.Code != "") != refused {
			t.Errorf("ended with %+v", s)
		}
	}

	if n := w.Get("/statements/batch/" + begun.ID + "?outcome=changed,unchanged").Want(200).Len("data"); n != 1 {
		t.Errorf("%d were changed", n)
	}

	w.Get("/operations/"+begun.ID).WantError(apierr.CodeNotFound, "")

	if listed := w.Get("/operations").Want(200); listed.Int("total") != before || strings.Contains(string(listed.Body), begun.ID) {
		t.Errorf("%d operations before, then %s", before, listed.Body)
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
	refused := w.Refuses("/statements/batch")
	refused("nothing named", world.Object{"status": "published"}, "required", "month")
	refused("both named", world.Object{"status": "published", "month": "2026-01", "statementIds": world.Array{statement}}, "contradiction", "statementIds")
	refused("another team's", world.Object{"status": "published", "statementIds": world.Array{statement, other}}, "notFound", "statementIds.1")
	refused("a month to come", world.Object{"status": "published", "month": "2035-01"}, "dateInFuture", "month")
	refused("nothing selected", world.Object{"status": "published", "month": "2026-01", "currency": "chf"}, "selectionEmpty", "")
	refused("no status at all", world.Object{"month": "2026-01"}, "required", "status")
	refused("an unknown status", world.Object{"month": "2026-01", "status": "void"}, "enum", "status")
	w.Post("/statements/batch", world.Object{"status": "published", "month": "2025-12"}).WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate)
	w.As([]string{"statements:write"}, nil).Post("/statements/batch", world.Object{"status": "published", "month": "2026-01"}).WantError(apierr.CodeForbidden, "")

	_, mine := runBatch(w, world.Object{"status": "inReview", "month": "2026-01"})
	if mine.Counts.Total != 1 {
		t.Errorf("batch: %+v", mine)
	}
}
