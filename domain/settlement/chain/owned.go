package chain

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Owned is the money of the owners of a chain on a day.
type Owned struct {
	// Available is their balance by the books, less the reserve; Collected is that less what guests still owe on stays
	// counted in it.
	Available, Collected money.Cents
}

// LoadOwned returns the money of the owners of chains at the end of a day. Payouts that are booked for a later day
// are taken off already, because they have been decided. The reserve is there for costs: costs after the last saved
// statement are taken from it first, so that the amount that a statement makes available stays the same while the
// balance covers it. The smaller reserve counts, that of the last statement or that of the period now: if it was
// lowered, the difference is free.
func LoadOwned(ctx context.Context, tx *db.Tx, chains []Chain, on day.Day) (map[Chain]Owned, error) {
	out := make(map[Chain]Owned, len(chains))
	if len(chains) == 0 {
		return out, nil
	}

	periods, currencies := columns(chains)

	until := make([]Until, len(chains))
	for i, c := range chains {
		until[i] = Until{c, on}
	}

	type row struct {
		Chain

		Available money.Cents
	}

	// The end balance of the last saved statement contains everything before it, so only later entries are added up.
	rows, err := db.Select[row](ctx, tx, `
		select k.period as ownership_period_id, k.currency, (b.balance - case when s.end_at is null then `+ReserveSQL("k.currency", "@on::date")+`
			else greatest(0, least(s.reserve, `+ReserveSQL("k.currency", "@on::date")+`) - greatest(0, -b.earned)) end)::bigint as available
		from unnest(@periods::uuid[], @currencies::text[]) k (period, currency)
		join listing_ownership_period p on p.team_id = @team and p.id = k.period
		join listing l on l.team_id = @team and l.id = p.listing_id
		left join lateral (
			select balance_end, reserve, end_at from statement
			where team_id = @team and ownership_period_id = k.period and currency = k.currency and end_at <= @on order by end_at desc limit 1) s on true
		cross join lateral (
			select coalesce(s.balance_end, 0) - coalesce(sum(x.cents) filter (where x.at <= @on), 0)
					- greatest(0, coalesce(sum(x.cents) filter (where x.at > @on and x.payout), 0)) as balance,
				coalesce(-sum(x.cents) filter (where x.at <= @on and not x.payout), 0) as earned
			from (
				select e.cent_total as cents, e.txn_at as at, e.account_id is not distinct from a.payout as payout
				from ledger_entry e cross join `+payoutAccount+`
				where `+ledger.OwnersEntry+` and e.ownership_period_id = k.period and e.currency = k.currency and e.txn_at >= coalesce(s.end_at + 1, '-infinity')) x) b`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "on": on})
	if err != nil {
		return nil, fmt.Errorf("read what owners have: %w", err)
	}

	// Collected leaves out the amounts that guests still owe.
	owed, err := LoadUncollected(ctx, tx, until)
	if err != nil {
		return nil, err
	}

	for _, r := range rows {
		out[r.Chain] = Owned{Available: r.Available, Collected: r.Available}
	}

	for i, c := range chains {
		o := out[c]
		o.Collected = o.Available - owed[i]
		out[c] = o
	}

	return out, nil
}

const payoutAccount = `(select
	(select account_id from account_assignment where team_id = @team and assignment = 'payout_distribution') as payout) a`

// LoadBalances returns the balances of the owners of chains by the books at the end of a day, the reserve included.
func LoadBalances(ctx context.Context, tx *db.Tx, chains []Chain, on day.Day) (map[Chain]money.Cents, error) {
	periods, currencies := columns(chains)

	type row struct {
		Chain

		Total money.Cents
	}

	// The end balance of the last saved statement contains everything before it, so only later entries are added up.
	rows, err := db.Select[row](ctx, tx, `
		select k.period as ownership_period_id, k.currency, coalesce(s.balance_end, 0) - coalesce((
			select sum(e.cent_total) from ledger_entry e
			where `+ledger.OwnersEntry+` and e.ownership_period_id = k.period and e.currency = k.currency
				and e.txn_at between coalesce(s.end_at + 1, '-infinity') and @on), 0)::bigint as total
		from unnest(@periods::uuid[], @currencies::text[]) k (period, currency)
		left join lateral (
			select balance_end, end_at from statement
			where team_id = @team and ownership_period_id = k.period and currency = k.currency and end_at <= @on order by end_at desc limit 1) s on true`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "on": on})
	if err != nil {
		return nil, fmt.Errorf("read the owners' balances: %w", err)
	}

	out := make(map[Chain]money.Cents, len(rows))
	for _, r := range rows {
		out[r.Chain] = r.Total
	}

	return out, nil
}

// columns returns chains as the columns that a query takes.
func columns(chains []Chain) (periods []id.ID, currencies []string) {
	for _, c := range chains {
		periods, currencies = append(periods, c.OwnershipPeriodID), append(currencies, c.Currency)
	}

	return periods, currencies
}

// Until is a chain up to the end of a day.
type Until struct {
	Chain

	Day day.Day
}

// LoadUncollected returns, for each chain in its place, how much guests (or the channels that pay for them) still owe
// today on the stays that earned the owners something up to a day. For each stay this is the open amount, but no more
// than the stay brought. A guest who paid in advance does not make up for another guest's debt.
func LoadUncollected(ctx context.Context, tx *db.Tx, chains []Until) ([]money.Cents, error) {
	out := make([]money.Cents, len(chains))
	if len(chains) == 0 {
		return out, nil
	}

	periods := make([]id.ID, len(chains))
	for i := range chains {
		periods[i] = chains[i].OwnershipPeriodID
	}

	periods = id.Distinct(periods)

	// Usually few stays are open, so the debts are loaded first and earnings only for these stays.
	owed, err := loadStayDebts(ctx, tx, periods)
	if err != nil || len(owed) == 0 {
		return out, err
	}

	brought, err := loadStayEarnings(ctx, tx, periods, owed)
	if err != nil {
		return nil, err
	}

	// Limit each debt to the earnings of the stay until the day of the chain.
	for i := range chains {
		for of, earnings := range brought[chains[i].Chain] {
			var cents money.Cents

			for _, e := range earnings {
				if !e.TxnAt.After(chains[i].Day) {
					cents += e.Cents
				}
			}

			out[i] += max(0, min(cents, owed[of]))
		}
	}

	return out, nil
}

// debt names what guests owe on a stay in one currency.
type debt struct {
	ReservationID id.ID
	Currency      string
}

// guestsOwe is the SQL of the accounts that hold the debts of guests, or of the channels that pay for them. An
// account without any entry is left out: every stay would be looked up on it.
const guestsOwe = `array(select a.account_id from account_assignment a where a.team_id = @team and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')
	and (select true from ledger_entry e where e.team_id = @team and e.account_id = a.account_id limit 1))`

// loadStayDebts loads the debts of guests today on the stays that have entries for the owners of ownership periods.
func loadStayDebts(ctx context.Context, tx *db.Tx, periods []id.ID) (map[debt]money.Cents, error) {
	type row struct {
		debt

		Cents money.Cents
	}

	// Stays and accounts are arrays, so that entries are looked up stay by stay whatever the planner estimates.
	rows, err := db.Select[row](ctx, tx, `
		with stay as materialized (
			select distinct e.reservation_id as id from ledger_entry e
			where `+ledger.OwnersEntry+` and e.ownership_period_id = any(@periods) and e.reservation_id is not null)
		select e.reservation_id, e.currency, sum(e.cent_total)::bigint as cents from ledger_entry e
		where e.team_id = @team and e.reservation_id = any(array(select id from stay)) and e.account_id = any(`+guestsOwe+`)
			and e.status = 'active' and e.ledger in ('trust', 'operating') and e.txn_at <= @today
		group by 1, 2 having sum(e.cent_total) > 0`, db.Args{"team": tx.Team, "periods": periods, "today": day.Of(tx.Now)})
	if err != nil {
		return nil, fmt.Errorf("read what guests owe: %w", err)
	}

	owed := make(map[debt]money.Cents, len(rows))
	for _, r := range rows {
		owed[r.debt] = r.Cents
	}

	return owed, nil
}

// earning is the amount that a stay brought the owners of a chain on a day.
type earning struct {
	TxnAt day.Day
	Cents money.Cents
}

// loadStayEarnings loads the earnings of ownership periods from the stays on which guests owe something.
func loadStayEarnings(
	ctx context.Context,
	tx *db.Tx,
	periods []id.ID,
	owed map[debt]money.Cents,
) (map[Chain]map[debt][]earning, error) {
	type row struct {
		earning

		OwnershipPeriodID, ReservationID id.ID
		Currency                         string
	}

	stays := make([]id.ID, 0, len(owed))
	for of := range owed {
		stays = append(stays, of.ReservationID)
	}

	// By day, because each chain counts the earnings until its own day.
	rows, err := db.Select[row](ctx, tx, `
		select e.ownership_period_id, e.currency, e.reservation_id, e.txn_at, -sum(e.cent_total)::bigint as cents from ledger_entry e
		where `+ledger.OwnersEntry+` and e.ownership_period_id = any(@periods) and e.reservation_id = any(@stays) group by 1, 2, 3, 4`,
		db.Args{"team": tx.Team, "periods": periods, "stays": stays})
	if err != nil {
		return nil, fmt.Errorf("read what stays brought: %w", err)
	}

	brought := map[Chain]map[debt][]earning{}

	for _, r := range rows {
		c, of := Chain{r.OwnershipPeriodID, r.Currency}, debt{r.ReservationID, r.Currency}
		if brought[c] == nil {
			brought[c] = map[debt][]earning{}
		}

		brought[c][of] = append(brought[c][of], r.earning)
	}

	return brought, nil
}
