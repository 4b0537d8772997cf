-- +goose Up
-- Bills without a payment of their own, by what they are owed on: those on a bank account were paid at once.
create index transaction_open on transaction (team_id, account_id) where type = 'expense' and status = 'active' and payment_date is null;

-- Whether the books of a team are being erased is looked up only where the setting names one.
-- +goose StatementBegin
create or replace function ledger_entry_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
    none constant uuid := '00000000-0000-0000-0000-000000000000';
begin
    if tg_op = 'DELETE' and coalesce(current_setting('stayledger.erasing', true), '') <> '' and not exists (select from changed where team_id is distinct from stayledger_erasing()) then
        return null;
    end if;
    if exists (select from changed where not (ledger = 'historical' and statement_id is not null)
               group by team_id, txn_code, ledger, currency, status having sum(cent_total) <> 0) then
        raise exception using errcode = 'SL001', message = 'a posting does not balance';
    end if;
    if tg_op = 'INSERT' and exists (select from (select distinct team_id, account_id from changed) c
               where not exists (select from account a where a.team_id = c.team_id and a.id = c.account_id)) then
        raise exception using errcode = 'SL002', message = 'a posting names an unknown account';
    end if;
    insert into ledger_delta (team_id, ledger, currency, account_id, party, listing_id, day, ownership_period_id, expense, debit, credit, entries)
        select team_id, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, none), txn_at,
               case when party = 'owners' then coalesce(ownership_period_id, none) else none end, party is not distinct from 'owners' and trigger_type = 'expense',
               sign * sum(greatest(cent_total, 0)), sign * sum(greatest(-cent_total, 0)), sign * count(*)
        from changed where status = 'active' and ledger <> 'historical'
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function ledger_entry_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
    none constant uuid := '00000000-0000-0000-0000-000000000000';
begin
    if tg_op = 'DELETE' and not exists (select from changed where team_id is distinct from stayledger_erasing()) then
        return null;
    end if;
    if exists (select from changed where not (ledger = 'historical' and statement_id is not null)
               group by team_id, txn_code, ledger, currency, status having sum(cent_total) <> 0) then
        raise exception using errcode = 'SL001', message = 'a posting does not balance';
    end if;
    if tg_op = 'INSERT' and exists (select from (select distinct team_id, account_id from changed) c
               where not exists (select from account a where a.team_id = c.team_id and a.id = c.account_id)) then
        raise exception using errcode = 'SL002', message = 'a posting names an unknown account';
    end if;
    insert into ledger_delta (team_id, ledger, currency, account_id, party, listing_id, day, ownership_period_id, expense, debit, credit, entries)
        select team_id, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, none), txn_at,
               case when party = 'owners' then coalesce(ownership_period_id, none) else none end, party is not distinct from 'owners' and trigger_type = 'expense',
               sign * sum(greatest(cent_total, 0)), sign * sum(greatest(-cent_total, 0)), sign * count(*)
        from changed where status = 'active' and ledger <> 'historical'
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9;
    return null;
end
$$;
-- +goose StatementEnd
drop index transaction_open;
