package ledger_test

import (
	"context"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// fold folds the sums of all teams and fails when some of this one's stay unfolded.
func (b *books) fold() {
	b.t.Helper()

	if err := ledger.Fold(b.t.Context(), b.DB); err != nil {
		b.t.Fatal(err)
	}

	if n := b.unfolded(); n != 0 { // no one else writes for the team; another test may fold it at the moment
		b.fold()
	}
}

func (b *books) unfolded() (n int64) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from ledger_delta where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// The sums are the same before, while and after they are folded, for whoever reads them.
//
//nolint:paralleltest // Another test would fold what this one looks at.
func TestFoldingChangesNoSum(t *testing.T) {
	b := newBooks(t)
	source := id.New(b.DB.Now())
	total := func(ctx context.Context, tx *db.Tx) int64 {
		n, err := db.Get[int64](ctx, tx, `select coalesce(sum(debit), 0)::bigint from ledger_month where team_id = @team`, db.Args{"team": tx.Team})
		if err != nil {
			t.Error(err)
		}

		return n
	}

	b.replace([]id.ID{source}, b.posting(source, "one", date(t, "2026-03-04"), 100))

	if b.unfolded() == 0 {
		t.Error("a posting went into the kept sums at once")
	}

	b.Tx(func(ctx context.Context, tx *db.Tx) error { // what a transaction wrote is in the sums that it reads, whatever is folded meanwhile
		other := id.New(b.DB.Now())
		if _, err := ledger.Replace(ctx, tx, []id.ID{other}, []ledger.Posting{b.posting(other, "two", date(t, "2026-03-05"), 50)}, ledger.Lenience{}); err != nil {
			return err
		}

		if got := total(ctx, tx); got != 150 {
			t.Errorf("before folding: %d", got)
		}

		if err := ledger.Fold(ctx, b.DB); err != nil {
			return err
		}

		if got := total(ctx, tx); got != 150 {
			t.Errorf("after the committed part was folded: %d", got)
		}

		return nil
	})
	b.fold()
	b.replace([]id.ID{source})
	b.fold()
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		if got := total(ctx, tx); got != 50 {
			t.Errorf("after a posting was taken back: %d", got)
		}

		return nil
	})

	if n := b.unbalanced(); n != 0 {
		t.Errorf("%d balances are off", n)
	}
}
