package trust

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// BankLeg is what the banks say, brought to the day's books by what they have not seen yet.
type BankLeg struct {
	StatementBalance    money.Cents   `json:"statementBalance" doc:"The latest balance that the bank stated, with its movements since."`
	DepositsInTransit   money.Cents   `json:"depositsInTransit" doc:"Booked and not matched with a bank record by the day."`
	OutstandingPayments money.Cents   `json:"outstandingPayments" doc:"Booked and not matched; negative."`
	AdjustedBalance     money.Cents   `json:"adjustedBalance"`
	Accounts            []BankAccount `json:"accounts"`

	unmatched *bank.AllUnmatched
}

// BankAccount is the bank leg of one account beside its books.
type BankAccount struct {
	Account             account.Ref `json:"account"`
	StatementAt         *day.Day    `json:"statementAt" doc:"When the bank last stated a balance; null when it never did and its movements are added up from nothing."`
	StatementBalance    money.Cents `json:"statementBalance"`
	DepositsInTransit   money.Cents `json:"depositsInTransit"`
	OutstandingPayments money.Cents `json:"outstandingPayments"`
	AdjustedBalance     money.Cents `json:"adjustedBalance"`
	BookBalance         Figure      `json:"bookBalance"`
	Difference          money.Cents `json:"difference" doc:"Adjusted balance less book balance."`
	Uncleared           []Uncleared `json:"uncleared" doc:"What is in transit or outstanding: the 100 largest amounts."`

	// known is whether the bank has said anything of the account.
	known bool
}

// Uncleared is what was booked on a bank account and not, or not wholly, matched with bank records by the day.
type Uncleared struct {
	TransactionID *id.ID      `json:"transactionId" doc:"Null for a manual journal."`
	Date          day.Day     `json:"date"`
	Description   string      `json:"description"`
	Booked        Figure      `json:"booked"`
	Open          money.Cents `json:"open" doc:"The part that is not matched."`
}

const unclearedShown = 100

// unclearedRow is an uncleared transaction or journal, with what all of its account's come to.
type unclearedRow struct {
	AccountID     id.ID
	TransactionID *id.ID
	Date          day.Day
	Description   string
	Booked        money.Cents
	Open          money.Cents
	Transit       money.Cents
	Outstanding   money.Cents
}

// unclearedOf is what the books have on bank accounts and matched bank records do not, by transaction or journal: the largest of each account.
// An opening balance counts as seen on those of the accounts for which the bank has stated a balance, since that balance has it. Entries are found by
// their source, never by their account (migration 0047).
func unclearedOf(ctx context.Context, tx *db.Tx, accounts, stated []id.ID, p *position) ([]unclearedRow, error) {
	rows, err := db.Select[unclearedRow](ctx, tx, `
		with compared as (
			select a.id as account_id, u.source_id, min(b.date) as date, sum(b.booked) as booked,
				sum(b.booked) - sum(b.cleared) as open, bool_or(b.date is null) as matched
			from unnest(@accounts::uuid[]) a (id)
			cross join lateral (`+bank.Unsettled("a.id", "@date")+`) u
			cross join lateral (
				select e.txn_at as date, e.cent_total as booked, 0 as cleared
				from ledger_entry e
				where e.team_id = @team and e.source_id = u.source_id and e.account_id is not distinct from a.id and e.txn_at <= @date and e.currency = @currency
					and e.ledger = 'trust' and e.status = 'active'
				union all
				select null, 0, m.cents from (`+bank.Parts("u.source_id", "a.id")+`) m where m.date <= @date
			) b group by 1, 2 having sum(b.booked) <> sum(b.cleared)
		), uncleared as (
			select o.*, row_number() over (partition by o.account_id order by abs(o.open) desc, o.source_id) as place,
				coalesce(sum(o.open) filter (where o.open > 0) over (partition by o.account_id), 0)::bigint as transit,
				coalesce(sum(o.open) filter (where o.open < 0) over (partition by o.account_id), 0)::bigint as outstanding
			from compared o left join lateral (
				select t.is_opening_balance as opens from transaction t where t.team_id = @team and t.id = o.source_id offset 0) t on true
			where o.matched or t.opens is not true or not o.account_id = any(@stated::uuid[])
		)
		select u.account_id, t.id as transaction_id, coalesce(u.date, t.date) as date, coalesce(t.description, n.description, '') as description,
			u.booked::bigint as booked, u.open::bigint as open, u.transit, u.outstanding
		from uncleared u
		left join lateral (select t.id, t.date, t.description from transaction t where t.team_id = @team and t.id = u.source_id offset 0) t on true
		left join lateral (select e.description from ledger_entry e where e.team_id = @team and e.source_id = u.source_id
			and e.account_id = u.account_id order by e.txn_code, e.ref limit 1) n on t.id is null
		where u.place <= @shown
		order by u.account_id, u.place`,
		db.Args{"team": tx.Team, "accounts": accounts, "stated": stated, "date": p.date, "currency": p.currency, "shown": unclearedShown})
	if err != nil {
		return nil, fmt.Errorf("read what banks have not seen: %w", err)
	}
	return rows, nil
}

// bankLeg reads the first leg for the bank accounts of the position, whose book balances it has already.
func bankLeg(ctx context.Context, tx *db.Tx, p *position) (*BankLeg, error) {
	leg := &BankLeg{Accounts: []BankAccount{}}
	ids := p.banks()
	at := map[id.ID]*BankAccount{}
	asked := make([]bank.Since, 0, len(ids))
	for _, v := range ids {
		asked = append(asked, bank.Since{Account: v})
		behind := p.behind()
		behind.AccountIDs = page.Only(v)
		leg.Accounts = append(leg.Accounts, BankAccount{
			Account: p.chart.at[v].ref(), BookBalance: p.chart.figure(ClaimBank, -p.byAccount[accountKey{ClaimBank, v}], behind), Uncleared: []Uncleared{},
		})
	}
	for i := range leg.Accounts {
		at[leg.Accounts[i].Account.ID] = &leg.Accounts[i]
	}
	balances, err := bank.Balances(ctx, tx, asked, p.date.AddDays(1))
	if err != nil {
		return nil, err
	}
	stated := []id.ID{}
	for _, b := range balances {
		a := at[b.AccountID]
		a.StatementAt, a.StatementBalance, a.known = b.StatedAt, b.Cents, b.Known
		if b.StatedAt != nil {
			stated = append(stated, b.AccountID)
		}
	}
	open, err := unclearedOf(ctx, tx, ids, stated, p)
	if err != nil {
		return nil, err
	}
	for i := range open {
		p.uncleared(at[open[i].AccountID], &open[i])
	}
	leg.unmatched, err = bank.UnmatchedIn(ctx, tx, bank.Span{Accounts: ids, Before: p.date.AddDays(1)}, bank.LargestFirst, warningItems)
	if err != nil {
		return nil, err
	}
	for i := range leg.Accounts {
		a := &leg.Accounts[i]
		a.AdjustedBalance = a.StatementBalance + a.DepositsInTransit + a.OutstandingPayments
		a.Difference = a.AdjustedBalance - a.BookBalance.CentTotal
		leg.StatementBalance += a.StatementBalance
		leg.DepositsInTransit += a.DepositsInTransit
		leg.OutstandingPayments += a.OutstandingPayments
		leg.AdjustedBalance += a.AdjustedBalance
	}
	return leg, nil
}

func (p *position) uncleared(a *BankAccount, r *unclearedRow) {
	a.DepositsInTransit, a.OutstandingPayments = r.Transit, r.Outstanding
	u := Uncleared{TransactionID: r.TransactionID, Date: r.Date, Description: r.Description, Booked: Figure{CentTotal: r.Booked}, Open: r.Open}
	if r.TransactionID != nil {
		behind := p.behind()
		behind.AccountIDs, behind.TransactionIDs = page.Only(r.AccountID), page.RefsTo(*r.TransactionID)
		u.Booked = p.chart.figure(ClaimBank, r.Booked, behind)
	}
	a.Uncleared = append(a.Uncleared, u)
}
