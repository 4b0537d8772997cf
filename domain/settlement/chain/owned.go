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
	// Available is their balance by the books less the reserve; Released is that less what is kept until stays, and
	// Collected that less what guests still owe on stays counted in it.
	Available, Released, Collected money.Cents
	// FreeAt is the day from which nothing is kept.
	FreeAt *day.Day
}

// LoadOwned returns the money of the owners of chains at the end of a day, for payments that leave on a day. Payouts
// booked for a later day are taken off already, because they have been decided. The reserve is there for costs: costs
// after the last saved statement are taken from it first, so that the amount a statement makes available stays the same
// while the balance covers it. The smaller reserve counts, the last statement's or the period's now: if it was lowered,
// the difference is free.
func LoadOwned(ctx context.Context, tx *db.Tx, chains []Chain, on, leaves day.Day) (map[Chain]Owned, error) {
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

	// Collected leaves out the amounts that guests still owe, and what is kept until their stays.
	held, err := LoadHeld(ctx, tx, until, leaves)
	if err != nil {
		return nil, err
	}

	for _, r := range rows {
		out[r.Chain] = Owned{Available: r.Available}
	}

	for i, c := range chains {
		o := out[c]
		o.Released, o.FreeAt = o.Available-held[i].Unreleased, held[i].FreeAt
		o.Collected = o.Released - held[i].Owed
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

// columns returns chains as columns for a query.
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

// Held is the part of the owners' money that is not there to be paid out, on the stays that earned them something.
type Held struct {
	// Owed is the amount that guests (or the channels that pay for them) owe today: of each stay the open amount, but
	// no more than the stay brought. A guest who paid in advance does not make up for another guest's debt.
	Owed money.Cents
	// Unreleased is the amount that guests have paid and the team's fundsRelease keeps until the stay, and FreeAt is
	// the day from which everything is free.
	Unreleased money.Cents
	FreeAt     *day.Day
}

// Total returns all that is held.
func (h Held) Total() money.Cents { return h.Owed + h.Unreleased }

// keep adds what a stay keeps until a day.
func (h *Held) keep(cents money.Cents, until day.Day) {
	if cents <= 0 {
		return
	}

	h.Unreleased += cents
	if h.FreeAt == nil || until.After(*h.FreeAt) {
		h.FreeAt = &until
	}
}

// LoadHeld returns what is held of chains on a day, for each chain in its place, on the stays that earned the owners
// something up to the day of the chain.
func LoadHeld(ctx context.Context, tx *db.Tx, chains []Until, on day.Day) ([]Held, error) {
	out := make([]Held, len(chains))
	if len(chains) == 0 {
		return out, nil
	}

	periods := make([]id.ID, len(chains))
	for i := range chains {
		periods[i] = chains[i].OwnershipPeriodID
	}

	brought, err := loadOpenEarnings(ctx, tx, id.Distinct(periods), on)
	if err != nil {
		return nil, err
	}

	// Limit each debt to the earnings of the stay until the day of the chain; of the rest a part is kept until the
	// stay.
	for i := range chains {
		for _, stay := range brought[chains[i].Chain] {
			cents, deposits := stay.sumUntil(chains[i].Day)

			debt := max(0, min(cents, stay.owed))
			out[i].Owed += debt

			if stay.kept != nil {
				stay.kept.keep(&out[i], cents-debt, deposits)
			}
		}
	}

	return out, nil
}

// keptStay is a stay to come, or that goes on, of which the team's fundsRelease keeps something.
type keptStay struct {
	CheckIn, CheckOut day.Day
	// Percent is the part that may be paid out before the check-in, 100 after it; HoldsDeposits is set when deposits
	// stay until the check-out.
	Percent       int64
	HoldsDeposits bool
}

// keep adds what the stay keeps of a collected amount, with the deposits in it.
func (s *keptStay) keep(h *Held, collected, deposits money.Cents) {
	if collected <= 0 {
		return
	}

	if s.HoldsDeposits {
		deposits = max(0, min(deposits, collected))
		h.keep(deposits, s.CheckOut)
		collected -= deposits
	}

	h.keep(collected-collected*money.Cents(s.Percent)/100, s.CheckIn)
}

// securityDeposit is the type of the lines of deposits that guests get back.
const securityDeposit = "securityDeposit"

// guestsOwe is the SQL of the accounts that hold the debts of guests, or of the channels paying for guests.
const guestsOwe = `array(select a.account_id from account_assignment a
	where a.team_id = @team and a.assignment in ('accountsReceivable', 'deposit_coHostPayout'))`

// stayDebtsSQL selects the debts of guests today on the stays that have entries for the owners of ownership periods.
// Entries are looked up stay by stay, whatever the planner estimates.
const stayDebtsSQL = `
	select s.reservation_id, e.currency, sum(e.cent_total)::bigint as cents
	from (select distinct u.reservation_id from ` + ledger.UnsettledSQL + `) s
	cross join lateral (
		select e.currency, e.cent_total from ledger_entry e
		where e.team_id = @team and e.reservation_id = s.reservation_id and e.account_id = any(` + guestsOwe + `)
			and e.status = 'active' and e.ledger in ('trust', 'operating') and e.txn_at <= @today` + db.Fence + `) e
	group by 1, 2 having sum(e.cent_total) > 0`

// keptStaysSQL selects the booked stays on the listings of ownership periods of which something is kept on a day. Each
// listing is looked up by itself, and none where the team keeps nothing.
const keptStaysSQL = `
	select r.id, r.check_in, r.check_out, case when r.check_in > @on then t.funds_before_stay else 100 end::bigint as percent,
		t.funds_deposits_after_stay as holds_deposits
	from listing_ownership_period p
	join team t on t.id = @team
	cross join lateral (select l.id from listing l where l.team_id = @team and l.id = p.listing_id
		union all select l.id from listing l where l.team_id = @team and l.parent_id = p.listing_id` + db.Fence + `) l
	cross join lateral (select * from reservation r
		where r.team_id = @team and r.listing_id = l.id and r.check_out > @on and r.status = 'booked'` + db.Fence + `) r
	where p.team_id = @team and p.id = any(@periods)
		and (select k.funds_before_stay < 100 or k.funds_deposits_after_stay from team k where k.id = @team)
		and (t.funds_before_stay < 100 and r.check_in > @on or t.funds_deposits_after_stay and exists (
			select from reservation_line d where d.team_id = @team and d.reservation_id = r.id and d.type = '` + securityDeposit + `'))`

// earning is the amount that a stay brought the owners of a chain on a day.
type earning struct {
	TxnAt day.Day
	Cents money.Cents
	// Deposits is the part of it that is of security deposits, of a stay that holds them.
	Deposits money.Cents
}

// openStay is a stay that brought the owners of a chain something, and on which guests owe or the team keeps a part.
type openStay struct {
	owed     money.Cents // by guests, in the currency of the chain
	kept     *keptStay   // nil if nothing is kept
	earnings []earning
}

// sumUntil returns what the stay brought up to the end of a day, and the security deposits in it.
func (s *openStay) sumUntil(last day.Day) (cents, deposits money.Cents) {
	for _, e := range s.earnings {
		if !e.TxnAt.After(last) {
			cents, deposits = cents+e.Cents, deposits+e.Deposits
		}
	}

	return cents, deposits
}

// loadOpenEarnings loads what the stays brought the owners of ownership periods that guests owe on, or of which
// something is kept on a day.
func loadOpenEarnings(ctx context.Context, tx *db.Tx, periods []id.ID, on day.Day) (map[Chain]map[id.ID]*openStay, error) {
	type row struct {
		earning

		OwnershipPeriodID, ReservationID id.ID
		Currency                         string
		Owed                             money.Cents
		CheckIn, CheckOut                *day.Day // of a kept stay
		Percent                          int64
		HoldsDeposits                    bool
	}

	// Usually few stays are open or to come, so these are found first, and earnings are looked up only for them: by day,
	// because each chain counts those until its own day.
	rows, err := db.Select[row](ctx, tx, `
		with stay as materialized (
			select o.id, array_agg(o.currency) as currencies, array_agg(o.cents) as owed,
				max(o.check_in) as check_in, max(o.check_out) as check_out, max(o.percent) as percent, coalesce(bool_or(o.holds_deposits), false) as holds_deposits
			from (
				select d.reservation_id as id, d.currency, d.cents, null::date as check_in, null::date as check_out, null::bigint as percent, null::boolean as holds_deposits
				from (`+stayDebtsSQL+`) d
				union all
				select k.id, null::text, null::bigint, k.check_in, k.check_out, k.percent, k.holds_deposits from (`+keptStaysSQL+`) k
			) o group by 1
		)
		select e.*, s.id as reservation_id, coalesce(s.owed[array_position(s.currencies, e.currency)], 0) as owed,
			s.check_in, s.check_out, coalesce(s.percent, 100) as percent, s.holds_deposits
		from stay s
		cross join lateral (
			select e.ownership_period_id, e.currency, e.txn_at, -sum(e.cent_total)::bigint as cents,
				coalesce(-sum(e.cent_total) filter (where s.holds_deposits and e.source_id = s.id and exists (
					select from reservation_line d where d.team_id = @team and d.reservation_id = s.id and d.type = '`+securityDeposit+`'
						and e.ref = 'line:' || (d.position - 1))), 0)::bigint as deposits
			from ledger_entry e
			where `+ledger.OwnersEntry+` and e.reservation_id = s.id and e.ownership_period_id = any(@periods) group by 1, 2, 3) e`,
		db.Args{"team": tx.Team, "periods": periods, "today": tx.Today(), "on": on})
	if err != nil {
		return nil, fmt.Errorf("read what open stays brought: %w", err)
	}

	brought := map[Chain]map[id.ID]*openStay{}

	for i := range rows {
		r := &rows[i]

		c := Chain{r.OwnershipPeriodID, r.Currency}
		if brought[c] == nil {
			brought[c] = map[id.ID]*openStay{}
		}

		// The rows of a stay repeat what is owed and kept.
		stay := brought[c][r.ReservationID]
		if stay == nil {
			stay = &openStay{owed: r.Owed}
			if r.CheckIn != nil {
				stay.kept = &keptStay{CheckIn: *r.CheckIn, CheckOut: *r.CheckOut, Percent: r.Percent, HoldsDeposits: r.HoldsDeposits}
			}

			brought[c][r.ReservationID] = stay
		}

		stay.earnings = append(stay.earnings, r.earning)
	}

	return brought, nil
}
