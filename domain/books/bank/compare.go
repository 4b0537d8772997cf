package bank

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// ItemKind says why bank and books differ on a day although nothing is wrong.
type ItemKind string

// The kinds.
const (
	// InTransit is money in that was booked and that the bank has not seen by the day.
	InTransit ItemKind = "depositInTransit"
	// Outstanding is money out that was booked and that the bank has not seen by the day.
	Outstanding ItemKind = "outstandingPayment"
	// AtBank is money that the bank moved by the day and that is booked later: negative when it came in.
	AtBank ItemKind = "atBankNotInBooks"
	// AtOpening is money that was in transit or outstanding on the account's first day and that its opening counted
	// nevertheless, because that was not known when it was made: negative when it was booked and not at the bank.
	AtOpening ItemKind = "inTransitAtOpening"
)

// Enum lists the kinds.
func (ItemKind) Enum() []string {
	return []string{string(InTransit), string(Outstanding), string(AtBank), string(AtOpening)}
}

// Item is a transaction or manual journal that differs between bank and books at the end of a day.
type Item struct {
	AccountID id.ID    `json:"-"`
	Kind      ItemKind `json:"kind"`
	// SourceID is that of the transaction or journal.
	SourceID      id.ID       `json:"-"`
	TransactionID *id.ID      `json:"transactionId" doc:"Null for a manual journal."`
	JournalID     *id.ID      `json:"journalId" doc:"Null for a transaction."`
	Date          day.Day     `json:"date" doc:"When the books move the account: for a bill the day of its payment."`
	Description   string      `json:"description"`
	Booked        money.Cents `json:"booked" doc:"What the books have of it by the day, positive into the account."`
	AtBank        money.Cents `json:"atBank" doc:"What bank records that are reconciled with it have by the day."`
	Open          money.Cents `json:"open" doc:"Its part of the figure of its kind: booked less atBank."`
}

// Comparison is the balance of an account at the bank at the end of a day, with the sums that explain the difference to
// the books. With these sums, Held becomes the balance that the books should have (AdjustBalance).
type Comparison struct {
	Held
	InTransit, Outstanding, AtBank, AtOpening money.Cents
}

// AdjustBalance returns the balance that the books should have according to the bank.
func (c *Comparison) AdjustBalance() money.Cents {
	return c.Cents + c.InTransit + c.Outstanding + c.AtBank + c.AtOpening
}

// Against says which accounts are compared, and with which entries.
type Against struct {
	Accounts []id.ID
	Currency string
	// Ledger is the ledger of the entries; empty for both.
	Ledger ledger.Ledger
	// Date is the day of the comparison; its end counts.
	Date day.Day
}

// opensSQL is the condition of a source c of an account that it opens the books: a transaction that is marked so, or
// the opening trial balance. The fence keeps it a search for each source: all transactions of a team are far more.
const opensSQL = `(c.source_id = @team
	or exists (select from transaction t where t.team_id = @team and t.id = c.source_id and t.is_opening_balance` + db.Fence + `))`

// itemsSQL selects the items of accounts, with the columns of Item but for its texts. Only sources are read that can
// have something open on the day, or open the books and had on the account's first day (migrations 0047 and 0053):
// the books of years before cost nothing.
//
// What was booked before the account's first day and is on no record is open until a record has it: the opening
// leaves it out (LoadStart). An opening balance is part of the balance that the bank had on the first day, or stated
// after it, unless a record of a later day has it. The opening is off by what was known only after it: records before
// the first day that lost their transactions, and opening balances that came to the bank later.
var itemsSQL = `
	with account_at as (
		select a.id, coalesce(a.banking_opening_at, '-infinity') as first, a.banking_opening_counted as counted, a.banking_opening_transaction_id as opening,
			(select max(r.date) from bank_record r where r.team_id = @team and r.account_id = a.id and r.status = 'active' and r.type = 'balance'
				and r.date <= @date::date and r.date >= coalesce(a.banking_opening_at, '-infinity')) as stated_at
		from account a where a.team_id = @team and a.id = any(@accounts::uuid[])
	), source as materialized (
		select a.id, a.first, a.stated_at, c.source_id, ` + opensSQL + ` as opens from account_at a cross join lateral (
			select c.source_id from bank_clearing c where c.team_id = @team and c.account_id = a.id and c.settled_at > @date::date
			union
			select c.source_id from (
				select c.source_id, c.settled_at from bank_clearing c where c.team_id = @team and c.account_id = a.id
					and c.booked_at <= a.first` + db.Fence + `) c /* what was settled since is far more than what was booked by the first day */
			where c.settled_at >= a.first and c.settled_at <= @date::date and ` + opensSQL + `) c
	), side as (
		select s.id, s.first, s.stated_at, s.source_id, s.opens,
			coalesce(sum(x.booked) filter (where x.at <= @date), 0) as booked, coalesce(sum(x.seen) filter (where x.at <= @date), 0) as seen,
			` + beforeSQL + ` as before, coalesce(bool_or(x.is_record and x.at >= s.first), false) as comes,
			bool_or(x.is_record and x.at <= @date) as matched_by, min(x.at) filter (where not x.is_record) as booked_at
		from source s cross join lateral (
			select e.txn_at as at, e.cent_total as booked, 0::bigint as seen, false as is_record from ledger_entry e
				where e.team_id = @team and e.source_id = s.source_id and e.account_id is not distinct from s.id and e.currency = @currency
					and e.status = 'active' and e.ledger = any(@ledgers::text[])
			union all
			select r.date, 0, n.cent_total, true from bank_reconciliation n
				join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
				where n.team_id = @team and n.transaction_id = s.source_id and n.account_id = s.id and r.status = 'active'` + db.Fence + `) x
		group by s.id, s.first, s.stated_at, s.source_id, s.opens
	), item as (
		select o.id as account_id, o.source_id, o.booked, o.seen, o.booked_at,
			case when o.booked <> 0 and sign(o.booked - o.seen) = sign(o.booked)
				then case when o.booked > 0 then 'depositInTransit' else 'outstandingPayment' end else 'atBankNotInBooks' end as kind,
			o.booked - o.seen as open
		from side o
		where o.booked <> o.seen and not (o.opens and (o.booked_at <= o.first and not o.comes
			or o.matched_by is not true and o.stated_at is not null and o.booked_at <= o.stated_at))
		union all
		select y.account_id, y.source_id, sum(y.open), 0, null, 'inTransitAtOpening', -sum(y.open) from (
			select o.id as account_id, o.source_id, o.before as open, o.first from side o where o.opens and o.comes and o.booked_at <= o.first
			union all
			select a.id, a.opening, a.counted + r.open, a.first from account_at a cross join lateral (` + lackSQL("a.id", "a.first") + `) r) y
		where y.first - 1 <= @date group by 1, 2 having sum(y.open) <> 0
	)`

// beforeSQL is an aggregate over the entries and records x of a source s: what the books have of it on the account's
// first day and the bank has not. What opens the books on that day is part of it.
const beforeSQL = `(coalesce(sum(x.booked) filter (where x.at < s.first or s.opens and x.at = s.first), 0)
	- coalesce(sum(x.seen) filter (where x.at < s.first), 0))`

// lackSQL returns the SQL of the amount, column open, that transactions lack to make up the records of an account
// before its first day. An account begins with records before that day that transactions make up, so it lost them
// since.
func lackSQL(account, first string) string {
	return `select coalesce(sum(r.amount - r.made), 0)::bigint as open from bank_record r where r.team_id = @team and r.account_id = ` + account + `
		and r.status = 'active' and r.type = 'transaction' and r.made <> r.amount and r.date < ` + first
}

// args returns the arguments of itemsSQL.
func (a *Against) args(tx *db.Tx) db.Args {
	// Historical entries are in no balance of a bank.
	ledgers := []string{string(ledger.Trust), string(ledger.Operating)}
	if a.Ledger != "" {
		ledgers = []string{string(a.Ledger)}
	}

	return db.Args{"team": tx.Team, "accounts": a.Accounts, "currency": a.Currency, "ledgers": ledgers, "date": a.Date}
}

// comparisonSQL follows itemsSQL and selects the columns of Comparison for each account. Further columns, which begin with
// a comma, can use the account h.account_id.
func comparisonSQL(further string) string {
	kind := func(k ItemKind, name string) string {
		return `coalesce(sum(open) filter (where kind = '` + string(k) + `'), 0)::bigint as ` + name
	}

	return `, held as (` + balancesSQL(`(
			select id, banking_opening_at, coalesce(banking_opening, 0) from account where team_id = @team and id = any(@accounts::uuid[]))`, `@date::date + 1`) + `
		), summed as (
			select account_id, ` + kind(InTransit, "in_transit") + `, ` + kind(Outstanding, "outstanding") + `, ` + kind(AtBank, "at_bank") + `,
				` + kind(AtOpening, "at_opening") + ` from item group by 1
		)
		select h.account_id, h.stated_at, h.known, h.cents, coalesce(s.in_transit, 0) as in_transit, coalesce(s.outstanding, 0) as outstanding,
			coalesce(s.at_bank, 0) as at_bank, coalesce(s.at_opening, 0) as at_opening` + further + `
		from held h left join summed s on s.account_id = h.account_id`
}

// Compare returns the comparison of each account with its books, in no order.
func Compare(ctx context.Context, tx *db.Tx, a *Against) ([]Comparison, error) {
	found, err := db.Select[Comparison](ctx, tx, itemsSQL+comparisonSQL(""), a.args(tx))
	if err != nil {
		return nil, fmt.Errorf("compare bank accounts with their books: %w", err)
	}

	return found, nil
}

// itemTextsSQL adds to items their days and the texts of their transactions and journals. The day of an item is that
// of its entry on the account: a bill may be booked on one day and paid on another. Further columns begin with a comma.
func itemTextsSQL(items, further string) string {
	return `
	select i.account_id, i.kind, i.source_id, t.id as transaction_id, j.id as journal_id, coalesce(i.booked_at, t.date, j.date, @date) as date,
		coalesce(t.description, j.description, '') as description, i.booked::bigint as booked, i.seen::bigint as at_bank, i.open::bigint as open` + further + `
	from ` + items + ` i
	left join lateral (select t.id, t.date, t.description from transaction t where t.team_id = @team and t.id = i.source_id` + db.Fence + `) t on true
	left join lateral (select j.id, j.date, j.description from journal j where j.team_id = @team and j.id = i.source_id` + db.Fence + `) j on true`
}

// Detailed is a comparison with the items behind it.
type Detailed struct {
	Comparison

	// Largest are the items with the largest amounts.
	Largest []Item
	// Aged are items that were booked long ago and that the bank has not seen: of each kind the largest amounts.
	Aged []Aged
}

// Aged is an item that was booked long ago and that the bank has not seen.
type Aged struct {
	Item

	// BookedAt is the day on which the books moved the money.
	BookedAt day.Day `json:"bookedAt"`
	// Count and Total cover all such items of its kind on the account, loaded or not.
	Count int         `json:"count"`
	Total money.Cents `json:"total"`
}

// itemJSON is the SQL of an item l as JSON, with the fields of Aged.
const itemJSON = `jsonb_build_object('kind', l.kind, 'transactionId', l.transaction_id, 'journalId', l.journal_id, 'date', l.date,
	'description', l.description, 'booked', l.booked, 'atBank', l.at_bank, 'open', l.open, 'bookedAt', l.booked_at, 'count', l.count, 'total', l.total)`

// CompareInDetail returns the comparison of each account, in no order, with so many of the largest items. Aged are those
// in transit and the outstanding ones that were booked before a day, as many of each kind.
func CompareInDetail(ctx context.Context, tx *db.Tx, a *Against, before day.Day, most int) ([]Detailed, error) {
	args := a.args(tx)
	args["before"], args["most"] = before, most

	// The items are found once. Their places among the amounts decide which are described.
	found, err := db.Select[Detailed](ctx, tx, itemsSQL+`, placed as (
			select *, row_number() over (partition by account_id order by abs(open) desc, source_id, kind) as place,
				kind in ('depositInTransit', 'outstandingPayment') and booked_at < @before as is_aged from item
		), aged as (
			select *, case when is_aged then row_number() over (w order by abs(open) desc, source_id) end as age_place,
				count(*) over w as count, (sum(open) over w)::bigint as total from placed window w as (partition by account_id, kind, is_aged)
		), listed as (`+itemTextsSQL(
		`(select * from aged where place <= @most or age_place <= @most)`, `, i.booked_at, i.place, i.age_place, i.count, i.total`)+`)`+
		comparisonSQL(`,
			coalesce((select jsonb_agg(`+itemJSON+` order by l.place) from listed l where l.account_id = h.account_id and l.place <= @most), '[]') as largest,
			coalesce((select jsonb_agg(`+itemJSON+` order by l.kind, l.age_place) from listed l where l.account_id = h.account_id and l.age_place <= @most), '[]') as aged`),
		args)
	if err != nil {
		return nil, fmt.Errorf("compare bank accounts with their books in detail: %w", err)
	}

	// The items are those of their account.
	for i := range found {
		d := &found[i]
		for n := range d.Largest {
			d.Largest[n].AccountID = d.AccountID
		}

		for n := range d.Aged {
			d.Aged[n].AccountID = d.AccountID
		}
	}

	return found, nil
}

// Items loads a page of the items of an account, the oldest first, and their number, of one kind or for "" of all.
func Items(ctx context.Context, tx *db.Tx, a *Against, kind ItemKind, p page.Params) (*page.Page[Item], error) {
	type row struct {
		Item
		Total int64
	}

	args := a.args(tx)

	// The kind narrows the items, not the sources that are looked at.
	condition := "true"
	if kind != "" {
		condition, args["kind"] = "l.kind = @kind", string(kind)
	}

	args["limit"], args["skip"] = p.Limit, p.Rows()

	rows, err := db.Select[row](ctx, tx, itemsSQL+`, listed as (`+itemTextsSQL("item", "")+`)
		select l.*, (count(*) over ())::bigint as total from listed l where `+condition+`
		order by l.date, l.source_id, l.kind limit @limit offset @skip`, args)
	if err != nil {
		return nil, fmt.Errorf("list what bank and books do not have alike: %w", err)
	}

	out := &page.Page[Item]{Data: make([]Item, len(rows)), Pagination: p.Of(0)}
	for i := range rows {
		out.Data[i], out.Pagination = rows[i].Item, p.Of(rows[i].Total)
	}

	return out, nil
}
