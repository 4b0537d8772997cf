package transaction_test

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/record/operation"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// world is a team with the standard chart, a villa that somebody owns, a stay in it, and contacts.
type world struct {
	*apitest.Team
	accounts                                map[string]id.ID // by code
	villa, period, stay, owner, vendor, tax id.ID
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	x := apitest.New(tb, apitest.Config{
		Endpoints: slices.Concat(transaction.Part().Endpoints, operation.Part(time.Hour).Endpoints), Handlers: transaction.Part().Handlers,
	})
	w := &world{Team: x, accounts: map[string]id.ID{}}
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := account.InstallStandard(ctx, tx); err != nil {
			return err
		}
		type row struct {
			Code string
			ID   id.ID
		}
		rows, err := db.Select[row](ctx, tx, `select code, id from account where team_id = @team and code is not null`, db.Args{"team": tx.Team})
		for _, r := range rows {
			w.accounts[r.Code] = r.ID
		}
		return err
	})
	w.owner, w.vendor = w.contact("owner", "Ann Owner"), w.contact("vendor", "Fix-It")
	w.villa = w.listing("Villa")
	w.period = w.ownership(w.villa, nil, nil)
	w.stay, w.tax = w.id(), w.id()
	x.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, check_in, check_out, currency, created_at, updated_at)
		values (@team, @id, @ref, @listing, 'booked', '2026-02-10', '2026-02-15', 'usd', now(), now())`,
		db.Args{"id": w.stay, "ref": w.stay.ShortRef(), "listing": w.villa})
	x.Exec(`insert into tax_rate (team_id, id, name, basis_points, created_at, updated_at) values (@team, @id, 'Sales tax', 15000, now(), now())`,
		db.Args{"id": w.tax})
	return w
}

func (w *world) id() id.ID { return id.New(w.DB.Now()) }

func (w *world) contact(kind, name string) id.ID {
	c := w.id()
	w.Exec(`insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) values (@team, @id, @ref, @kind, @name, now(), now())`,
		db.Args{"id": c, "ref": c.ShortRef(), "kind": kind, "name": name})
	return c
}

func (w *world) listing(name string) id.ID {
	l := w.id()
	w.Exec(`insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at) values (@team, @id, @ref, @name, 'usd', now(), now())`,
		db.Args{"id": l, "ref": l.ShortRef(), "name": name})
	return l
}

func (w *world) ownership(listing id.ID, start, end *string) id.ID {
	p := w.id()
	w.Exec(`insert into listing_ownership_period (team_id, id, listing_id, start_at, end_at, created_at, updated_at)
		values (@team, @id, @listing, @start::text::date, @end::text::date, now(), now())`,
		db.Args{"id": p, "listing": listing, "start": start, "end": end})
	w.Exec(`insert into listing_ownership_member (team_id, period_id, position, contact_id, split) values (@team, @id, 1, @owner, 100000)`,
		db.Args{"id": p, "owner": w.owner})
	return p
}

func (w *world) closeBooks(at string) {
	w.Exec(`update team set books_closed_at = @at::text::date where team_id = @team`, db.Args{"at": at})
}

// statement saves an owner statement of the villa's period over a month and attaches its entries when asked to.
func (w *world) statement(status, start, end string, attach bool) id.ID {
	s := w.id()
	w.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
			expenses, payouts, balance_end, reserve, created_at, updated_at)
		values (@team, @id, @ref, @period, @listing, @status, 'usd', @start::text::date, @end::text::date, 0, 0, 0, 0, 0, 0, now(), now())`,
		db.Args{"id": s, "ref": s.ShortRef(), "period": w.period, "listing": w.villa, "status": status, "start": start, "end": end})
	if attach {
		w.Exec(`update ledger_entry set statement_id = @id where team_id = @team and party = 'owners' and ownership_period_id = @period
			and txn_at between @start::text::date and @end::text::date`, db.Args{"id": s, "period": w.period, "start": start, "end": end})
	}
	return s
}

// balances are the team's active entries by account code, in cents.
func (w *world) balances() map[string]int64 {
	out := map[string]int64{}
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		type row struct {
			Code string
			Sum  int64
		}
		rows, err := db.Select[row](ctx, tx, `select a.code, sum(e.cent_total)::bigint as sum from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team and e.status = 'active' group by 1 having sum(e.cent_total) <> 0`, db.Args{"team": tx.Team})
		for _, r := range rows {
			out[r.Code] = r.Sum
		}
		return err
	})
	return out
}

// fees charges the processor's fee on to the owner.
func (w *world) fees() {
	fee := w.id()
	w.Exec(`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id, debit_account_id, created_at, updated_at)
		values (@team, @id, 'Card fees', 'merchantFee', 'merchantFee', 'percentage', 100000, 'manager', 'owners', @credit, @debit, now(), now())`,
		db.Args{"id": fee, "credit": w.accounts["4120"], "debit": w.accounts["5120"]})
	w.Exec(`insert into fee_listing_period (team_id, id, fee_id, listing_id, created_at, updated_at) values (@team, @id, @fee, @listing, now(), now())`,
		db.Args{"id": w.id(), "fee": fee, "listing": w.villa})
}

// guestPays is a card payment for the stay of which the processor keeps a part.
func (w *world) guestPays(date string, cents, kept int64) object {
	return with(w.deposit(date, cents), "lines", list{
		object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay},
		object{"assignment": "deposit_merchantFee", "amount": -kept, "reservationId": w.stay},
	})
}

// staleness tells what the marks on a journal say, "" when there are none.
func (w *world) staleness(source id.ID) string {
	var marks []string
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		marks, err = db.Select[string](ctx, tx, `select distinct status from ledger_stale where team_id = @team and source_id = @id order by 1`,
			db.Args{"team": tx.Team, "id": source})
		return err
	})
	return strings.Join(marks, " ")
}

type object = map[string]any

type list = []any

func (w *world) deposit(date string, cents int64) object {
	return object{"type": "deposit", "date": date, "lines": list{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay}}}
}

func (w *world) expense(date string, cents int64) object {
	return object{
		"type": "expense", "date": date, "accountId": w.accounts["1000"],
		"lines": list{object{"accountId": w.accounts["5200"], "amount": cents, "listingId": w.villa}},
	}
}

func with(o object, pairs ...any) object {
	out := object{}
	maps.Copy(out, o)
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

func query(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
