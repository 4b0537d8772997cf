package statement_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"stayledger/migrations"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Statements that were saved before shares were kept are given those that they showed: the available balance by split
// alone, to the cent.
func TestFormerStatementsKeepTheirShares(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	text, err := fs.ReadFile(migrations.FS, "0031_statement_shares.sql")
	if err != nil {
		t.Fatal(err)
	}

	_, fill, _ := strings.Cut(string(text), "update statement s set")
	fill, _, _ = strings.Cut("update statement s set"+fill, ";")
	splits := []int64{14_285, 14_286, 28_571, 42_858}
	want := map[id.ID][]money.Cents{}

	for n, available := range []money.Cents{0, 1, -1, 2, -2, 3, 99, -99, 100_003, -100_003, 7_777_777, money.MaxCents, -money.MaxCents} {
		period := b.newPeriod(b.newListing("House "+string(rune('a'+n))), map[string]any{})
		for i, split := range splits {
			b.member(period, i+1, b.contact("Owner"), int(split))
		}

		s := id.New(b.DB.Now())
		b.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start,
				net_revenue, expenses, payouts, balance_end, reserve, created_at, updated_at)
			select @team, @id, @ref, id, listing_id, 'published', 'usd', '2026-01-01', '2026-01-31', @cents, 0, 0, 0, @cents, 0, @now, @now
			from listing_ownership_period where team_id = @team and id = @period`,
			db.Args{"id": s, "ref": s.ShortRef(), "cents": available, "period": period, "now": b.DB.Now()})
		want[s] = money.Split(available, splits)
	}

	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, fill, db.Args{}); err != nil {
			return err
		}

		type told struct {
			ID     id.ID
			Shares []money.Cents
		}

		rows, err := db.Select[told](ctx, tx, `select id, shares from statement where team_id = @team`, db.Args{"team": tx.Team})
		if err != nil {
			return err
		}

		if len(rows) != len(want) {
			t.Errorf("%d statements", len(rows))
		}

		for _, r := range rows {
			if !slices.Equal(r.Shares, want[r.ID]) {
				t.Errorf("shares %v, want %v", r.Shares, want[r.ID])
			}
		}

		return nil
	})
}
