package journal_test

import (
	"context"
	"testing"

	"stayledger/domain/activity/journal"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Journals with owners' lines follow the owners of their listings, save those that a lock holds.
func TestJournalsFollowTheOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held := journals + "/" + w.Post(journals, w.gift("2026-02-01")).Want(201).String("id")
	w.Post(journals, w.gift("2026-04-20")).Want(201)
	statement := w.statement("published", "2026-02-01", "2026-02-28", true)
	w.Exec(`update listing_ownership_period set end_at = '2026-01-10' where team_id = @team and id = @id`, db.Args{"id": w.ann})
	w.Exec(`update listing_ownership_period set start_at = '2026-01-10' where team_id = @team and id = @id`, db.Args{"id": w.bob})
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		err := (ledger.Sources{journal.Source()}).Outdate(ctx, tx, ledger.Basis{Listings: []id.ID{w.villa}}, ledger.Outdated{
			Reason: ledger.OwnershipChanged, Type: operation.ListingJournalRefresh, Cause: operation.Resource{Type: operation.Listing, ID: w.villa},
		})

		return err
	})

	if got := w.Get(held).String("journalStatus.status"); got != "recalculating" {
		t.Errorf("while the operation waits the journal is %s", got)
	}

	w.Work()
	w.wantEntries("2026-02-01 trust 4000 -10000 owners ann manual", "2026-02-01 trust 5200 10000 manager manual",
		"2026-04-20 trust 4000 -10000 owners bob manual", "2026-04-20 trust 5200 10000 manager manual")

	if got := w.Get(held).String("journalStatus.reason"); got != "journalLocked" {
		t.Errorf("the locked journal says %s", got)
	}
	// The journal follows when the statement is gone.
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		for _, sql := range []string{`update ledger_entry set statement_id = null where team_id = @team`, `delete from statement where team_id = @team`} {
			if _, err := tx.Exec(ctx, sql, db.Args{"team": tx.Team}); err != nil {
				return err
			}
		}

		return ledger.RetryReleased(ctx, tx, []id.ID{statement}, []id.ID{w.villa})
	})

	if got := w.Get(held).String("journalStatus.status"); got != "recalculating" {
		t.Errorf("when the statement is gone the journal is %s", got)
	}

	w.Work()

	if got := w.Get(held).String("journalStatus.status"); got != "current" {
		t.Errorf("after the statement was gone the journal is %s", got)
	}

	w.wantEntries("2026-02-01 trust 4000 -10000 owners bob manual", "2026-02-01 trust 5200 10000 manager manual",
		"2026-04-20 trust 4000 -10000 owners bob manual", "2026-04-20 trust 5200 10000 manager manual")
	w.Exec(`update listing_ownership_period set start_at = '2026-07-01' where team_id = @team and id = @id`, db.Args{"id": w.bob})
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := (ledger.Sources{journal.Source()}).Follow(ctx, tx, ledger.Basis{Listings: []id.ID{w.villa}}); !apierr.IsRefusal(err) {
			t.Errorf("a listing without owners: %v", err)
		}

		return nil
	})

	if got := w.Get(held).String("journalStatus.status"); got != "failed" {
		t.Errorf("without an owner the journal is %s", got)
	}

	w.wantEntries("2026-02-01 trust 4000 -10000 owners bob manual", "2026-02-01 trust 5200 10000 manager manual",
		"2026-04-20 trust 4000 -10000 owners bob manual", "2026-04-20 trust 5200 10000 manager manual")
}
