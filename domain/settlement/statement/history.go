package statement

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// history is what a chain's balances are divided by, and what of them is open: its members, what its saved statements
// made available, and all payouts, whatever statement they name.
type history struct {
	owners   []owner
	splits   []int64 // of the owners; a single part when there are none
	balances []balance
	payouts  []distribution
}

// balance is what a statement makes available at its end.
type balance struct {
	OwnershipPeriodID id.ID
	Currency          string
	ID                id.ID // zero of a draft
	StartAt, EndAt    day.Day
	Status            Status
	Imported          bool
	Available         money.Cents
	// Shares are what it told the members, in their order; those of a draft follow from the history.
	Shares []money.Cents

	// due is the available balance by member with the payouts in it that did not arrive, paid what payouts after its
	// end have brought of it, left what is still to be paid. Payable is what is left when all that is booked counts as
	// paid, so that nothing is paid twice. Of a history without members they have one part. Set by settle.
	due, paid, left, payable []money.Cents
	// unpaid is the available balance less all that was booked since.
	unpaid money.Cents
}

// distribution is what payouts of one day brought a member, or all of them when it names none. It is negative when
// money came back.
type distribution struct {
	OwnershipPeriodID id.ID
	Currency          string
	ContactID         id.ID
	// Date is when it was booked: from then on it is in the balances. Since is the same day, or the first one after the
	// imported statement that it pays: that came in with a balance which the live books do not change.
	Date, Since day.Day
	// Imported came in with statements: it is in their balances, and in no other.
	Imported bool
	Total    money.Cents
	// Missing is what of it did not arrive.
	Missing money.Cents

	member int // the place of the contact among the members; -1 when the payout is everybody's
}

// histories are those of ownership periods.
type histories struct {
	owners map[id.ID][]owner
	chains map[Chain]*history
}

// of gives a chain's; one without saved statements and payouts has members alone.
func (all *histories) of(period id.ID, currency string) *history {
	c := Chain{period, currency}
	if all.chains[c] == nil {
		h := &history{owners: all.owners[period], splits: splitsOf(all.owners[period])}
		if len(h.owners) == 0 {
			h.splits = []int64{1}
		}

		all.chains[c] = h
	}

	return all.chains[c]
}

// historiesOf reads those of ownership periods.
func historiesOf(ctx context.Context, tx *db.Tx, periods []id.ID) (*histories, error) {
	var (
		owners   map[id.ID][]owner
		balances []balance
		payouts  []distribution
	)

	err := tx.Together(ctx, db.LoadOf(&owners, ownersOf, periods), db.LoadOf(&balances, balancesOf, periods), db.LoadOf(&payouts, distributionsOf, periods))
	if err != nil {
		return nil, err
	}

	all := &histories{owners: owners, chains: map[Chain]*history{}}
	for i := range balances {
		h := all.of(balances[i].OwnershipPeriodID, balances[i].Currency)
		h.balances = append(h.balances, balances[i])
	}

	for i := range payouts {
		all.of(payouts[i].OwnershipPeriodID, payouts[i].Currency).pay(&payouts[i])
	}

	for _, h := range all.chains {
		h.settle()
	}

	return all, nil
}

// balancesOf are those of the saved statements of ownership periods, of each chain the oldest first.
func balancesOf(ctx context.Context, tx *db.Tx, periods []id.ID) ([]balance, error) {
	balances, err := db.Select[balance](ctx, tx, `
		select ownership_period_id, currency, id, start_at, end_at, status, imported, balance_end - reserve as available, shares
		from statement where team_id = @team and ownership_period_id = any(@periods) order by ownership_period_id, currency, start_at`, db.Args{"team": tx.Team, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("read balances of statements: %w", err)
	}

	return balances, nil
}

// distributionsOf are the payouts of ownership periods, of each day and member together, oldest first.
func distributionsOf(ctx context.Context, tx *db.Tx, periods []id.ID) ([]distribution, error) {
	payouts, err := db.Select[distribution](ctx, tx, `
		select ownership_period_id, currency, contact_id, date, since, imported, sum(total)::bigint as total, sum(missing)::bigint as missing from (
			select e.ownership_period_id, e.currency, e.contact_id, e.ledger = 'historical' as imported, e.cent_total as total,
				greatest(0, least(e.cent_total, coalesce(y.missing, 0))) as missing,
				coalesce(told.end_at, e.txn_at) as date, coalesce(told.end_at, greatest(e.txn_at, pays.open_from)) as since
			from ledger_entry e
			left join statement told on told.team_id = @team and told.id = e.statement_id and e.ledger = 'historical'
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

// pay takes a payout in; one that names somebody else is everybody's.
func (h *history) pay(p *distribution) {
	p.member = slices.IndexFunc(h.owners, func(o owner) bool { return o.ContactID == p.ContactID })
	h.payouts = append(h.payouts, *p)
}

// own is what payouts that name a member have brought each by the end of a day, as negative amounts. Imported
// statements know of imported ones alone, and live books of live ones.
func (h *history) own(until day.Day, imported bool) []money.Cents {
	own := make([]money.Cents, len(h.splits))
	for i := range h.payouts {
		p := &h.payouts[i]
		if p.member >= 0 && p.Imported == imported && !p.Date.After(until) {
			own[p.member] -= p.Total
		}
	}

	return own
}

// divide gives the members their parts of a balance at the end of a day.
func (h *history) divide(cents money.Cents, at day.Day, imported bool) []money.Cents {
	return Divide(cents, h.splits, h.own(at, imported))
}

// parts are what a statement told its members, or what a draft would tell them.
func (h *history) parts(b *balance) []money.Cents {
	if len(b.Shares) == len(h.splits) {
		return b.Shares
	}

	return h.divide(b.Available, b.EndAt, b.Imported)
}

// spread gives the members their parts of what payouts have to do with a balance. What names no member is everybody's:
// a part is what it takes from the member's part of the common balance.
func (h *history) spread(b *balance, of func(*distribution) money.Cents) []money.Cents {
	parts := make([]money.Cents, len(h.splits))

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

	common := b.Available - total(h.own(b.EndAt, b.Imported))

	whole, rest := money.Split(common, h.splits), money.Split(common-unnamed, h.splits)
	for i := range parts {
		parts[i] += whole[i] - rest[i]
	}

	return parts
}

// settle finds out what of each balance is open: of published statements, what is still there of it in every later one,
// so that payouts settle the oldest balance first, and a later loss what was not paid before it. Nobody has been told
// the other balances yet: these are taken as they are.
func (h *history) settle() {
	var later *balance // the published statement after this one, on which never more is left than on any behind it

	for i := len(h.balances) - 1; i >= 0; i-- {
		b := &h.balances[i]
		h.weigh(b)

		if b.Status != Published {
			continue
		}

		if later != nil {
			for n := range b.left {
				// What was paid too much is in the balance of the later statement, and told there.
				b.left[n] = within(within(b.left[n], later.left[n]), b.due[n])
				b.payable[n] = within(within(b.payable[n], later.payable[n]), b.due[n])
			}
		}

		later = b
	}
}

// weigh sets what a balance comes to by itself.
func (h *history) weigh(b *balance) {
	told := h.parts(b)
	missing := h.spread(b, func(p *distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return 0
		}

		return -p.Missing
	})
	b.paid = h.spread(b, func(p *distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return p.Total - p.Missing
		}

		return 0
	})
	booked := h.spread(b, func(p *distribution) money.Cents {
		if p.Since.After(b.EndAt) {
			return p.Total
		}

		return 0
	})
	b.unpaid = b.Available - total(booked)

	b.due, b.left, b.payable = make([]money.Cents, len(told)), make([]money.Cents, len(told)), make([]money.Cents, len(told))
	for i := range told {
		b.due[i] = told[i] - missing[i]
		b.left[i], b.payable[i] = b.due[i]-b.paid[i], told[i]-booked[i]
	}
}

// within is what is in both of two open amounts: the smaller one in their direction, nothing when the directions
// differ.
func within(a, b money.Cents) money.Cents {
	switch {
	case a > 0 && b > 0:
		return min(a, b)
	case a < 0 && b < 0:
		return max(a, b)
	default:
		return 0
	}
}

// balanceOf is that of a row: a saved one as the history has it, or that of a draft.
func (h *history) balanceOf(r *row, f *Financials) *balance {
	if !r.isDraft() {
		if i := slices.IndexFunc(h.balances, func(b balance) bool { return b.ID == r.ID }); i >= 0 {
			return &h.balances[i]
		}
	}

	b := &balance{
		OwnershipPeriodID: r.OwnershipPeriodID, Currency: r.Currency, ID: r.ID, StartAt: r.StartAt, EndAt: r.EndAt, Status: r.Status, Available: f.Available,
	}
	h.weigh(b)

	return b
}

// before is the balance that a statement goes on from, nil for the first one. Before a published statement that is the
// last published one. A draft goes on from the draft of the month before, if no statement was saved over that.
func (h *history) before(r *row) *balance {
	var last *balance

	for i := range h.balances {
		if b := &h.balances[i]; b.StartAt.Before(r.StartAt) && (r.Status != Published || b.Status == Published) {
			last = b
		}
	}

	if !r.isDraft() {
		return last
	}

	month := r.StartAt.AddDays(-1)
	if last != nil && !last.EndAt.Before(month.FirstOfMonth()) || month.Before(r.firstMonth()) {
		return last
	}

	f := figuresAt(r.months, month.FirstOfMonth())
	f.Reserve = r.Reserve
	b := &balance{StartAt: month.FirstOfMonth(), EndAt: month, Status: Draft, Available: f.complete().Available}
	h.weigh(b)

	return b
}

// standing is what became of a member's part of a statement's balance. Due is the part; what of it is open is due less
// received, offset and brought forward.
type standing struct {
	amount         money.Cents // of the available balance
	due, received  money.Cents
	offset         money.Cents // what later statements set off: a loss against income, or income against what was owed
	broughtForward money.Cents // what is still open of the statements before
	open           money.Cents
}

// standings are those of a statement's members, or a single one when there are none.
func (h *history) standings(r *row, f *Financials) []standing {
	b := h.balanceOf(r, f)

	out, told := make([]standing, len(b.due)), h.parts(b)
	for i := range out {
		s := &out[i]
		s.amount = told[i]
		settled := b.due[i] - b.left[i]
		s.due, s.received = b.due[i], within(settled, b.paid[i])
		s.offset = settled - s.received
	}

	if before := h.before(r); before != nil {
		for i := range out {
			out[i].broughtForward = before.left[i]
		}
	}

	for i := range out {
		out[i].open = b.left[i] - out[i].broughtForward
	}

	return out
}

// cut gives the members their parts of a statement's figures, by what they have earned and were paid whatever the
// statement told them.
func (h *history) cut(r *row, f *Financials) []Financials {
	if len(h.owners) == 0 {
		return nil
	}

	before := h.own(r.StartAt.AddDays(-1), r.Imported)

	during := h.own(r.EndAt, r.Imported)
	for i := range during {
		during[i] -= before[i]
	}

	return cut(f, h.splits, before, during)
}

// shares are what the members get of an available balance.
func shares(owners []owner, of []standing) []Share {
	out := make([]Share, len(owners))
	for i := range owners {
		o, s := &owners[i], &of[i]
		out[i] = Share{
			ContactID: o.ContactID, Name: o.Name, Split: o.Split, Amount: s.amount, Received: s.received, Offset: s.offset,
			BroughtForward: s.broughtForward, Open: s.open,
		}
	}

	return out
}

// payment adds up what the members are due and have received. What stands against a statement on which nothing is open
// is settled.
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
