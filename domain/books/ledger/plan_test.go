package ledger_test

import (
	"context"
	"strconv"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// The stored postings of sources are found by source even if the statistics are of a ledger with a single one, which
// say that a source has all entries.
func TestReplaceReadsOnlyItsSourcesWithStaleStatistics(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	b := newBooksIn(t, d)
	jan := date(t, "2026-01-15")

	exec := func(sql string) {
		b.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, sql, nil)
			return err
		})
	}
	exec(`alter table ledger_entry set (autovacuum_enabled = off)`)

	only := id.New(b.DB.Now())

	var first []ledger.Posting
	for n := range 200 {
		first = append(first, b.posting(only, "first "+strconv.Itoa(n), jan, 100))
	}

	b.replace([]id.ID{only}, first...)
	exec(`analyze ledger_entry`)

	// Then many more come.
	var (
		sources []id.ID
		wanted  []ledger.Posting
	)

	for range 1_000 {
		source := id.New(b.DB.Now())
		sources = append(sources, source)
		wanted = append(wanted, b.posting(source, source.String(), jan, 100))
	}

	b.replace(sources, wanted...)

	for _, some := range []int{1, 10, 1_000} { // by a kept plan, and by new ones
		var before, after int64

		b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			if before, err = entriesRead(ctx, tx); err != nil {
				return err
			}

			change, err := ledger.Replace(ctx, tx, sources[:some], wanted[:some], ledger.Lenience{})
			if err == nil && !change.IsZero() {
				t.Errorf("repeating %d sources changes %+v", some, change)
			}

			if err == nil {
				after, err = entriesRead(ctx, tx)
			}

			return err
		})

		if read := after - before; read > int64(10*some) {
			t.Errorf("%d rows of the ledger and its indexes were read for %d sources of two entries each", read, some)
		}
	}
}

// entriesRead returns how many rows of the ledger and of its indexes the transaction has read, those that a condition
// dropped too.
func entriesRead(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.Get[int64](ctx, tx, `
		select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
		from pg_class c where c.oid = 'ledger_entry'::regclass or c.oid in (select indexrelid from pg_index where indrelid = 'ledger_entry'::regclass)`, nil)
}
