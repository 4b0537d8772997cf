package statement

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/settlement/chain"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// history holds everything that a chain's balances are divided by and settled with: its members, the balances of
// its saved statements, and all payouts, whatever statement they name.
type history struct {
	owners   []owner
	splits   []int64 // of the owners; a single part when there are none
	balances []balance
	payouts  []distribution
}

// balance is the amount that a statement makes available at its end.
type balance struct {
	OwnershipPeriodID id.ID
	Currency          string
	ID                id.ID // zero of a draft
	StartAt, EndAt    day.Day
	Status            Status
	Imported          bool
	Available         money.Cents
	// Shares are the amounts that the statement showed its members, in their order; those of a draft follow from the
	// history.
	Shares []money.Cents

	// The amounts by member; a history without members has one part. Set by settle. due is the available balance
	// including payouts in it that did not arrive. paid is the part of it that later payouts have brought. left is
	// still to be paid. payable is left if everything that is booked counts as paid, so that nothing is paid twice.
	due, paid, left, payable []money.Cents
	// unpaid is the available balance less all payouts that were booked since.
	unpaid money.Cents
}

// distribution adds up the payouts of one day to a member, or to all of them when it names none. It is negative
// when money came back.
type distribution struct {
	OwnershipPeriodID id.ID
	Currency          string
	ContactID         id.ID
	// Date is when it was booked: from then on it is in the balances. Since is the same day, or the first one after the
	// imported statement that it pays: that came in with a balance which the live books do not change.
	Date, Since day.Day
	// Imported payouts came in with statements: they are in the balances of these statements and in no other.
	Imported bool
	Total    money.Cents
	// Missing is the amount that did not arrive.
	Missing money.Cents

	member int // the place of the contact among the members; -1 when the payout is everybody's
}

// histories holds the histories of ownership periods by chain.
type histories struct {
	owners map[id.ID][]owner
	chains map[chain.Chain]*history
}

// chain returns the history of a chain. A chain without saved statements and payouts has only members.
func (all *histories) chain(period id.ID, currency string) *history {
	c := chain.Chain{OwnershipPeriodID: period, Currency: currency}
	if all.chains[c] == nil {
		// Without members everything goes to a single part.
		h := &history{owners: all.owners[period], splits: ownerSplits(all.owners[period])}
		if len(h.owners) == 0 {
			h.splits = []int64{1}
		}

		all.chains[c] = h
	}

	return all.chains[c]
}

// loadHistories loads the histories of ownership periods and settles their balances.
func loadHistories(ctx context.Context, tx *db.Tx, periods []id.ID) (*histories, error) {
	var (
		owners   map[id.ID][]owner
		balances []balance
		payouts  []distribution
	)

	// Load members, balances and payouts in one round trip.
	err := tx.Together(ctx,
		db.LoadBy(&owners, loadOwners, periods),
		db.LoadBy(&balances, loadBalances, periods),
		db.LoadBy(&payouts, loadDistributions, periods),
	)
	if err != nil {
		return nil, err
	}

	// Sort them by chain: balances are settled per ownership period and currency.
	all := &histories{owners: owners, chains: map[chain.Chain]*history{}}
	for i := range balances {
		h := all.chain(balances[i].OwnershipPeriodID, balances[i].Currency)
		h.balances = append(h.balances, balances[i])
	}

	for i := range payouts {
		all.chain(payouts[i].OwnershipPeriodID, payouts[i].Currency).pay(&payouts[i])
	}

	// Last settle, when each history is complete.
	for _, h := range all.chains {
		h.settle()
	}

	return all, nil
}

// loadBalances loads the balances of the saved statements of ownership periods, those of each chain oldest first.
func loadBalances(ctx context.Context, tx *db.Tx, periods []id.ID) ([]balance, error) {
	balances, err := db.Select[balance](ctx, tx, `
		select ownership_period_id, currency, id, start_at, end_at, status, imported, balance_end - reserve as available, shares
		from statement where team_id = @team and ownership_period_id = any(@periods) order by ownership_period_id, currency, start_at`, db.Args{"team": tx.Team, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("read balances of statements: %w", err)
	}

	return balances, nil
}

// loadDistributions loads the payouts of ownership periods, one sum per day and member, oldest first.
func loadDistributions(ctx context.Context, tx *db.Tx, periods []id.ID) ([]distribution, error) {
	// Payouts are the owners' entries on the distribution account, of live books and of imported statements. The
	// lines come first, in an array: a plan that starts from the imported statements would read all of them for
	// every payout.
	payouts, err := db.Select[distribution](ctx, tx, `
		select ownership_period_id, currency, contact_id, date, since, imported, sum(total)::bigint as total, sum(missing)::bigint as missing from (
			select e.ownership_period_id, e.currency, e.contact_id, e.ledger = 'historical' as imported, e.cent_total as total,
				greatest(0, least(e.cent_total, coalesce(y.missing, 0))) as missing,
				coalesce(origin.end_at, e.txn_at) as date, coalesce(origin.end_at, greatest(e.txn_at, pays.open_from)) as since
			from ledger_entry e
			left join statement origin on origin.team_id = @team and origin.id = e.statement_id and e.ledger = 'historical'
			cross join lateral ( /* the lines first, in an array: a plan from the imported statements would read all of them for every payout */
				select max(s.end_at) + 1 as open_from from statement s where s.team_id = @team and s.imported and s.id = any(array(
					select n.statement_id from transaction_line n where n.team_id = @team and n.transaction_id = e.transaction_id))) pays
			left join payment_not_received y on y.team_id = @team and y.transaction_id = e.transaction_id
			where e.team_id = @team and e.party = 'owners' and e.ownership_period_id = any(@periods)
				and e.account_id = (select a.account_id from account_assignment a where a.team_id = @team and a.assignment = 'payout_distribution')
				and (e.ledger in ('trust', 'operating') and e.status = 'active' or e.ledger = 'historical' and e.trigger_type = 'historicalPayout')
		) e group by 1, 2, 3, 4, 5, 6 order by date, contact_id`, db.Args{"team": tx.Team, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("read payouts of ownership periods: %w", err)
	}

	return payouts, nil
}

// pay adds a payout. A payout that names a contact who is no member is everybody's.
func (h *history) pay(p *distribution) {
	p.member = slices.IndexFunc(h.owners, func(o owner) bool { return o.ContactID == p.ContactID })
	h.payouts = append(h.payouts, *p)
}

// ownPayouts returns the sum of the payouts that name a member, for each member by the end of a day, as negative
// amounts. Imported statements count imported payouts only, and live books live ones only.
func (h *history) ownPayouts(until day.Day, imported bool) []money.Cents {
	own := make([]money.Cents, len(h.splits))
	for i := range h.payouts {
		p := &h.payouts[i]
		if p.member >= 0 && p.Imported == imported && !p.Date.After(until) {
			own[p.member] -= p.Total
		}
	}

	return own
}

// divide returns the members' parts of a balance at the end of a day.
func (h *history) divide(cents money.Cents, at day.Day, imported bool) []money.Cents {
	return Divide(cents, h.splits, h.ownPayouts(at, imported))
}

// parts returns the parts that a statement showed its members, or those that a draft would show.
func (h *history) parts(b *balance) []money.Cents {
	if len(b.Shares) == len(h.splits) {
		return b.Shares
	}

	return h.divide(b.Available, b.EndAt, b.Imported)
}

// spread returns the members' parts of an amount that is derived from each payout. A payout that names no member is
// everybody's: it lowers each member's part of the common balance.
func (h *history) spread(b *balance, of func(*distribution) money.Cents) []money.Cents {
	parts := make([]money.Cents, len(h.splits))

	// First add up what belongs to single members, and what to all.
	var unnamed money.Cents

	for i := range h.payouts {
		switch p := &h.payouts[i]; {
		case p.member >= 0:
			parts[p.member] += of(p)
		default:
			unnamed += of(p)
		}
	}

	if unnamed == 0 {
		return parts
	}

	// A member's part of the rest is the difference that it makes to the division of the common balance. So the
	// parts agree with those that Divide gives, to the cent.
	common := b.Available - total(h.ownPayouts(b.EndAt, b.Imported))

	whole, rest := money.Split(common, h.splits), money.Split(common-unnamed, h.splits)
	for i := range parts {
		parts[i] += whole[i] - rest[i]
	}

	return parts
}

// settle computes the open part of each balance. Of a published statement only that part is open that is still open
// in every later published one. So payouts settle the oldest balance first, and a later loss lowers what was not
// paid before it. Owners have not seen the other balances yet: these are taken as they are.
func (h *history) settle() {
	var later *balance // the published statement after this one, on which never more is left than on any behind it

	// Go backward: each statement is limited by the one after it.
	for i := len(h.balances) - 1; i >= 0; i-- {
		// Every balance counts by itself first.
		b := &h.balances[i]
		h.weigh(b)

		if b.Status != Published {
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
func (h *history) weigh(b *balance) {
	shown := h.parts(b)

	// Payouts until the end of the statement are in its balance. Those that did not arrive are due again.
	missing := h.spread(b, func(p *distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return 0
		}

		return -p.Missing
	})

	// Later payouts pay the balance, as far as they arrived.
	b.paid = h.spread(b, func(p *distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return p.Total - p.Missing
		}

		return 0
	})

	// Everything that is booked counts for payable and unpaid: a payment on its way must not be made twice.
	booked := h.spread(b, func(p *distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return p.Total
		}

		return 0
	})
	b.unpaid = b.Available - total(booked)

	b.due = make([]money.Cents, len(shown))
	b.left = make([]money.Cents, len(shown))

	b.payable = make([]money.Cents, len(shown))
	for i := range shown {
		b.due[i] = shown[i] - missing[i]
		b.left[i], b.payable[i] = b.due[i]-b.paid[i], shown[i]-booked[i]
	}
}

// commonPart returns the part that is in both of two open amounts: the smaller one in their direction, 0 when the
// directions differ.
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

// balanceFor returns the balance of a row: of a saved one the balance in the history, of a draft a new one.
func (h *history) balanceFor(r *row, f *Financials) *balance {
	if !r.isDraft() {
		if i := slices.IndexFunc(h.balances, func(b balance) bool { return b.ID == r.ID }); i >= 0 {
			return &h.balances[i]
		}
	}

	// A draft is not part of the history, so its balance is weighed by itself.
	b := &balance{
		OwnershipPeriodID: r.OwnershipPeriodID,
		Currency:          r.Currency,
		ID:                r.ID,
		StartAt:           r.StartAt,
		EndAt:             r.EndAt,
		Status:            r.Status,
		Available:         f.Available,
	}
	h.weigh(b)

	return b
}

// previousBalance returns the balance that a statement continues, nil for the first one. Before a published statement
// that is the last published one. A draft continues the draft of the month before, unless a statement was saved over
// that month.
func (h *history) previousBalance(r *row) *balance {
	var last *balance

	// The balances are oldest first, so the last one that fits is the predecessor.
	for i := range h.balances {
		if b := &h.balances[i]; b.StartAt.Before(r.StartAt) && (r.Status != Published || b.Status == Published) {
			last = b
		}
	}

	if !r.isDraft() {
		return last
	}

	// The month before has no draft if a saved statement reaches into it or if the chain starts later.
	month := r.StartAt.AddDays(-1)
	if last != nil && !last.EndAt.Before(month.FirstOfMonth()) || month.Before(r.firstMonth()) {
		return last
	}

	// Compute the draft of the month before as financials would.
	f := figuresAt(r.months, month.FirstOfMonth())
	f.Reserve = r.Reserve
	b := &balance{StartAt: month.FirstOfMonth(), EndAt: month, Status: Draft, Available: f.complete().Available}
	h.weigh(b)

	return b
}

// standing is the state of a member's part of a statement's balance. Due is the part; open is due less received,
// offset and brought forward.
type standing struct {
	amount         money.Cents // of the available balance
	due, received  money.Cents
	offset         money.Cents // set off by later statements: a loss against income, or income against a debt
	broughtForward money.Cents // still open from the statements before
	open           money.Cents
}

// standings returns the standing of each of a statement's members, or a single one when there are none.
func (h *history) standings(r *row, f *Financials) []standing {
	b := h.balanceFor(r, f)

	// What is settled was paid as far as payouts explain it; the rest was set off.
	out, shown := make([]standing, len(b.due)), h.parts(b)
	for i := range out {
		s := &out[i]
		s.amount = shown[i]
		settled := b.due[i] - b.left[i]
		s.due, s.received = b.due[i], commonPart(settled, b.paid[i])
		s.offset = settled - s.received
	}

	// The part that earlier statements still owe is shown there and not here.
	if before := h.previousBalance(r); before != nil {
		for i := range out {
			out[i].broughtForward = before.left[i]
		}
	}

	for i := range out {
		out[i].open = b.left[i] - out[i].broughtForward
	}

	return out
}

// divideFigures returns the members' parts of a statement's figures, computed from their earnings and payouts, whatever
// the statement showed them. Without members it returns nil.
func (h *history) divideFigures(r *row, f *Financials) []Financials {
	if len(h.owners) == 0 {
		return nil
	}

	// Payouts in the time of the statement are those by its end less those by its start.
	before := h.ownPayouts(r.StartAt.AddDays(-1), r.Imported)

	during := h.ownPayouts(r.EndAt, r.Imported)
	for i := range during {
		during[i] -= before[i]
	}

	return divideFigures(f, h.splits, before, during)
}

// shares returns the members' shares of an available balance as the API shows them.
func shares(owners []owner, of []standing) []Share {
	out := make([]Share, len(owners))
	for i := range owners {
		o, s := &owners[i], &of[i]
		out[i] = Share{
			ContactID:      o.ContactID,
			Name:           o.Name,
			Split:          o.Split,
			Amount:         s.amount,
			Received:       s.received,
			Offset:         s.offset,
			BroughtForward: s.broughtForward,
			Open:           s.open,
		}
	}

	return out
}

// payment adds up the amounts that the members are due and have received. It is also settled if it has an offset
// but nothing open.
func payment(of []standing) Payment {
	var p Payment
	for i := range of {
		p.Expected += of[i].due
		p.Received += of[i].received
		p.Offset += of[i].offset
		p.BroughtForward += of[i].broughtForward
		p.Open += of[i].open
	}

	p.Status = paymentStatus(p.Expected, p.Received, p.Open+p.BroughtForward)

	return p
}

// paymentStatus compares in the direction in which money is due: a negative expectation is due from the owners.
func paymentStatus(expected, received, left money.Cents) PaymentStatus {
	if expected < 0 {
		received, left = -received, -left
	}

	switch {
	case left == 0:
		return Paid
	case left < 0:
		return Overpaid
	case received == 0:
		return Unpaid
	default:
		return Underpaid
	}
}
