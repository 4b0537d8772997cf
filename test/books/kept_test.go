package books_test

import (
	"context"
	"encoding/json"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
)

// keptFacts is the eighth invariant: what is kept of sources and of stays is what their entries say at this moment.
func (h *history) keptFacts(when string) {
	h.none(when, "what is kept of a source is not what its entries say", `select concat_ws(' ', source_id, x.first_at, x.owned_from, x.period_ids, x.statement_ids,
			'kept', k.first_at, k.owned_from, k.period_ids, k.statement_ids)
		from (select e.source_id, min(e.txn_at) as first_at, min(e.txn_at) filter (where e.party = 'owners') as owned_from,
				array(select distinct o.ownership_period_id from ledger_entry o where o.team_id = @team and o.source_id = e.source_id and o.status = 'active'
					and o.ledger <> 'historical' and o.party = 'owners' and o.ownership_period_id is not null order by 1) as period_ids,
				array(select distinct o.statement_id from ledger_entry o where o.team_id = @team and o.source_id = e.source_id and o.status = 'active'
					and o.ledger <> 'historical' and o.statement_id is not null order by 1) as statement_ids
			from ledger_entry e where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical' group by e.source_id) x
		full join (select * from ledger_source where team_id = @team) k using (source_id)
		where (x.first_at, x.owned_from, x.period_ids, x.statement_ids) is distinct from (k.first_at, k.owned_from, k.period_ids, k.statement_ids)`)

	// A stay that owners earn something by is missing only if it comes to nothing on each account of guests, today and later.
	h.none(when, "a stay on which something is open is not kept", `select concat_ws(' ', o.ownership_period_id, o.reservation_id, g.cents, g.last_at)
		from (select distinct e.ownership_period_id, e.reservation_id from ledger_entry e where e.team_id = @team and e.party = 'owners'
				and e.ownership_period_id is not null and e.reservation_id is not null and e.status = 'active' and e.ledger <> 'historical') o
		join (select e.reservation_id, e.currency, sum(e.cent_total) as cents, max(e.txn_at) as last_at from ledger_entry e
				join account_assignment a on a.team_id = e.team_id and a.account_id = e.account_id and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')
			where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical' group by 1, 2
			having sum(e.cent_total) <> 0 or max(e.txn_at) > current_date) g using (reservation_id)
		where not exists (select from ledger_unsettled u where u.team_id = @team and u.ownership_period_id = o.ownership_period_id
			and u.reservation_id = o.reservation_id)`)
}

// guestReport are guest balances, as far as kept sums and the entries of all stays can differ on them.
type guestReport struct {
	Total, Charges, Payments int64
	Aging                    []struct{ Count, CentTotal int64 }
	Data                     []struct {
		Status                   string
		Total, Charges, Payments int64
		Listings                 []struct {
			Name                     *string
			Total, Charges, Payments int64
			Reservations             []struct {
				ID, TransactionReferenceID *string
				Charges, Payments          int64
			}
		}
	}
}

// open returns the report without the rows on which nothing is open, as it is when settled stays are not asked for.
func (g guestReport) open() guestReport {
	groups := g.Data
	g.Data = nil

	for _, group := range groups {
		listings := group.Listings
		group.Listings = nil

		for _, l := range listings {
			rows := l.Reservations
			l.Reservations = nil

			for _, r := range rows {
				if r.Charges != r.Payments {
					l.Reservations = append(l.Reservations, r)
				}
			}

			if l.Reservations != nil {
				group.Listings = append(group.Listings, l)
			}
		}

		if group.Listings != nil {
			g.Data = append(g.Data, group)
		}
	}

	return g
}

// render returns the report as text.
func (g guestReport) render() string {
	text, _ := json.MarshalIndent(g, "", "\t")
	return string(text)
}

// keptGuests is the same of guest balances on any day: read from the sums of settled stays, they are those of the entries of
// all stays.
func (h *history) keptGuests(when string) {
	for _, q := range []string{"", "&date=" + h.date("guests").String(), "&listingIds=" + one(h, "guests' listing", append(h.listings, "null")...)} {
		var kept, added guestReport
		h.read("/reports/guest-balances?limit=250"+q, &kept)
		h.read("/reports/guest-balances?limit=250&includeSettled=true"+q, &added)

		if got, want := kept.open().render(), added.open().render(); got != want {
			h.r.Fatalf("%s: guest balances %s are not those of the entries:\n%s\nentries:\n%s", when, q, got, want)
		}
	}
}

// Once the stays are looked at, those on which nothing is open are kept no more: a page of statements looks at none of them.
func TestSettledStaysAreKeptNoMore(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	owner := x.must("POST", "/contacts", object{"type": "owner", "name": "Ada"})
	listing := x.must("POST", "/listings", object{"name": "Villa", "initialOwnership": object{"members": []object{{"contactId": owner, "split": 100_000}}}})
	stay := x.must("POST", "/reservations", object{
		"listingId": listing, "checkIn": "2026-01-05", "checkOut": "2026-01-08",
		"lines": []object{{"type": "rent", "amount": 30_000}},
	})
	pay := func(cents int) {
		x.must("POST", "/transactions", object{
			"type": "deposit", "date": "2026-01-09", "accountId": x.account("1000"),
			"lines": []object{{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay}},
		})
	}

	want := func(what string, stays int64) {
		t.Helper()

		if err := ledger.SettleTeam(t.Context(), x.DB, x.ID); err != nil {
			t.Fatal(err)
		}

		x.Tx(func(ctx context.Context, tx *db.Tx) error {
			n, err := db.Get[int64](ctx, tx, `select count(*) from ledger_unsettled where team_id = @team`, db.Args{"team": tx.Team})
			if n != stays {
				t.Errorf("%s: %d stays are kept, want %d", what, n, stays)
			}

			return err
		})
	}

	want("nothing was paid", 1)
	pay(20_000)
	want("a part was paid", 1)
	pay(10_000)
	want("all was paid", 0)
	pay(100)
	want("too much was paid", 1)
}
