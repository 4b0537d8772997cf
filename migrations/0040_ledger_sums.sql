-- +goose Up
-- The sums of the ledger know how many entries they are of, so that lists of entries tell their totals without reading them, and there are sums of
-- what each ownership period's owners earned, by month and account, which statements and drafts are made of, and of what each stay comes to by account,
-- such as what its guests owe.
set local stayledger.across_teams = 'on';

alter table ledger_delta
    add column ownership_period_id uuid not null default '00000000-0000-0000-0000-000000000000',
    add column expense boolean not null default false,
    add column reservation_id uuid not null default '00000000-0000-0000-0000-000000000000',
    add column entries bigint not null default 0;
alter table ledger_balance_kept add column entries bigint not null default 0;
alter table ledger_month_kept add column entries bigint not null default 0;
alter table ledger_day_kept add column entries bigint not null default 0;

-- Sums of the owners' active entries of an ownership period. An expense is what was entered as one, whatever its account. Cents are debits less credits.
create table ledger_owner_kept (
    team_id uuid not null,
    ownership_period_id uuid not null,
    currency text not null,
    month date not null,
    account_id uuid not null,
    expense boolean not null,
    cents bigint not null,
    entries bigint not null,
    primary key (team_id, ownership_period_id, currency, month, account_id, expense)
);
select stayledger_tenant('ledger_owner_kept');

-- Sums of the active entries of a reservation.
create table ledger_stay_kept (
    team_id uuid not null,
    reservation_id uuid not null,
    currency text not null,
    account_id uuid not null,
    cents bigint not null,
    primary key (team_id, reservation_id, currency, account_id)
);
select stayledger_tenant('ledger_stay_kept');

-- What is not folded yet counts no entries and names neither period nor stay, so all that stands is added up here.
insert into ledger_owner_kept (team_id, ownership_period_id, currency, month, account_id, expense, cents, entries)
    select team_id, ownership_period_id, currency, date_trunc('month', txn_at::timestamp)::date, account_id, trigger_type = 'expense', sum(cent_total), count(*)
    from ledger_entry where party = 'owners' and status = 'active' and ledger <> 'historical' and ownership_period_id is not null
    group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6;
insert into ledger_stay_kept (team_id, reservation_id, currency, account_id, cents)
    select team_id, reservation_id, currency, account_id, sum(cent_total)
    from ledger_entry where status = 'active' and ledger <> 'historical' and reservation_id is not null
    group by 1, 2, 3, 4 order by 1, 2, 3, 4;
insert into ledger_balance_kept as b (team_id, ledger, currency, account_id, party, listing_id, month, debit, credit, entries)
    select team_id, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, '00000000-0000-0000-0000-000000000000'),
        date_trunc('month', txn_at::timestamp)::date, 0, 0, count(*)
    from ledger_entry where status = 'active' and ledger <> 'historical' group by 1, 2, 3, 4, 5, 6, 7
on conflict (team_id, ledger, currency, account_id, party, listing_id, month) do update set entries = excluded.entries;
insert into ledger_month_kept as m (team_id, ledger, currency, account_id, party, month, debit, credit, entries)
    select team_id, ledger, currency, account_id, coalesce(party, ''), date_trunc('month', txn_at::timestamp)::date, 0, 0, count(*)
    from ledger_entry where status = 'active' and ledger <> 'historical' group by 1, 2, 3, 4, 5, 6
on conflict (team_id, ledger, currency, account_id, party, month) do update set entries = excluded.entries;
insert into ledger_day_kept as d (team_id, ledger, currency, day, account_id, party, debit, credit, entries)
    select team_id, ledger, currency, txn_at, account_id, coalesce(party, ''), 0, 0, count(*)
    from ledger_entry where status = 'active' and ledger <> 'historical' group by 1, 2, 3, 4, 5, 6
on conflict (team_id, ledger, currency, day, account_id, party) do update set entries = excluded.entries;

-- What stays brought the owners of an ownership period is found in the index alone.
drop index ledger_entry_period;
create index ledger_entry_period on ledger_entry (team_id, ownership_period_id, txn_at) include (reservation_id, ledger, status)
    where party = 'owners';

create or replace view ledger_balance with (security_invoker = true) as
    select team_id, ledger, currency, account_id, party, listing_id, month, debit, credit, entries from ledger_balance_kept
    union all
    select team_id, ledger, currency, account_id, party, listing_id, month, debit, credit, entries from ledger_delta;
create or replace view ledger_month with (security_invoker = true) as
    select team_id, ledger, currency, account_id, party, month, debit, credit, entries from ledger_month_kept
    union all
    select team_id, ledger, currency, account_id, party, month, debit, credit, entries from ledger_delta;
create or replace view ledger_day with (security_invoker = true) as
    select team_id, ledger, currency, day, account_id, party, debit, credit, entries from ledger_day_kept
    union all
    select team_id, ledger, currency, day, account_id, party, debit, credit, entries from ledger_delta;
create view ledger_owner with (security_invoker = true) as
    select team_id, ownership_period_id, currency, month, account_id, expense, cents, entries from ledger_owner_kept
    union all
    select team_id, ownership_period_id, currency, month, account_id, expense, debit - credit, entries from ledger_delta
    where ownership_period_id <> '00000000-0000-0000-0000-000000000000';
create view ledger_stay with (security_invoker = true) as
    select team_id, reservation_id, currency, account_id, cents from ledger_stay_kept
    union all
    select team_id, reservation_id, currency, account_id, debit - credit from ledger_delta
    where reservation_id <> '00000000-0000-0000-0000-000000000000';

-- +goose StatementBegin
-- What a statement added or removed must balance by itself, and is noted for the sums. Lines of imported owner statements are no part of any
-- books and have one side. Of books that are erased nothing has to balance, and nobody adds them up any more.
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
    insert into ledger_delta (team_id, ledger, currency, account_id, party, listing_id, day, ownership_period_id, expense, reservation_id, debit, credit, entries)
        select team_id, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, none), txn_at,
               case when party = 'owners' then coalesce(ownership_period_id, none) else none end, party is not distinct from 'owners' and trigger_type = 'expense',
               coalesce(reservation_id, none),
               sign * sum(greatest(cent_total, 0)), sign * sum(greatest(-cent_total, 0)), sign * count(*)
        from changed where status = 'active' and ledger <> 'historical'
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
    return null;
end
$$;

create or replace function ledger_entry_updated() returns trigger language plpgsql as $$
begin
    if exists (select from was join now using (team_id, id)
               where (was.cent_total, was.account_id, was.txn_at, was.status, was.ledger, was.currency, was.txn_code, was.party, was.listing_id,
                      was.ownership_period_id, was.trigger_type, was.reservation_id)
                     is distinct from
                     (now.cent_total, now.account_id, now.txn_at, now.status, now.ledger, now.currency, now.txn_code, now.party, now.listing_id,
                      now.ownership_period_id, now.trigger_type, now.reservation_id)) then
        raise exception using errcode = 'SL003', message = 'a journal entry is replaced, never edited';
    end if;
    return null;
end
$$;

-- Folds up to so many of a team's deltas into the kept sums and says how many. Nobody else touches the kept sums, and whoever comes while
-- somebody folds leaves it to him: two that fold could wait for each other.
create or replace function ledger_fold(team uuid, most integer) returns bigint language plpgsql as $$
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
        insert into ledger_balance_kept as b (team_id, ledger, currency, account_id, party, listing_id, month, debit, credit, entries)
            select team_id, ledger, currency, account_id, party, listing_id, month, sum(debit), sum(credit), sum(entries)
            from taken group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7
        on conflict (team_id, ledger, currency, account_id, party, listing_id, month)
            do update set debit = b.debit + excluded.debit, credit = b.credit + excluded.credit, entries = b.entries + excluded.entries
    ), months as (
        insert into ledger_month_kept as m (team_id, ledger, currency, account_id, party, month, debit, credit, entries)
            select team_id, ledger, currency, account_id, party, month, sum(debit), sum(credit), sum(entries)
            from taken group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
        on conflict (team_id, ledger, currency, account_id, party, month)
            do update set debit = m.debit + excluded.debit, credit = m.credit + excluded.credit, entries = m.entries + excluded.entries
    ), days as (
        insert into ledger_day_kept as d (team_id, ledger, currency, day, account_id, party, debit, credit, entries)
            select team_id, ledger, currency, day, account_id, party, sum(debit), sum(credit), sum(entries)
            from taken group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
        on conflict (team_id, ledger, currency, day, account_id, party)
            do update set debit = d.debit + excluded.debit, credit = d.credit + excluded.credit, entries = d.entries + excluded.entries
    ), owners as (
        insert into ledger_owner_kept as o (team_id, ownership_period_id, currency, month, account_id, expense, cents, entries)
            select team_id, ownership_period_id, currency, month, account_id, expense, sum(debit - credit), sum(entries)
            from taken where ownership_period_id <> '00000000-0000-0000-0000-000000000000' group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
        on conflict (team_id, ownership_period_id, currency, month, account_id, expense)
            do update set cents = o.cents + excluded.cents, entries = o.entries + excluded.entries
    ), stays as (
        insert into ledger_stay_kept as s (team_id, reservation_id, currency, account_id, cents)
            select team_id, reservation_id, currency, account_id, sum(debit - credit)
            from taken where reservation_id <> '00000000-0000-0000-0000-000000000000' group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (team_id, reservation_id, currency, account_id) do update set cents = s.cents + excluded.cents
    )
    select count(*) into folded from taken;
    return folded;
end
$$;
-- +goose StatementEnd

-- +goose Down
