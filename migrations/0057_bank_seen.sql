-- +goose Up
-- What the bank had before the first day of an account and the books have later belongs to the opening as what was in transit does. It is found by the
-- day of the first record.
set local stayledger.across_teams = 'on';

-- The day of the first record of a source that is settled; null for others.
alter table bank_clearing add column seen_at date;

-- +goose StatementBegin
create or replace function bank_clear(teams uuid[], accounts uuid[], sources uuid[], less boolean) returns void language plpgsql as $$
begin
    insert into bank_clearing (team_id, account_id, source_id)
        select distinct team_id, account_id, source_id from unnest(teams, accounts, sources) c (team_id, account_id, source_id) order by 1, 2, 3
    on conflict (team_id, account_id, source_id) do update set settled_at = 'infinity', booked_at = null, seen_at = null;
    if less then
        delete from bank_clearing b using unnest(teams, accounts, sources) c (team_id, account_id, source_id)
            where b.team_id = c.team_id and b.account_id = c.account_id and b.source_id = c.source_id
                and not exists (select from ledger_entry e where e.team_id = c.team_id and e.source_id = c.source_id and e.account_id is not distinct from c.account_id
                    and e.status = 'active' and e.ledger <> 'historical')
                and not exists (select from bank_reconciliation n where n.team_id = c.team_id and n.transaction_id = c.source_id and n.account_id = c.account_id);
    end if;
    if not exists (select from bank_reconciliation n join unnest(teams, sources) c (team_id, source_id)
                   on n.team_id = c.team_id and n.transaction_id = c.source_id) then
        return;
    end if;
    update bank_clearing b set settled_at = greatest(e.day, m.day), booked_at = e.day, seen_at = m.first
        from (select distinct team_id, account_id, source_id from unnest(teams, accounts, sources) c (team_id, account_id, source_id)) c
        cross join lateral (
            select sum(cent_total) as cents, min(txn_at) as day, min(txn_at) = max(txn_at) and min(ledger) = max(ledger) and min(currency) = max(currency) as plain
            from ledger_entry e where e.team_id = c.team_id and e.source_id = c.source_id and e.account_id is not distinct from c.account_id
                and e.status = 'active' and e.ledger <> 'historical' offset 0) e
        cross join lateral (
            select sum(n.cent_total) as cents, max(r.date) as day, min(r.date) as first
            from bank_reconciliation n join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
            where n.team_id = c.team_id and n.transaction_id = c.source_id and n.account_id = c.account_id and r.status = 'active' offset 0) m
        where b.team_id = c.team_id and b.account_id = c.account_id and b.source_id = c.source_id and e.plain and e.cents = m.cents;
end
$$;
-- +goose StatementEnd

update bank_clearing c set seen_at = m.first
    from bank_clearing b cross join lateral (
        select min(r.date) as first from bank_reconciliation n join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
        where n.team_id = b.team_id and n.transaction_id = b.source_id and n.account_id = b.account_id and r.status = 'active' offset 0) m
    where b.team_id = c.team_id and b.account_id = c.account_id and b.source_id = c.source_id and c.settled_at <> 'infinity';
-- The bank is seldom before the books, so this has few rows.
create index bank_clearing_seen on bank_clearing (team_id, account_id, seen_at) include (source_id, booked_at) where seen_at < booked_at;

-- +goose Down
