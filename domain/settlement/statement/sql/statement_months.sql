-- The statements of a team as g: the saved ones, and a draft for every other month of a chain. A chain is the statements of one ownership period in one currency.
--
-- The words in braces are replaced by conditions: owners_entry selects the entries e that statements consist of, keys
-- the statements that are wanted by their key columns, with_drafts is false if saved statements are enough, and with_saved
-- if drafts are. The columns besides the key are left out where only keys are read: an index has these.
(
with recursive
-- The currencies of each ledger. Each step looks up the next one in the index, so that no balances are scanned.
booked (ledger, currency) as (
	select x.ledger, (select min(b.currency) from ledger_balance b where b.team_id = @team and b.ledger = x.ledger)
	from (values ('trust'), ('operating')) x (ledger)
	union all
	select k.ledger, (select min(b.currency) from ledger_balance b
		where b.team_id = @team and b.ledger = k.ledger and b.currency > k.currency)
	from booked k where k.currency is not null
),
-- Those that are foreign to some listing. In most teams there are none, and the next step reads nothing.
foreign_currency as (
	select distinct k.currency from booked k
	where exists (select from listing o where o.team_id = @team and o.default_currency <> k.currency)
),
-- The listings with balances of owners in a currency that is not their own, on themselves or on a member of their
-- group. Balances by month are far fewer than entries. The exists names no column of the balances, so PostgreSQL evaluates it once, before it reads any.
foreign_balance as (
	select distinct l.id as listing_id, b.currency
	from ledger_balance b
	join listing k on k.team_id = b.team_id and k.id = b.listing_id
	join listing l on l.team_id = k.team_id and l.id in (k.id, k.parent_id)
	where exists (select from foreign_currency) and b.team_id = @team and b.party = 'owners'
		and b.currency <> l.default_currency and b.currency in (select f.currency from foreign_currency f)
),
-- One chain for each ownership period in the currency of its listing, and one for every other currency in which its
-- owners have entries.
chains as (
	select p.id, p.listing_id, p.start_at, p.end_at, l.default_currency as currency
	from listing_ownership_period p
	join listing l on l.team_id = p.team_id and l.id = p.listing_id
	where p.team_id = @team
	union all
	select p.id, p.listing_id, p.start_at, p.end_at, f.currency
	from foreign_balance f
	join listing_ownership_period p on p.team_id = @team and p.listing_id = f.listing_id
	where (select true from ledger_entry e
		where {owners_entry} and e.ownership_period_id = p.id and e.currency = f.currency limit 1)
),
-- The months that imported statements reach into. They have no drafts, because the imported statement has shown them.
imported as (
	select i.ownership_period_id, i.currency, m.month::date as start_at
	from statement i
	cross join lateral generate_series(
		date_trunc('month', i.start_at::timestamp), i.end_at::timestamp, interval '1 month') m (month)
	where i.team_id = @team and i.imported
),
-- The first and the last month of each chain with a draft. That is from the start of the period, or of the
-- statements of the team, to the current month or the end of the period. Entries before and after extend it, so that
-- a stay that earns something outside of the ownership is shown, and a payout after its end. They are looked up only
-- where they could matter, and no month before @first_month or after @last_month is looked at.
bounds as (
	select c.id, c.listing_id, c.currency,
		greatest(
			@first_month::date::timestamp,
			coalesce(
				greatest(
					date_trunc('month', t.statement_start_at::timestamp),
					least(
						date_trunc('month', c.start_at::timestamp),
						(select date_trunc('month', min(e.txn_at)::timestamp) from ledger_entry e
							where coalesce(c.start_at > greatest(@first_month::date, t.statement_start_at), c.start_at is not null)
								and {owners_entry} and e.ownership_period_id = c.id))),
				(select date_trunc('month', min(e.txn_at)::timestamp) from ledger_entry e
					where {owners_entry} and e.ownership_period_id = c.id),
				@this_month::date::timestamp)) as first_month,
		least(
			@last_month::date::timestamp,
			case when c.end_at is null then @this_month::date::timestamp
			else least(
				@this_month::date::timestamp,
				greatest(
					date_trunc('month', (c.end_at - 1)::timestamp),
					(select date_trunc('month', max(e.txn_at)::timestamp) from ledger_entry e
						where c.end_at <= least(@last_month::date, @this_month::date)
							and {owners_entry} and e.ownership_period_id = c.id)))
			end) as last_month
	from chains c
	join team t on t.id = @team
),
-- A draft for each of these months.
drafts as (
	select d.* from (
		select b.id as ownership_period_id, b.listing_id, b.currency, m.month::date as start_at
		from bounds b
		cross join lateral generate_series(b.first_month, b.last_month, interval '1 month') m (month)
	) d
	where {with_drafts} and {keys} and not exists (select from imported i
		where i.ownership_period_id = d.ownership_period_id and i.currency = d.currency and i.start_at = d.start_at)
)
-- Last, saved statements take the place of their drafts.
select d.ownership_period_id, d.currency, d.start_at{draft_columns}
from drafts d
where not exists (select from statement s where s.team_id = @team and s.ownership_period_id = d.ownership_period_id and s.currency = d.currency
	and s.start_at = d.start_at)
union all
select ownership_period_id, currency, start_at{saved_columns}
from statement where {with_saved} and team_id = @team and {keys}
) g
