-- +goose Up
-- One comparison of bank and books serves the summary of an account and the trust reconciliation.
set local stayledger.across_teams = 'on';

-- What the opening of a bank account left out because it was in transit on the account's first day: booked before, at the bank later.
alter table account add column banking_opening_transit bigint not null default 0;

-- The day of the entries of a source that is settled; null for others. What was in transit on an account's first day was booked before and settled later.
alter table bank_clearing add column booked_at date;
update bank_clearing c set booked_at = e.day
    from bank_clearing b cross join lateral (
        select min(e.txn_at) as day from ledger_entry e where e.team_id = b.team_id and e.source_id = b.source_id
            and e.account_id is not distinct from b.account_id and e.status = 'active' and e.ledger <> 'historical' offset 0) e
    where b.team_id = c.team_id and b.account_id = c.account_id and b.source_id = c.source_id and c.settled_at <> 'infinity';
create index bank_clearing_booked on bank_clearing (team_id, account_id, booked_at, settled_at) include (source_id) where booked_at is not null;

-- +goose StatementBegin
create or replace function bank_clear(teams uuid[], accounts uuid[], sources uuid[], less boolean) returns void language plpgsql as $$
begin
    insert into bank_clearing (team_id, account_id, source_id)
        select distinct team_id, account_id, source_id from unnest(teams, accounts, sources) c (team_id, account_id, source_id) order by 1, 2, 3
    on conflict (team_id, account_id, source_id) do update set settled_at = 'infinity', booked_at = null;
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
    update bank_clearing b set settled_at = greatest(e.day, m.day), booked_at = e.day
        from (select distinct team_id, account_id, source_id from unnest(teams, accounts, sources) c (team_id, account_id, source_id)) c
        cross join lateral (
            select sum(cent_total) as cents, min(txn_at) as day, min(txn_at) = max(txn_at) and min(ledger) = max(ledger) and min(currency) = max(currency) as plain
            from ledger_entry e where e.team_id = c.team_id and e.source_id = c.source_id and e.account_id is not distinct from c.account_id
                and e.status = 'active' and e.ledger <> 'historical' offset 0) e
        cross join lateral (
            select sum(n.cent_total) as cents, max(r.date) as day
            from bank_reconciliation n join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
            where n.team_id = c.team_id and n.transaction_id = c.source_id and n.account_id = c.account_id and r.status = 'active' offset 0) m
        where b.team_id = c.team_id and b.account_id = c.account_id and b.source_id = c.source_id and e.plain and e.cents = m.cents;
end
$$;
-- +goose StatementEnd

-- Manual journals make up bank records as transactions do: what a record is made of is a source of journals, of one of the two kinds.
alter table bank_reconciliation drop constraint bank_reconciliation_transaction;
alter table bank_reconciliation add column is_journal boolean not null default false;
alter table bank_reconciliation
    add column of_transaction uuid generated always as (case when not is_journal then transaction_id end) stored,
    add column of_journal uuid generated always as (case when is_journal then transaction_id end) stored;
alter table bank_reconciliation
    add constraint bank_reconciliation_transaction foreign key (team_id, of_transaction) references transaction (team_id, id),
    add constraint bank_reconciliation_journal foreign key (team_id, of_journal) references journal (team_id, id);
create index bank_reconciliation_by_journal on bank_reconciliation (team_id, of_journal) where of_journal is not null;

-- +goose Down
