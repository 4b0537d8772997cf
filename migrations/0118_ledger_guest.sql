-- +goose Up
-- What guests paid and were charged is kept as sums of the stays on which nothing is open. Reports read the entries of all other stays, and would
-- otherwise add up those of every stay that ever was.
set local stayledger.across_teams = 'on';

-- The stays, and the postings of guest money without a stay, that the sums may not have as they are now: something was posted on them, or something
-- is open. A stay has no code; a posting without one is named by its source and code. A row says nothing, the entries do. It is looked at from the
-- day due on.
create table ledger_guest (
    team_id uuid not null,
    stay_id uuid not null,
    txn_code text not null,
    due date not null default '-infinity',
    primary key (team_id, stay_id, txn_code)
);
select stayledger_tenant('ledger_guest');
create index ledger_guest_due on ledger_guest (due, team_id);

-- What the sums have of each stay: as much was paid as was charged. The sums hold on any day from the last entry and the departure on.
create table ledger_guest_settled (
    team_id uuid not null,
    stay_id uuid not null,
    txn_code text not null,
    currency text not null,
    listing_id uuid not null,
    status text not null,
    settled_at date not null,
    cents bigint not null,
    primary key (team_id, stay_id, txn_code, currency, listing_id)
);
select stayledger_tenant('ledger_guest_settled');
create index ledger_guest_settled_late on ledger_guest_settled (team_id, settled_at);

create table ledger_guest_kept (
    team_id uuid not null,
    currency text not null,
    status text not null,
    listing_id uuid not null,
    cents bigint not null,
    primary key (team_id, currency, status, listing_id)
);
select stayledger_tenant('ledger_guest_kept');

-- The task that settles them adds them to the sums.
insert into ledger_guest (team_id, stay_id, txn_code)
    select distinct e.team_id, coalesce(e.reservation_id, e.source_id), case when e.reservation_id is null then e.txn_code else '' end
    from ledger_entry e join account_assignment a on a.team_id = e.team_id and a.account_id = e.account_id
        and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')
    where e.status = 'active' and e.ledger = 'trust' order by 1, 2, 3;

-- +goose StatementBegin
-- Notes stays after entries on accounts of guests were added or removed.
create function ledger_guest_posted() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and coalesce(current_setting('stayledger.erasing', true), '') <> '' and not exists (select from changed where team_id is distinct from stayledger_erasing()) then
        return null;
    end if;
    insert into ledger_guest as g (team_id, stay_id, txn_code)
        select distinct e.team_id, coalesce(e.reservation_id, e.source_id), case when e.reservation_id is null then e.txn_code else '' end
        from changed e join account_assignment a on a.team_id = e.team_id and a.account_id = e.account_id
            and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')
        where e.status = 'active' and e.ledger = 'trust' order by 1, 2, 3
    on conflict (team_id, stay_id, txn_code) do update set due = '-infinity' where g.due > '-infinity';
    return null;
end
$$;

-- Notes both stays of an entry that follows its line from one to the other.
create function ledger_guest_moved() returns trigger language plpgsql as $$
begin
    insert into ledger_guest as g (team_id, stay_id, txn_code)
        select distinct team_id, coalesce(reservation_id, source_id), case when reservation_id is null then txn_code else '' end
        from (values (old.team_id, old.reservation_id, old.source_id, old.txn_code), (new.team_id, new.reservation_id, new.source_id, new.txn_code))
            e (team_id, reservation_id, source_id, txn_code) order by 1, 2, 3
    on conflict (team_id, stay_id, txn_code) do update set due = '-infinity' where g.due > '-infinity';
    return null;
end
$$;

-- Notes a stay that was cancelled, or ends on another day.
create function ledger_guest_stay_changed() returns trigger language plpgsql as $$
begin
    insert into ledger_guest as g (team_id, stay_id, txn_code) values (new.team_id, new.id, '')
    on conflict (team_id, stay_id, txn_code) do update set due = '-infinity' where g.due > '-infinity';
    return null;
end
$$;

-- Notes all stays with entries on an account.
create function ledger_guest_note(team uuid, account uuid) returns void language plpgsql as $$
begin
    insert into ledger_guest as g (team_id, stay_id, txn_code)
        select distinct e.team_id, coalesce(e.reservation_id, e.source_id), case when e.reservation_id is null then e.txn_code else '' end
        from ledger_entry e where e.team_id = team and e.account_id = account and e.status = 'active' and e.ledger = 'trust' order by 1, 2, 3
    on conflict (team_id, stay_id, txn_code) do update set due = '-infinity' where g.due > '-infinity';
end
$$;

-- Notes the stays of an account that guests owe on from now on, or no longer.
create function ledger_guest_assigned() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('stayledger.erasing', true), '') <> '' then
        return null;
    end if;
    if tg_op <> 'INSERT' then
        perform ledger_guest_note(old.team_id, old.account_id);
    end if;
    if tg_op <> 'DELETE' then
        perform ledger_guest_note(new.team_id, new.account_id);
    end if;
    return null;
end
$$;

-- The same of an account that becomes one of a bank, or is none any more: a bank is none that guests owe on.
create function ledger_guest_account_changed() returns trigger language plpgsql as $$
begin
    if exists (select from account_assignment a where a.team_id = new.team_id and a.account_id = new.id
               and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')) then
        perform ledger_guest_note(new.team_id, new.id);
    end if;
    return null;
end
$$;

-- Brings the sums up to date with up to so many of a team's stays, and says with how many. It locks them before it reads their entries: who posts on
-- one meanwhile waits, and notes it again. It waits for nobody. Who comes while somebody settles leaves it to him, since the sums are shared.
create function ledger_guest_settle(team uuid, most integer) returns bigint language plpgsql as $$
declare
    stays uuid[];
    codes text[];
    accounts uuid[];
begin
    if not pg_try_advisory_xact_lock(hashtextextended('ledger guests ' || team::text, 0)) then
        return 0;
    end if;
    select array_agg(g.stay_id), array_agg(g.txn_code) into stays, codes from (
        select stay_id, txn_code from ledger_guest where team_id = team and due <= current_date order by due limit most for update skip locked) g;
    accounts := array(select a.account_id from account_assignment a join account c on c.team_id = a.team_id and c.id = a.account_id
        where a.team_id = team and a.assignment in ('accountsReceivable', 'deposit_coHostPayout') and c.type <> 'bank');
    -- First take out what the sums have of them.
    with gone as (
        delete from ledger_guest_settled s using unnest(stays, codes) n (stay_id, txn_code)
            where s.team_id = team and s.stay_id = n.stay_id and s.txn_code = n.txn_code
        returning s.currency, s.status, s.listing_id, s.cents
    )
    update ledger_guest_kept k set cents = k.cents - g.cents
    from (select currency, status, listing_id, sum(cents) as cents from gone group by 1, 2, 3) g
    where k.team_id = team and k.currency = g.currency and k.status = g.status and k.listing_id = g.listing_id;
    -- Then add up their entries, and keep those on which nothing is open on any day from now on.
    with noted as materialized (
        select n.stay_id, n.txn_code, r.status, r.check_out from unnest(stays, codes) n (stay_id, txn_code)
        left join lateral (select status, check_out from reservation where team_id = team and id = n.stay_id offset 0) r on n.txn_code = ''
    ), cells as materialized (
        select n.stay_id, n.txn_code, e.* from noted n
        cross join lateral (
            select e.currency, coalesce(e.listing_id, '00000000-0000-0000-0000-000000000000') as listing_id, sum(e.cent_total) <> 0 as is_open,
                coalesce(sum(e.cent_total) filter (where e.transaction_id is null), 0) as cents, max(e.txn_at) as last_at
            from (
                (select * from ledger_entry where team_id = team and reservation_id = n.stay_id and n.txn_code = '' offset 0)
                union all
                (select * from ledger_entry where team_id = team and source_id = n.stay_id and txn_code = n.txn_code and n.txn_code <> '' offset 0)) e
            where e.status = 'active' and e.ledger = 'trust' and e.account_id = any(accounts) and (n.txn_code = '' or e.reservation_id is null)
            group by 1, 2 offset 0) e
    ), decided as materialized (
        select n.stay_id, n.txn_code, c.stay_id is null as is_empty, c.is_open,
            case when n.txn_code <> '' then 'unassigned' when n.status = 'booked' then 'departed' when n.status is not null then 'cancelled' end as status,
            greatest(c.last_at, case when n.status = 'booked' then n.check_out end) as settled_at
        from noted n left join (select stay_id, txn_code, bool_or(is_open) as is_open, max(last_at) as last_at from cells group by 1, 2) c using (stay_id, txn_code)
    ), settled as (
        insert into ledger_guest_settled (team_id, stay_id, txn_code, currency, listing_id, status, settled_at, cents)
            select team, d.stay_id, d.txn_code, c.currency, c.listing_id, d.status, d.settled_at, c.cents
            from decided d join cells c using (stay_id, txn_code) where not d.is_open and d.status is not null and d.settled_at <= current_date
        returning stay_id, txn_code, currency, status, listing_id, cents
    ), summed as (
        insert into ledger_guest_kept as k (team_id, currency, status, listing_id, cents)
            select team, currency, status, listing_id, sum(cents) from settled group by 2, 3, 4 order by 2, 3, 4
        on conflict (team_id, currency, status, listing_id) do update set cents = k.cents + excluded.cents
    ), kept as (
        -- A stay that is not there yet, or not any more, is looked at again after a month.
        update ledger_guest g set due = case when d.is_open then 'infinity' when d.settled_at > current_date then d.settled_at else current_date + 30 end
        from decided d where g.team_id = team and g.stay_id = d.stay_id and g.txn_code = d.txn_code
            and not d.is_empty and (d.is_open or d.status is null or d.settled_at > current_date)
    )
    delete from ledger_guest g using decided d where g.team_id = team and g.stay_id = d.stay_id and g.txn_code = d.txn_code
        and (d.is_empty or not d.is_open and d.status is not null and d.settled_at <= current_date);
    return coalesce(cardinality(stays), 0);
end
$$;
-- +goose StatementEnd

create trigger ledger_guest_added after insert on ledger_entry referencing new table as changed
    for each statement execute function ledger_guest_posted();
create trigger ledger_guest_removed after delete on ledger_entry referencing old table as changed
    for each statement execute function ledger_guest_posted();
create trigger ledger_guest_moved after update of reservation_id on ledger_entry
    for each row when (old.reservation_id is distinct from new.reservation_id) execute function ledger_guest_moved();
create trigger ledger_guest_stay_changed after update of status, check_out on reservation
    for each row when (old.status is distinct from new.status or old.check_out is distinct from new.check_out) execute function ledger_guest_stay_changed();
create trigger ledger_guest_assigned after insert on account_assignment
    for each row when (new.assignment in ('accountsReceivable', 'deposit_coHostPayout')) execute function ledger_guest_assigned();
create trigger ledger_guest_reassigned after update on account_assignment
    for each row when (old.assignment in ('accountsReceivable', 'deposit_coHostPayout') or new.assignment in ('accountsReceivable', 'deposit_coHostPayout'))
    execute function ledger_guest_assigned();
create trigger ledger_guest_unassigned after delete on account_assignment
    for each row when (old.assignment in ('accountsReceivable', 'deposit_coHostPayout')) execute function ledger_guest_assigned();
create trigger ledger_guest_account_changed after update of type on account
    for each row when ((old.type = 'bank') <> (new.type = 'bank')) execute function ledger_guest_account_changed();

-- +goose Down
drop trigger ledger_guest_account_changed on account;
drop trigger ledger_guest_unassigned on account_assignment;
drop trigger ledger_guest_reassigned on account_assignment;
drop trigger ledger_guest_assigned on account_assignment;
drop trigger ledger_guest_stay_changed on reservation;
drop trigger ledger_guest_moved on ledger_entry;
drop trigger ledger_guest_removed on ledger_entry;
drop trigger ledger_guest_added on ledger_entry;
drop function ledger_guest_settle, ledger_guest_account_changed, ledger_guest_assigned, ledger_guest_note, ledger_guest_stay_changed, ledger_guest_moved,
    ledger_guest_posted;
drop table ledger_guest_kept;
drop table ledger_guest_settled;
drop table ledger_guest;
