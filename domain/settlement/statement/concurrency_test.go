package statement_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Whatever is posted into a month while its statement is published is either in the statement or refused: no entry
// of the month is left out of a published statement, and the stored figure is the sum of what is attached.
func TestPostingMeetsPublishing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	var inTime, late int

	for round := range 24 {
		var group sync.WaitGroup

		posted := make([]error, 3)
		for i := range posted {
			group.Go(func() {
				posted[i] = b.tryPost(event{at: "2026-01-15"}, side{account: "2000", cents: 100}, side{account: "4000", cents: -100, o: true})
			})
		}

		var saved string

		group.Go(func() {
			body := map[string]any{"month": "2026-01", "status": "inReview", "listingPeriodIds": []id.ID{b.period}}
			if round%2 == 0 {
				body["status"] = "published"
			}
			// The harness would send a dry run first and compare the whole team, which the others are changing.
			r := b.Call(http.MethodPost, "/statements?dryRun=false", body)
			if r.Status != http.StatusCreated {
				t.Errorf("round %d: %s", round, r.Body)
				return
			}

			saved = r.String("data.0.id")
		})
		group.Wait()

		for _, err := range posted {
			switch {
			case err == nil:
				inTime++
			case errors.Is(err, ledger.ErrStatementPeriod), errors.Is(err, ledger.ErrStatementInReview):
				late++
			default:
				t.Fatal(err)
			}
		}

		b.wantAttached(round)
		b.Call(http.MethodDelete, "/statements/"+saved+"?dryRun=false&onLocked=unlockAndDelete", nil).Want(http.StatusNoContent)
	}

	t.Logf("%d postings came in time, %d too late", inTime, late)
}

// wantAttached fails the test when an owners' entry of January is not attached, or the statement does not add up to
// those that are.
func (b *books) wantAttached(round int) {
	b.t.Helper()

	type row struct {
		Loose      int64
		NetRevenue int64
		Attached   int64
	}

	var r row

	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		r, err = db.Get[row](ctx, tx, `
			select s.net_revenue, count(*) filter (where e.id is not null and e.statement_id is null) as loose,
				coalesce(-sum(e.cent_total) filter (where e.statement_id = s.id), 0)::bigint as attached
			from statement s left join ledger_entry e on e.team_id = s.team_id and e.ownership_period_id = s.ownership_period_id
				and e.party = 'owners' and e.txn_at between s.start_at and s.end_at
			where s.team_id = @team group by s.id, s.net_revenue`, db.Args{"team": tx.Team})

		return err
	})

	if r.Loose != 0 || r.NetRevenue != r.Attached {
		b.t.Errorf("round %d: %d entries are not attached, the statement says %d and its entries %d", round, r.Loose, r.NetRevenue, r.Attached)
	}
}
