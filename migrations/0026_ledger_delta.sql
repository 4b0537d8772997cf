-- +goose Up
-- Writers never wait for each other over a sum: what a statement adds to the ledger or takes from it becomes rows of its own, a few for each
-- posting, and a background task folds them into the kept sums. The sums that everybody reads, ledger_balance, ledger_month and ledger_day, are
-- views of the kept sums and of what is not folded yet, so they equal the entries at any moment, in the transaction that writes them as well.
set local stayledger.across_teams = 'on';

create table ledger_delta (
    team_id uuid not null,
    id bigint not null generated always as identity (cache 100),
    ledger text not null,
    currency text not null,
    account_id uuid not null,
    party text not null,
    listing_id uuid not null,
    day date not null,
    month date not null generated always as (date_trunc('month', day::timestamp)::date) stored,
    debit bigint not null,
    credit bigint not null,
    primary key (team_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
-- It is nearly empty most of the time; statistics of a busy moment would say more of it than there is.
alter table ledger_delta alter column team_id set statistics 0;
select stayledger_tenant('ledger_delta');

alter table ledger_balance rename to ledger_balance_kept;
alter index ledger_balance_pkey rename to ledger_balance_kept_pkey;
alter index ledger_balance_listing rename to ledger_balance_kept_listing;

-- One writer at a time folds, so a month and a day need no parts.
create temporary table whole_month on commit drop as
    select team_id, ledger, currency, account_id, party, month, sum(debit)::bigint as debit, sum(credit)::bigint as credit
    from ledger_month group by 1, 2, 3, 4, 5, 6;
create temporary table whole_day on commit drop as
    select team_id, ledger, currency, day, account_id, party, sum(debit)::bigint as debit, sum(credit)::bigint as credit
    from ledger_day group by 1, 2, 3, 4, 5, 6;
truncate ledger_month, ledger_day;
alter table ledger_month drop column part;
alter table ledger_month add primary key (team_id, ledger, currency, account_id, party, month);
alter table ledger_month rename to ledger_month_kept;
alter index ledger_month_pkey rename to ledger_month_kept_pkey;
insert into ledger_month_kept (team_id, ledger, currency, account_id, party, month, debit, credit) select * from whole_month order by 1, 2, 3, 4, 5, 6;
alter table ledger_day drop column part;
alter table ledger_day add primary key (team_id, ledger, currency, day, account_id, party);
alter table ledger_day rename to ledger_day_kept;
alter index ledger_day_pkey rename to ledger_day_kept_pkey;
insert into ledger_day_kept (team_id, ledger, currency, day, account_id, party, debit, credit) select * from whole_day order by 1, 2, 3, 4, 5, 6;

create view ledger_balance with (security_invoker = true) as
    select team_id, ledger, currency, account_id, party, listing_id, month, debit, credit from ledger_balance_kept
    union all
    select team_id, ledger, currency, account_id, party, listing_id, month, debit, credit from ledger_delta;
create view ledger_month with (security_invoker = true) as
    select team_id, ledger, currency, account_id, party, month, debit, credit from ledger_month_kept
    union all
    select team_id, ledger, currency, account_id, party, month, debit, credit from ledger_delta;
create view ledger_day with (security_invoker = true) as
    select team_id, ledger, currency, day, account_id, party, debit, credit from ledger_day_kept
    union all
    select team_id, ledger, currency, day, account_id, party, debit, credit from ledger_delta;

-- +goose StatementBegin
-- What a statement added or removed must balance by itself, and is noted for the sums. Lines of imported owner statements are no part of any
-- books and have one side.
create or replace function ledger_entry_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
begin
    if exists (select from changed where not (ledger = 'historical' and statement_id is not null)
               group by team_id, txn_code, ledger, currency, status having sum(cent_total) <> 0) then
        raise exception using errcode = 'SL001', message = 'a posting does not balance';
    end if;
    if tg_op = 'INSERT' and exists (select from (select distinct team_id, account_id from changed) c
               where not exists (select from account a where a.team_id = c.team_id and a.id = c.account_id)) then
        raise exception using errcode = 'SL002', message = 'a posting names an unknown account';
    end if;
    insert into ledger_delta (team_id, ledger, currency, account_id, party, listing_id, day, debit, credit)
        select team_id, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, '00000000-0000-0000-0000-000000000000'), txn_at,
               sign * sum(greatest(cent_total, 0)), sign * sum(greatest(-cent_total, 0))
        from changed where status = 'active' and ledger <> 'historical'
        group by 1, 2, 3, 4, 5, 6, 7;
    return null;
end
$$;

-- Folds up to so many of a team's deltas into the kept sums and says how many. Nobody else touches the kept sums, and whoever comes while
-- somebody folds leaves it to him: two that fold could wait for each other.
create function ledger_fold(team uuid, most integer) returns bigint language plpgsql as $$
declare
    folded bigint;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('ledger fold ' || team::text, 0)) then
        return 0;
    end if;
    with taken as (
        delete from ledger_delta d where d.team_id = team
            and d.id <= (select max(f.id) from (select id from ledger_delta where team_id = team order by id limit most) f)
        returning *
    ), balances as (
        insert into ledger_balance_kept as b (team_id, ledger, currency, account_id, party, listing_id, month, debit, credit)
            select team_id, ledger, currency, account_id, party, listing_id, month, sum(debit), sum(credit)
            from taken group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7
        on conflict (team_id, ledger, currency, account_id, party, listing_id, month)
            do update set debit = b.debit + excluded.debit, credit = b.credit + excluded.credit
    ), months as (
        insert into ledger_month_kept as m (team_id, ledger, currency, account_id, party, month, debit, credit)
            select team_id, ledger, currency, account_id, party, month, sum(debit), sum(credit)
            from taken group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
        on conflict (team_id, ledger, currency, account_id, party, month)
            do update set debit = m.debit + excluded.debit, credit = m.credit + excluded.credit
    ), days as (
        insert into ledger_day_kept as d (team_id, ledger, currency, day, account_id, party, debit, credit)
            select team_id, ledger, currency, day, account_id, party, sum(debit), sum(credit)
            from taken group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
        on conflict (team_id, ledger, currency, day, account_id, party)
            do update set debit = d.debit + excluded.debit, credit = d.credit + excluded.credit
    )
    select count(*) into folded from taken;
    return folded;
end
$$;
-- +goose StatementEnd

-- +goose Down
