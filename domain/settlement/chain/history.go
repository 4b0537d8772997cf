package chain

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// History holds everything needed to divide and settle a chain's balances: its members, the balances of its saved
// statements, and all payouts, whatever statement they name.
type History struct {
	Owners []Owner // the members in their order

	splits   []int64 // of the owners; a single part when there are none
	balances []Balance
	payouts  []Distribution
}

// Balance is the amount that a statement makes available at its end.
type Balance struct {
	OwnershipPeriodID id.ID
	Currency          string
	ID                id.ID // zero of a draft
	StartAt, EndAt    day.Day
	Published         bool
	Imported          bool
	// Available is the balance at the end less the reserve; Reserve is the part held back.
	Available, Reserve money.Cents
	// Shares are the amounts the statement showed its members, in their order; those of a draft follow from the
	// history.
	Shares []money.Cents

	// The amounts by member; a history without members has one part. Set by settle. due is the payable balance
	// including payouts in it that did not arrive. paid is the part of it that later payouts have brought. left is
	// still to be paid. payable is left if everything booked counts as paid, so that nothing is paid twice.
	due, paid, left, payable []money.Cents
	// unpaid is the payable balance less all payouts booked since.
	unpaid money.Cents
}

// totalPayable returns the amount that the balance owes the owners; a negative amount is owed by them. A reserve only
// holds money back and is never a debt: a balance smaller than its reserve pays nothing.
func (b *Balance) totalPayable() money.Cents {
	if b.Available >= 0 {
		return b.Available
	}

	return min(0, b.Available+b.Reserve)
}

// Remaining returns the part of each member that is still to be paid, in their order. Without members it has one part.
func (b *Balance) Remaining() []money.Cents { return slices.Clone(b.left) }

// Distribution adds up a day's payouts to a member, or to all members when it names none. It is negative when money
// came back.
type Distribution struct {
	OwnershipPeriodID id.ID
	Currency          string
	ContactID         id.ID
	// Date is when it was booked: from then on it is in the balances. Since is the same day, or the first one after the
	// imported statement that it pays: that came in with a balance which the live books do not change.
	Date, Since day.Day
	// Imported payouts came in with statements: they are in the balances of these statements and in no other.
	Imported bool
	// Opening marks an opening balance that names a member: the member's own as a payout is, and nothing is paid by it.
	Opening bool
	Total   money.Cents
	// Missing is the amount that did not arrive.
	Missing money.Cents

	member int // the place of the contact among the members; -1 when the payout is everybody's
}

// NewHistory returns the history of a chain from its members, the balances of its saved statements, oldest first, and
// its payouts.
func NewHistory(owners []Owner, balances []Balance, payouts []Distribution) *History {
	h := &History{Owners: owners, balances: slices.Clone(balances)}

	// Without members everything goes to a single part.
	h.splits = h.Splits()
	if len(owners) == 0 {
		h.splits = []int64{1}
	}

	for i := range payouts {
		h.pay(payouts[i])
	}

	// Last settle, when the history is complete.
	h.settle()

	return h
}

// Splits returns the splits of the members in their order.
func (h *History) Splits() []int64 {
	splits := make([]int64, len(h.Owners))
	for i := range h.Owners {
		splits[i] = h.Owners[i].Split
	}

	return splits
}

// Histories holds the histories of ownership periods by chain.
type Histories struct {
	owners map[id.ID][]Owner
	chains map[Chain]*History
}

// newHistories returns the histories of chains from the balances and payouts of all these chains, oldest first.
func newHistories(owners map[id.ID][]Owner, balances []Balance, payouts []Distribution) *Histories {
	// Sort by chain: balances are settled per ownership period and currency.
	saved, paid := map[Chain][]Balance{}, map[Chain][]Distribution{}

	for i := range balances {
		c := Chain{balances[i].OwnershipPeriodID, balances[i].Currency}
		saved[c] = append(saved[c], balances[i])
	}

	for i := range payouts {
		c := Chain{payouts[i].OwnershipPeriodID, payouts[i].Currency}
		paid[c] = append(paid[c], payouts[i])
	}

	// Chains with saved statements, payouts or both get their history here, other chains when asked for.
	all := &Histories{owners: owners, chains: map[Chain]*History{}}
	for c := range saved {
		all.chains[c] = NewHistory(owners[c.OwnershipPeriodID], saved[c], paid[c])
	}

	for c := range paid {
		if all.chains[c] == nil {
			all.chains[c] = NewHistory(owners[c.OwnershipPeriodID], nil, paid[c])
		}
	}

	return all
}

// Chain returns the history of a chain. A chain without saved statements and payouts has only members.
func (all *Histories) Chain(c Chain) *History {
	if all.chains[c] == nil {
		all.chains[c] = NewHistory(all.owners[c.OwnershipPeriodID], nil, nil)
	}

	return all.chains[c]
}

// LoadHistories loads the histories of ownership periods and settles their balances.
func LoadHistories(ctx context.Context, tx *db.Tx, periods []id.ID) (*Histories, error) {
	return loadHistories(ctx, tx, periods, func(ctx context.Context, tx *db.Tx) ([]Balance, error) {
		return loadBalances(ctx, tx, periods)
	})
}

// Since is a chain from a day on.
type Since struct {
	Chain

	Day day.Day
}

// LoadHistoriesSince loads the histories of chains as far as statements need them that begin on the day of their chain
// or later. Of the balances before that day there are the last published one, or the last one if none is published, and
// those after it.
func LoadHistoriesSince(ctx context.Context, tx *db.Tx, chains []Since) (*Histories, error) {
	periods := make([]id.ID, len(chains))
	for i := range chains {
		periods[i] = chains[i].OwnershipPeriodID
	}

	return loadHistories(ctx, tx, id.Distinct(periods), func(ctx context.Context, tx *db.Tx) ([]Balance, error) {
		return loadBalancesSince(ctx, tx, chains)
	})
}

// loadHistories loads histories with their members, balances and payouts in one round trip.
func loadHistories(
	ctx context.Context,
	tx *db.Tx,
	periods []id.ID,
	load func(context.Context, *db.Tx) ([]Balance, error),
) (*Histories, error) {
	var (
		owners   map[id.ID][]Owner
		balances []Balance
		payouts  []Distribution
	)

	err := tx.Together(ctx,
		db.LoadBy(&owners, loadOwners, periods),
		db.Load(&balances, load),
		db.LoadBy(&payouts, loadDistributions, periods),
	)
	if err != nil {
		return nil, err
	}

	return newHistories(owners, balances, payouts), nil
}

// balanceColumns are the columns of the balance of a saved statement s.
const balanceColumns = `s.ownership_period_id, s.currency, s.id, s.start_at, s.end_at, s.status = 'published' as published, s.imported,
	s.balance_end - s.reserve as available, s.reserve, s.shares`

// loadBalances loads the balances of the ownership periods' saved statements, oldest first in each chain.
func loadBalances(ctx context.Context, tx *db.Tx, periods []id.ID) ([]Balance, error) {
	balances, err := db.Select[Balance](ctx, tx, `
		select `+balanceColumns+` from statement s
		where s.team_id = @team and s.ownership_period_id = any(@periods) order by s.ownership_period_id, s.currency, s.start_at`,
		db.Args{"team": tx.Team, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("read balances of statements: %w", err)
	}

	return balances, nil
}

// loadBalancesSince loads the balances of chains as LoadHistoriesSince has them, oldest first in each chain.
func loadBalancesSince(ctx context.Context, tx *db.Tx, chains []Since) ([]Balance, error) {
	var (
		periods    = make([]id.ID, len(chains))
		currencies = make([]string, len(chains))
		days       = make([]day.Day, len(chains))
	)

	for i, c := range chains {
		periods[i], currencies[i], days[i] = c.OwnershipPeriodID, c.Currency, c.Day
	}

	// The statements before the day are looked up from its end, one chain at a time.
	balances, err := db.Select[Balance](ctx, tx, `
		select s.* from unnest(@periods::uuid[], @currencies::text[], @days::date[]) k (period, currency, day)
		cross join lateral (
			select `+balanceColumns+` from statement s
			where s.team_id = @team and s.ownership_period_id = k.period and s.currency = k.currency and s.start_at >= coalesce(
				(select b.start_at from statement b where b.team_id = @team and b.ownership_period_id = k.period and b.currency = k.currency
					and b.start_at < k.day and b.status = 'published' order by b.start_at desc limit 1),
				(select b.start_at from statement b where b.team_id = @team and b.ownership_period_id = k.period and b.currency = k.currency
					and b.start_at < k.day order by b.start_at desc limit 1),
				k.day)
			order by s.start_at`+db.Fence+`
		) s`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "days": days})
	if err != nil {
		return nil, fmt.Errorf("read the last balances of statements: %w", err)
	}

	return balances, nil
}

// ownAccounts are the accounts with what belongs to a member alone, looked up once.
const ownAccounts = `(select
	(select account_id from account_assignment where team_id = @team and assignment = 'openingBalance') as opening,
	(select account_id from account_assignment where team_id = @team and assignment = 'payout_distribution') as payout` + db.Fence + `) a`

// entriesOnSQL returns the SQL of the owners' entries of an ownership period on an account. The planner takes every
// index that begins with the period for as good; only that of the account has a range of accounts in order.
func entriesOnSQL(period, account string) string {
	return `select * from ledger_entry e where e.team_id = @team and e.party = 'owners' and e.ownership_period_id = ` + period + `
		and e.account_id between ` + account + ` and ` + account + ` order by e.account_id, e.txn_at` + db.Fence
}

// loadDistributions loads the payouts and the named opening balances of ownership periods, one sum per day and member,
// oldest first.
func loadDistributions(ctx context.Context, tx *db.Tx, periods []id.ID) ([]Distribution, error) {
	// Payouts are the owners' entries on the distribution account, of live books and of imported statements. The
	// lines come first, in an array: a plan that starts from the imported statements would read all of them for
	// every payout. Opening balances that name a contact are on the account of their own. Each period is looked up by itself.
	payouts, err := db.Select[Distribution](ctx, tx, `
		select ownership_period_id, currency, contact_id, date, since, imported, opening, sum(total)::bigint as total, sum(missing)::bigint as missing from (
			select e.ownership_period_id, e.currency, e.contact_id, e.ledger = 'historical' as imported, false as opening, e.cent_total as total,
				greatest(0, least(e.cent_total, coalesce(y.missing, 0))) as missing,
				coalesce(origin.end_at, e.txn_at) as date, coalesce(origin.end_at, greatest(e.txn_at, pays.open_from)) as since
			from `+ownAccounts+` cross join unnest(@periods::uuid[]) k (id)
			cross join lateral (`+entriesOnSQL("k.id", "a.payout")+`) e
			left join statement origin on origin.team_id = @team and origin.id = e.statement_id and e.ledger = 'historical'
			cross join lateral ( /* the lines first, in an array: a plan from the imported statements would read all of them for every payout */
				select max(s.end_at) + 1 as open_from from statement s where s.team_id = @team and s.imported and s.id = any(array(
					select n.statement_id from transaction_line n where n.team_id = @team and n.transaction_id = e.transaction_id))) pays
			left join payment_not_received y on y.team_id = @team and y.transaction_id = e.transaction_id
			where (e.ledger in ('trust', 'operating') and e.status = 'active' or e.ledger = 'historical' and e.trigger_type = 'historicalPayout')
			union all
			select e.ownership_period_id, e.currency, e.contact_id, false, true, e.cent_total, 0, e.txn_at, e.txn_at
			from `+ownAccounts+` cross join unnest(@periods::uuid[]) k (id)
			cross join lateral (`+entriesOnSQL("k.id", "a.opening")+`) e
			where e.contact_id is not null and e.trigger_type = 'openingBalance' and e.ledger in ('trust', 'operating') and e.status = 'active'
		) e group by 1, 2, 3, 4, 5, 6, 7 order by date, contact_id`, db.Args{"team": tx.Team, "periods": id.Distinct(periods)})
	if err != nil {
		return nil, fmt.Errorf("read payouts of ownership periods: %w", err)
	}

	return payouts, nil
}

// pay adds a payout. A payout that names a contact who is no member is everybody's.
func (h *History) pay(p Distribution) {
	p.member = slices.IndexFunc(h.Owners, func(o Owner) bool { return o.ContactID == p.ContactID })
	h.payouts = append(h.payouts, p)
}

// MemberPayouts returns the sum of the payouts that name a member, for each member by the end of a day, as negative
// amounts. Imported statements count imported payouts only, and live books live ones only.
func (h *History) MemberPayouts(until day.Day, imported bool) []money.Cents {
	return h.sumOwn(until, imported, false)
}

// MemberOpenings returns for each member the sum of the opening balances that name the member, by the end of a day.
// Imported statements have none.
func (h *History) MemberOpenings(until day.Day) []money.Cents { return h.sumOwn(until, false, true) }

// sumOwn returns the sum of the payouts or opening balances that name a member, as they change the member's balance.
func (h *History) sumOwn(until day.Day, imported, opening bool) []money.Cents {
	own := make([]money.Cents, len(h.splits))
	for i := range h.payouts {
		p := &h.payouts[i]
		if p.member >= 0 && p.Imported == imported && p.Opening == opening && !p.Date.After(until) {
			own[p.member] -= p.Total
		}
	}

	return own
}

// MemberBalances returns what belongs to each member alone by the end of a day: opening balances and payouts by name.
func (h *History) MemberBalances(until day.Day, imported bool) []money.Cents {
	own := h.MemberPayouts(until, imported)
	if imported {
		return own
	}

	for i, cents := range h.MemberOpenings(until) {
		own[i] += cents
	}

	return own
}

// divide returns the members' parts of a balance at the end of a day.
func (h *History) divide(cents money.Cents, at day.Day, imported bool) []money.Cents {
	return Divide(cents, h.splits, h.MemberBalances(at, imported))
}

// Shares returns the members' shares of a balance at the end of a day, as a statement saved then keeps them. Without
// members there are none.
func (h *History) Shares(cents money.Cents, at day.Day, imported bool) []money.Cents {
	return h.divide(cents, at, imported)[:len(h.Owners)]
}

// parts returns the parts a statement showed its members, or a draft would show.
func (h *History) parts(b *Balance) []money.Cents {
	if len(b.Shares) == len(h.splits) {
		return b.Shares
	}

	return h.divide(b.Available, b.EndAt, b.Imported)
}

// payableParts returns the members' parts of the amount owed by a balance: the parts its statement showed, unless the
// reserve is greater than the balance.
func (h *History) payableParts(b *Balance) []money.Cents {
	payable := b.totalPayable()
	if payable == b.Available {
		return h.parts(b)
	}

	return h.divide(payable, b.EndAt, b.Imported)
}

// spread returns the members' parts of an amount that is derived from each payout. A payout that names no member is
// everybody's: it lowers each member's part of the common balance.
func (h *History) spread(b *Balance, of func(*Distribution) money.Cents) []money.Cents {
	parts := make([]money.Cents, len(h.splits))

	// First add up what belongs to single members, and what to all.
	var unnamed money.Cents

	for i := range h.payouts {
		switch p := &h.payouts[i]; {
		case p.Opening: // pays nothing
		case p.member >= 0:
			parts[p.member] += of(p)
		default:
			unnamed += of(p)
		}
	}

	if unnamed == 0 {
		return parts
	}

	// A member's part of the rest is the difference it makes to the division of the common balance. So the parts agree
	// with the result of Divide, to the cent.
	common := b.totalPayable() - Total(h.MemberBalances(b.EndAt, b.Imported))

	whole, rest := money.Split(common, h.splits), money.Split(common-unnamed, h.splits)
	for i := range parts {
		parts[i] += whole[i] - rest[i]
	}

	return parts
}

// settle computes the open part of each balance. A part of a published statement is open only if it is still open in
// every later published statement. So payouts settle the oldest balance first, and a later loss lowers what was not
// paid before it. Owners have not seen the other balances yet: these are taken as they are.
func (h *History) settle() {
	var later *Balance // the published statement after this one, on which never more is left than on any behind it

	// Go backward: each statement is limited by the one after it.
	for i := len(h.balances) - 1; i >= 0; i-- {
		// Every balance counts by itself first.
		b := &h.balances[i]
		h.weigh(b)

		if !b.Published {
			continue
		}

		if later != nil {
			for n := range b.left {
				// An amount that was overpaid is in the balance of the later statement and is shown there.
				b.left[n] = commonPart(commonPart(b.left[n], later.left[n]), b.due[n])
				b.payable[n] = commonPart(commonPart(b.payable[n], later.payable[n]), b.due[n])
			}
		}

		later = b
	}
}

// weigh sets the amounts of a balance without regard to other balances.
func (h *History) weigh(b *Balance) {
	parts := h.payableParts(b)

	// Payouts until the end of the statement are in its balance. Payouts that did not arrive are due again.
	missing := h.spread(b, func(p *Distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return 0
		}

		return -p.Missing
	})

	// Later payouts pay the balance, as far as they arrived.
	b.paid = h.spread(b, func(p *Distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return p.Total - p.Missing
		}

		return 0
	})

	// Everything booked counts for payable and unpaid: a payment on its way must not be made twice.
	booked := h.spread(b, func(p *Distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return p.Total
		}

		return 0
	})
	b.unpaid = b.totalPayable() - Total(booked)

	b.due = make([]money.Cents, len(parts))
	b.left = make([]money.Cents, len(parts))

	b.payable = make([]money.Cents, len(parts))
	for i := range parts {
		b.due[i] = parts[i] - missing[i]
		b.left[i], b.payable[i] = b.due[i]-b.paid[i], parts[i]-booked[i]
	}
}

// commonPart returns the part common to two open amounts: the smaller one in their direction, 0 when the directions
// differ.
func commonPart(a, b money.Cents) money.Cents {
	switch {
	case a > 0 && b > 0:
		return min(a, b)
	case a < 0 && b < 0:
		return max(a, b)
	default:
		return 0
	}
}

// Balance returns the balance of a saved statement, nil if the chain has none with this id.
func (h *History) Balance(statement id.ID) *Balance {
	i := slices.IndexFunc(h.balances, func(b Balance) bool { return b.ID == statement })
	if i < 0 {
		return nil
	}

	return &h.balances[i]
}

// Last returns the balance of the last saved statement that begins before a day, or the last published balance. It is
// nil when there is none.
func (h *History) Last(before day.Day, published bool) *Balance {
	// The balances are oldest first.
	for i := len(h.balances) - 1; i >= 0; i-- {
		if b := &h.balances[i]; b.StartAt.Before(before) && (!published || b.Published) {
			return b
		}
	}

	return nil
}

// WeighDraft returns the balance of a draft with the amounts it would have. A draft is not part of the history, so it
// is weighed by itself.
func (h *History) WeighDraft(draft Balance) *Balance {
	h.weigh(&draft)

	return &draft
}

// Standing is the state of a member's part of a statement's balance.
type Standing struct {
	Amount money.Cents // of the available balance
	// Due is the part of the payable balance with payouts in it that did not arrive; Open is due less received,
	// offset and brought forward.
	Due, Received  money.Cents
	Offset         money.Cents // set off by later statements: a loss against income, or income against a debt
	BroughtForward money.Cents // still open from the statements before
	Open           money.Cents
}

// Standings returns each member's standing in the balance of a statement, a single standing when there are no members.
// Before is the previous balance of the chain, nil for the first statement.
func (h *History) Standings(b, before *Balance) []Standing {
	// What is settled was paid as far as payouts explain it; the rest was set off.
	out, shown := make([]Standing, len(b.due)), h.parts(b)
	for i := range out {
		s := &out[i]
		s.Amount = shown[i]
		settled := b.due[i] - b.left[i]
		s.Due, s.Received = b.due[i], commonPart(settled, b.paid[i])
		s.Offset = settled - s.Received
	}

	// The part that earlier statements still owe is shown there and not here.
	if before != nil {
		for i := range out {
			out[i].BroughtForward = before.left[i]
		}
	}

	for i := range out {
		out[i].Open = b.left[i] - out[i].BroughtForward
	}

	return out
}
