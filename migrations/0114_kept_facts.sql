-- +goose Up
-- What the entries of a source say is kept in one narrow row, and the stays that guests may owe something on are kept by ownership period: reading
-- a page of sources, or of statements, would otherwise walk all of their entries each time.
set local stayledger.across_teams = 'on';

-- The active entries of a source outside of the historical ledger: the first day of all and of the owners', their ownership periods, and the
-- statements that hold some. A source without such entries has no row.
create table ledger_source (
    team_id uuid not null,
    source_id uuid not null,
    first_at date not null,
    owned_from date,
    period_ids uuid[] not null,
    statement_ids uuid[] not null,
    primary key (team_id, source_id)
);
select stayledger_tenant('ledger_source');

-- Stays with entries of an ownership period's owners. A row that is missing stands for a stay on which guests owe nothing and will owe nothing
-- unless something is posted; a row says nothing. It is looked at again from the day due on: at once when something was posted.
create table ledger_unsettled (
    team_id uuid not null,
    ownership_period_id uuid not null,
    reservation_id uuid not null,
    due date not null default '-infinity',
    primary key (team_id, ownership_period_id, reservation_id)
);
select stayledger_tenant('ledger_unsettled');
create index ledger_unsettled_due on ledger_unsettled (due, team_id);

-- Whose entries of owners without an ownership period are looked for by stay.
create index ledger_entry_ownerless on ledger_entry (team_id, reservation_id) where party = 'owners' and ownership_period_id is null;

-- Stays to come, by listing.
create index reservation_by_departure on reservation (team_id, listing_id, check_out);

insert into ledger_source (team_id, source_id, first_at, owned_from, period_ids, statement_ids)
    select team_id, source_id, min(txn_at), min(txn_at) filter (where party = 'owners'),
           coalesce(array_agg(distinct ownership_period_id) filter (where party = 'owners' and ownership_period_id is not null), '{}'),
           coalesce(array_agg(distinct statement_id) filter (where statement_id is not null), '{}')
    from ledger_entry where status = 'active' and ledger <> 'historical' group by 1, 2 order by 1, 2;

-- The task that settles them takes away what is not open.
insert into ledger_unsettled (team_id, ownership_period_id, reservation_id)
    select distinct team_id, ownership_period_id, reservation_id from ledger_entry
    where party = 'owners' and ownership_period_id is not null and reservation_id is not null and status = 'active' and ledger <> 'historical'
    order by 1, 2, 3;

-- +goose StatementBegin
-- Notes stays on which something was posted, or the account of which guests owe on has changed. What is asked of a stay's entries is asked outside of
-- the subquery that finds them, here and below: inside, an index of all entries of owners looks as good to the planner.
create function ledger_unsettle(teams uuid[], stays uuid[]) returns void language plpgsql as $$
begin
    insert into ledger_unsettled as u (team_id, ownership_period_id, reservation_id)
        select distinct e.team_id, e.ownership_period_id, e.reservation_id
        from unnest(teams, stays) s (team_id, reservation_id)
        cross join lateral (select * from ledger_entry e where e.team_id = s.team_id and e.reservation_id = s.reservation_id offset 0) e
        where e.party = 'owners' and e.ownership_period_id is not null and e.status = 'active' and e.ledger <> 'historical'
        order by 1, 2, 3
    on conflict (team_id, ownership_period_id, reservation_id) do update set due = '-infinity' where u.due > '-infinity';
end
$$;

-- Takes away up to so many of a team's stays on which nothing is open, and says how many it has looked at. It locks them before it reads their
-- entries: who posts on one meanwhile waits, and notes it again. It waits for nobody. Open ones are looked at again after a month, since a stay can
-- leave an ownership period.
create function ledger_settle(team uuid, most integer) returns bigint language plpgsql as $$
declare
    periods uuid[];
    stays uuid[];
begin
    select array_agg(u.ownership_period_id), array_agg(u.reservation_id) into periods, stays from (
        select ownership_period_id, reservation_id from ledger_unsettled where team_id = team and due <= current_date order by due limit most
        for update skip locked) u;
    with decided as materialized (
        select u.*, e.is_earned and (o.is_open or coalesce(o.last_at >= current_date, false)) as stays, greatest(o.last_at + 1, current_date + 30) as next_at
        from unnest(periods, stays) u (ownership_period_id, reservation_id)
        cross join lateral (
            select exists (select from (select * from ledger_entry where team_id = team and reservation_id = u.reservation_id offset 0) e
                where e.party = 'owners' and e.ownership_period_id = u.ownership_period_id and e.status = 'active' and e.ledger <> 'historical') as is_earned) e
        cross join lateral (
            select coalesce(bool_or(a.cents <> 0), false) as is_open, max(a.last_at) as last_at from (
                select sum(e.cent_total) as cents, max(e.txn_at) as last_at from ledger_entry e
                where e.team_id = team and e.reservation_id = u.reservation_id and e.status = 'active' and e.ledger <> 'historical'
                    and e.account_id = any(array(select a.account_id from account_assignment a
                        where a.team_id = team and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')))
                group by e.currency, e.account_id offset 0) a) o
    ), settled as (
        delete from ledger_unsettled u using decided d where u.team_id = team and u.ownership_period_id = d.ownership_period_id
            and u.reservation_id = d.reservation_id and not d.stays
    )
    update ledger_unsettled u set due = d.next_at from decided d where u.team_id = team and u.ownership_period_id = d.ownership_period_id
        and u.reservation_id = d.reservation_id and d.stays;
    return coalesce(cardinality(periods), 0);
end
$$;

-- Keeps what the entries of sources say, after entries were added.
create function ledger_source_added() returns trigger language plpgsql as $$
begin
    insert into ledger_source as f (team_id, source_id, first_at, owned_from, period_ids, statement_ids)
        select team_id, source_id, min(txn_at), min(txn_at) filter (where party = 'owners'),
               coalesce(array_agg(distinct ownership_period_id) filter (where party = 'owners' and ownership_period_id is not null), '{}'),
               coalesce(array_agg(distinct statement_id) filter (where statement_id is not null), '{}')
        from changed where status = 'active' and ledger <> 'historical' group by 1, 2 order by 1, 2
    on conflict (team_id, source_id) do update set first_at = least(f.first_at, excluded.first_at), owned_from = least(f.owned_from, excluded.owned_from),
        period_ids = array(select distinct unnest(f.period_ids || excluded.period_ids) order by 1),
        statement_ids = array(select distinct unnest(f.statement_ids || excluded.statement_ids) order by 1);
    perform ledger_unsettle(array_agg(team_id), array_agg(reservation_id)) from (select distinct team_id, reservation_id from changed
        where reservation_id is not null and status = 'active' and ledger <> 'historical') s having count(*) > 0;
    return null;
end
$$;

-- Keeps the same after entries of sources are gone, or are free of a statement. Who changes the entries of a source at the same moment is waited
-- for before they are read.
create function ledger_source_reread(teams uuid[], sources uuid[]) returns void language plpgsql as $$
begin
    perform from unnest(teams, sources) s (team_id, source_id) join ledger_source f using (team_id, source_id)
        order by f.team_id, f.source_id for update of f;
    with said as materialized (
        select s.team_id, s.source_id, e.* from unnest(teams, sources) s (team_id, source_id)
        cross join lateral (
            select min(e.txn_at) as first_at, min(e.txn_at) filter (where e.party = 'owners') as owned_from,
                   coalesce(array_agg(distinct e.ownership_period_id) filter (where e.party = 'owners' and e.ownership_period_id is not null), '{}') as period_ids,
                   coalesce(array_agg(distinct e.statement_id) filter (where e.statement_id is not null), '{}') as statement_ids
            from ledger_entry e where e.team_id = s.team_id and e.source_id = s.source_id and e.status = 'active' and e.ledger <> 'historical') e
    ), gone as (
        delete from ledger_source f using said s where f.team_id = s.team_id and f.source_id = s.source_id and s.first_at is null
    )
    update ledger_source f set first_at = s.first_at, owned_from = s.owned_from, period_ids = s.period_ids, statement_ids = s.statement_ids
    from said s where f.team_id = s.team_id and f.source_id = s.source_id and s.first_at is not null
        and (f.first_at, f.owned_from, f.period_ids, f.statement_ids) is distinct from (s.first_at, s.owned_from, s.period_ids, s.statement_ids);
end
$$;

create function ledger_source_removed() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('stayledger.erasing', true), '') <> '' and not exists (select from changed where team_id is distinct from stayledger_erasing()) then
        return null;
    end if;
    perform ledger_source_reread(array_agg(team_id), array_agg(source_id)) from (select distinct team_id, source_id from changed
        where status = 'active' and ledger <> 'historical') s having count(*) > 0;
    perform ledger_unsettle(array_agg(team_id), array_agg(reservation_id)) from (select distinct team_id, reservation_id from changed
        where reservation_id is not null and status = 'active' and ledger <> 'historical') s having count(*) > 0;
    return null;
end
$$;

create function ledger_source_changed() returns trigger language plpgsql as $$
begin
    -- Entries that a statement has taken, and those that one has set free.
    update ledger_source f set statement_ids = array(select distinct unnest(f.statement_ids || s.statement_ids) order by 1)
    from (select team_id, source_id, array_agg(distinct statement_id) as statement_ids from now
          where statement_id is not null and status = 'active' and ledger <> 'historical' group by 1, 2) s
    where f.team_id = s.team_id and f.source_id = s.source_id and not f.statement_ids @> s.statement_ids;
    perform ledger_source_reread(array_agg(team_id), array_agg(source_id)) from (
        select distinct team_id, source_id from (
            select team_id, id, source_id, statement_id from was where statement_id is not null and status = 'active' and ledger <> 'historical'
            except
            select team_id, id, source_id, statement_id from now where statement_id is not null) s) s having count(*) > 0;
    -- Entries that follow their line to another stay.
    perform ledger_unsettle(array_agg(team_id), array_agg(reservation_id)) from (
        select distinct team_id, reservation_id from (
            (select team_id, id, reservation_id from now except select team_id, id, reservation_id from was)
            union all
            (select team_id, id, reservation_id from was except select team_id, id, reservation_id from now)) s
        where reservation_id is not null) s having count(*) > 0;
    return null;
end
$$;

-- An account that guests owe on from now on may have entries already.
create function ledger_guests_assigned() returns trigger language plpgsql as $$
begin
    perform ledger_unsettle(array_agg(team_id), array_agg(reservation_id)) from (
        select distinct e.team_id, e.reservation_id from changed c join ledger_entry e on e.team_id = c.team_id and e.account_id = c.account_id
        where c.assignment in ('accountsReceivable', 'deposit_coHostPayout') and e.reservation_id is not null) s having count(*) > 0;
    return null;
end
$$;
-- +goose StatementEnd

create trigger ledger_source_added after insert on ledger_entry referencing new table as changed
    for each statement execute function ledger_source_added();
create trigger ledger_source_removed after delete on ledger_entry referencing old table as changed
    for each statement execute function ledger_source_removed();
create trigger ledger_source_changed after update on ledger_entry referencing old table as was new table as now
    for each statement execute function ledger_source_changed();
create trigger ledger_guests_assigned after insert on account_assignment referencing new table as changed
    for each statement execute function ledger_guests_assigned();
create trigger ledger_guests_reassigned after update on account_assignment referencing new table as changed
    for each statement execute function ledger_guests_assigned();

-- +goose Down
drop trigger ledger_guests_reassigned on account_assignment;
drop trigger ledger_guests_assigned on account_assignment;
drop trigger ledger_source_changed on ledger_entry;
drop trigger ledger_source_removed on ledger_entry;
drop trigger ledger_source_added on ledger_entry;
drop function ledger_guests_assigned, ledger_source_changed, ledger_source_removed, ledger_source_reread, ledger_source_added, ledger_settle,
    ledger_unsettle;
drop index reservation_by_departure;
drop index ledger_entry_ownerless;
drop table ledger_unsettled;
drop table ledger_source;
