package chain

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Divide returns the part of a balance that belongs to each member of an ownership: the common earnings by split, less
// the payouts to the member. Own has the amounts belonging to single members alone, by their place: the opening
// balances by name, and the payouts as negative amounts. The rest of the balance is everybody's and goes by split.
// Every part is floored, and the remaining cents go to the largest remainders, the earlier member first.
//
// The parts add up to the balance, and each is less than a cent off the exact part. The balance contains all months, so
// the result of a month for a member is the difference of two balances: the odd cent moves from member to member, and
// no member is ahead by a cent however many months there are.
//
// Splits are parts per 100000 and must not be all 0. Without members there are no parts.
func Divide(balance money.Cents, splits []int64, own []money.Cents) []money.Cents {
	if len(splits) == 0 {
		return []money.Cents{}
	}

	// Take out the amounts of single members, divide the rest, and add them again.
	common := balance - Total(own)

	parts := money.Split(common, splits)
	for i := range parts {
		parts[i] += own[i]
	}

	return parts
}

// Total returns the sum of amounts.
func Total(cents []money.Cents) (sum money.Cents) {
	for _, c := range cents {
		sum += c
	}

	return sum
}

// Owner is a member of an ownership period with a name.
type Owner struct {
	PeriodID  id.ID
	ContactID id.ID
	Name      string
	// Split is in parts per 100000.
	Split int64
}

// loadOwners loads the members of ownership periods in their order.
func loadOwners(ctx context.Context, tx *db.Tx, periods []id.ID) (map[id.ID][]Owner, error) {
	members, err := db.Select[Owner](ctx, tx, `
		select m.period_id, m.contact_id, c.name, m.split::bigint as split
		from listing_ownership_member m join contact c on c.team_id = m.team_id and c.id = m.contact_id
		where m.team_id = @team and m.period_id = any(@periods) order by m.period_id, m.position`,
		db.Args{"team": tx.Team, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}

	out := map[id.ID][]Owner{}
	for i := range members {
		out[members[i].PeriodID] = append(out[members[i].PeriodID], members[i])
	}

	return out, nil
}

// CurrentShares returns the balance of each member of ownership periods by the books, in the order of the members,
// by the end of the current month. They are the parts of the balance at the end of this month's statements.
func CurrentShares(ctx context.Context, tx *db.Tx, periods []id.ID, currency string) (map[id.ID][]money.Cents, error) {
	var (
		held    map[id.ID]money.Cents
		owners  map[id.ID][]Owner
		payouts []Distribution
	)

	// The balances of saved statements are not needed: what was booked is divided, whatever statements showed.
	err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			held, err = loadCurrentBalances(ctx, tx, periods, currency)
			return err
		},
		db.LoadBy(&owners, loadOwners, periods),
		db.LoadBy(&payouts, loadDistributions, periods),
	)
	if err != nil {
		return nil, err
	}

	// Divide it as a statement at the end of the month would.
	all := newHistories(owners, nil, payouts)

	out := make(map[id.ID][]money.Cents, len(periods))
	for _, period := range periods {
		out[period] = all.Chain(Chain{period, currency}).divide(held[period], tx.Today().LastOfMonth(), false)
	}

	return out, nil
}

// loadCurrentBalances loads the balances of ownership periods by the books, by the end of the current month.
func loadCurrentBalances(
	ctx context.Context,
	tx *db.Tx,
	periods []id.ID,
	currency string,
) (map[id.ID]money.Cents, error) {
	type sum struct {
		Period id.ID
		Total  money.Cents
	}

	// The end balance of the last statement saved from the books contains everything before it. The months after it
	// come from the sums of ledger_owner: entries of later months do not count.
	rows, err := db.Select[sum](ctx, tx, `
		with chain as materialized (
			select k.id as ownership_period_id, @currency::text as currency, coalesce(b.balance_end, 0) as balance, coalesce(b.end_at + 1, '-infinity') as since
			from unnest(@periods::uuid[]) k (id)
			left join lateral (select v.end_at, v.balance_end from statement v
				where v.team_id = @team and v.ownership_period_id = k.id and v.currency = @currency and v.start_at <= @last and not v.imported
				order by v.start_at desc limit 1) b on true
		), noted as materialized (`+ledger.NotedOwnerSumsSQL("chain", "c.since", "@last")+`)
		select c.ownership_period_id as period, (c.balance - coalesce(l.cents, 0))::bigint as total
		from chain c cross join lateral (select sum(e.cents) as cents from `+ledger.OwnerSumsSQL("c.since", "@last")+` e) l`,
		db.Args{"team": tx.Team, "periods": id.Distinct(periods), "currency": currency, "last": tx.Today()})
	if err != nil {
		return nil, fmt.Errorf("read current balances: %w", err)
	}

	held := make(map[id.ID]money.Cents, len(rows))
	for _, r := range rows {
		held[r.Period] = r.Total
	}

	return held, nil
}
