package trust_test

import (
	"context"
	"testing"
	"time"

	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/domain/reporting/trust"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/test/fixture"
	"stayledger/test/posted"
)

// guests adds so many stays of a listing; each owes what it was charged.
func guests(b *posted.Books, stays int) {
	villa := fixture.Listing(b.Team, "Villa")
	b.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, check_in, check_out, currency, guest_name, created_at, updated_at)
		select @team, id, id::text, @listing, 'booked', '2026-01-01', '2026-01-03', 'usd', 'Guest', now(), now()
		from (select gen_random_uuid() as id from generate_series(1, @stays::int) offset 0) s`, db.Args{"listing": villa, "stays": stays})
	b.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, reservation_id, listing_id, trigger_type, created_at)
		select @team, gen_random_uuid(), r.id, 'code', side.sign::text, 'trust', r.check_in, side.account, side.sign * 100, 'usd', r.id, r.listing_id, 'manual', now()
		from reservation r, (values (@guests::uuid, 1), (@rent::uuid, -1)) side (account, sign) where r.team_id = @team`,
		db.Args{"guests": b.Accounts["2000"], "rent": b.Accounts["4000"]})
}

// A team that the planner knows to have nothing has thousands of stays: reports that name the stay of each entry look
// it up by its id, and do not search the team's stays each time.
func TestStaysOfANewTeam(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	const stays = 6000

	before, b := posted.In(t, d), posted.In(t, d)
	guests(before, stays/2)

	for _, table := range []string{"reservation", "ledger_entry", "account", "transaction", "listing", "contact"} {
		before.Exec("analyze "+table, nil)
	}

	guests(b, stays)
	scope := b.Scope()

	scope.Timeout = 2 * time.Second
	for name, query := range map[string]func(ctx context.Context, tx *db.Tx) (page.Query, error){
		"guest balances": func(ctx context.Context, tx *db.Tx) (page.Query, error) {
			q, err := trust.GuestQuery(ctx, tx, &trust.GuestFilter{})
			q.Columns = "g.guest_name"

			return q, err
		},
		"taxes": func(ctx context.Context, tx *db.Tx) (page.Query, error) {
			q, err := trust.TaxQuery(ctx, tx, &trust.TaxFilter{
				Period: report.Period{StartDate: report.Start{Day: date("2026-01-01")}, EndDate: report.End{Day: date("2026-01-31")}}, TaxableLineIDs: []id.ID{b.Accounts["4000"]},
			})
			q.Columns = "b.guest_name"

			return q, err
		},
		"entries": func(_ context.Context, tx *db.Tx) (page.Query, error) {
			q := report.EntryQuery(report.Selection{AccountIDs: page.Only(b.Accounts["4000"])})
			q.Columns, q.Args["team"] = "r.guest_name", tx.Team
			q.From = "ledger_entry e left join reservation r on r.team_id = @team and r.id = e.reservation_id"

			return q, nil
		},
	} {
		if err := d.Read(t.Context(), scope, func(ctx context.Context, tx *db.Tx) error {
			q, err := query(ctx, tx)
			if err != nil {
				return err
			}

			found, err := db.Select[string](ctx, tx, q.SQL(""), q.Args)
			if err == nil && len(found) != stays {
				t.Errorf("%s has %d rows", name, len(found))
			}

			return err
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Guest balances read the entries of the stays on which something is open, however many are settled.
func TestGuestBalancesReadOpenStays(t *testing.T) {
	t.Parallel()

	const stays, open = 1000, 3

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	b := posted.In(t, d)
	guests(b, stays)
	b.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, reservation_id, listing_id, trigger_type, created_at)
		select @team, gen_random_uuid(), r.id, 'paid', side.sign::text, 'trust', r.check_out, side.account, side.sign * 100, 'usd', r.id, r.listing_id, 'manual', now()
		from (select * from reservation where team_id = @team order by id offset @open) r, (values (@bank::uuid, 1), (@guests::uuid, -1)) side (account, sign)`,
		db.Args{"guests": b.Accounts["2000"], "bank": b.Accounts["1000"], "open": open})

	if err := ledger.SettleTeam(t.Context(), b.DB, b.ID); err != nil {
		t.Fatal(err)
	}

	for _, table := range []string{"reservation", "ledger_entry", "ledger_guest", "ledger_guest_settled"} {
		b.Exec("analyze "+table, nil)
	}

	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		q, err := trust.GuestQuery(ctx, tx, &trust.GuestFilter{})
		if err != nil {
			return err
		}

		q.Columns = "g.guest_name"

		read := func() int64 {
			n, err := db.Get[int64](ctx, tx, `select sum(seq_tup_read + idx_tup_fetch)::bigint from pg_stat_xact_user_tables
				where relname in ('ledger_entry', 'reservation')`, nil)
			if err != nil {
				t.Error(err)
			}

			return n
		}
		before := read()

		found, err := db.Select[string](ctx, tx, q.SQL(""), q.Args)
		if rows := read() - before; len(found) != open || rows > 20*open {
			t.Errorf("guest balances of %d open stays have %d rows and read %d entries and reservations", open, len(found), rows)
		}

		return err
	})
}
