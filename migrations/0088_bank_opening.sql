-- +goose Up
-- The opening of a bank account books nothing for what is in transit or outstanding on the account's first day. What is not known of that day yet when the
-- account is opened, and what openings from before this rule have counted, is told apart: items that are in transit at the opening add up to it.
set local stayledger.across_teams = 'on';

alter table account add column banking_opening_counted bigint not null default 0;

-- An opening from before has counted all that was in transit or outstanding on its day, but for what it has left out (banking_opening_transit).
update account a set banking_opening_counted = n.transit - a.banking_opening_transit - n.later - n.undone
    from account b cross join lateral (
        select coalesce(sum(d.before) filter (where d.comes or not d.opens), 0) as transit, coalesce(sum(d.before) filter (where d.comes and d.opens), 0) as later,
            (select coalesce(sum(r.amount - r.made), 0) from bank_record r where r.team_id = b.team_id and r.account_id = b.id
                and r.status = 'active' and r.type = 'transaction' and r.made <> r.amount and r.date < b.banking_opening_at) as undone
        from (
            select s.opens, coalesce(bool_or(x.is_record and x.at >= b.banking_opening_at), false) as comes,
                coalesce(sum(x.booked) filter (where x.at < b.banking_opening_at or s.opens and x.at = b.banking_opening_at), 0)
                    - coalesce(sum(x.seen) filter (where x.at < b.banking_opening_at), 0) as before
            from (
                select c.source_id, c.source_id = b.team_id
                    or exists (select from transaction t where t.team_id = b.team_id and t.id = c.source_id and t.is_opening_balance) as opens
                from bank_clearing c where c.team_id = b.team_id and c.account_id = b.id and c.source_id is distinct from b.banking_opening_transaction_id
                    and (c.settled_at >= b.banking_opening_at or c.seen_at < b.banking_opening_at and c.booked_at >= b.banking_opening_at)) s
            cross join lateral (
                select e.txn_at as at, e.cent_total as booked, 0::bigint as seen, false as is_record from ledger_entry e
                    where e.team_id = b.team_id and e.source_id = s.source_id and e.account_id is not distinct from b.id and e.currency = b.banking_currency
                        and e.status = 'active' and e.ledger <> 'historical'
                union all
                select r.date, 0, n.cent_total, true from bank_reconciliation n
                    join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
                    where n.team_id = b.team_id and n.transaction_id = s.source_id and n.account_id = b.id and r.status = 'active' offset 0) x
            group by s.source_id, s.opens) d) n
    where b.team_id = a.team_id and b.id = a.id and a.banking_opening_at is not null;

alter table account drop column banking_opening_transit;

-- +goose Down
alter table account add column banking_opening_transit bigint not null default 0;
alter table account drop column banking_opening_counted;
