package ledger_test

import (
	"context"
	"testing"

	"stayledger/domain/ledger"
	"stayledger/domain/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func (b *books) status(source id.ID) (status ledger.JournalStatus) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		all, err := ledger.StatusOf(ctx, tx, []ledger.Subject{{ID: source, Also: []id.ID{b.listing}}})
		status = all[source]
		return err
	})
	return status
}

func (b *books) want(source id.ID, status string, reason ledger.Reason, action string) {
	b.t.Helper()
	got := b.status(source)
	var gotReason ledger.Reason
	var gotAction string
	if got.Reason != nil {
		gotReason = *got.Reason
	}
	if got.Action != nil {
		gotAction = *got.Action
	}
	if got.Status != status || gotReason != reason || gotAction != action {
		b.t.Fatalf("got %s %s %s, want %s %s %s", got.Status, gotReason, gotAction, status, reason, action)
	}
}

// Proves: OPEN-59, STM-14.
func TestJournalStatus(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	fee := operation.Resource{Type: operation.RecurringFee, ID: id.New(b.DB.Now())}
	locked, open := id.New(b.DB.Now()), id.New(b.DB.Now())
	was := b.posting(locked, "locked", date(t, "2026-01-15"), 100)
	b.replace([]id.ID{locked}, was)
	b.want(locked, "current", "", "")
	b.closeBooks("2026-02-01")

	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		return ledger.MarkStale(ctx, tx, ledger.Outdated{Reason: ledger.FeeChanged, Cause: fee, Reservations: []id.ID{locked, open}})
	})
	b.want(locked, "stale", ledger.FeeChanged, "refresh")
	now := was
	now.Lines = append([]ledger.Line{}, was.Lines...)
	now.Lines[0].CentTotal, now.Lines[1].CentTotal = 200, -200
	if _, err := b.try(ledger.Lenience{SkipLocked: true}, []id.ID{locked}, now); err != nil {
		t.Fatal(err)
	}
	b.want(locked, "stale", ledger.JournalLocked, "unlock")
	feeStatus := func() (s ledger.JournalStatus) {
		b.Tx(func(ctx context.Context, tx *db.Tx) error {
			all, err := ledger.StatusOfFees(ctx, tx, []id.ID{fee.ID})
			s = all[fee.ID]
			return err
		})
		return s
	}
	if s := feeStatus(); *s.Reason != ledger.FeeChanged || !s.Blocks() {
		t.Fatalf("one is locked, the other still open: %+v", s)
	}
	b.replace([]id.ID{open}, b.posting(open, "open", date(t, "2026-02-01"), 100))
	b.want(open, "current", "", "")
	if s := feeStatus(); *s.Reason != ledger.JournalLocked || s.Blocks() {
		t.Fatalf("all that is outstanding is locked: %+v", s)
	}

	b.Exec(`update team set books_closed_at = null where id = @team`, db.Args{})
	team := operation.Resource{Type: operation.Team, ID: b.ID}
	b.Tx(func(ctx context.Context, tx *db.Tx) error { return ledger.RetryLocked(ctx, tx, team, nil) })
	b.want(locked, "recalculating", ledger.FeeChanged, "wait")
	b.replace([]id.ID{locked}, now)
	if got := b.status(locked); got.Status != "recalculating" {
		t.Fatalf("the operation is not settled: %+v", got)
	}
}

func TestFailedJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source := id.New(b.DB.Now())
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		return ledger.MarkFailed(ctx, tx, "transaction", []id.ID{source})
	})
	b.want(source, "failed", ledger.TransactionChanged, "refresh")
	b.replace([]id.ID{source}, b.posting(source, "p", date(t, "2026-02-01"), 100))
	b.want(source, "current", "", "")
}

func TestOutdateStartsNothingForNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		ack, err := ledger.Outdate(ctx, tx, ledger.Outdated{Reason: ledger.FeeChanged, Cause: operation.Resource{Type: operation.Team, ID: b.ID}})
		if ack != nil {
			t.Errorf("started %+v", ack)
		}
		return err
	})
}
