-- +goose Up
-- What comparing a bank account with its books reads is kept beside the rows, so that it costs what is open and not what there ever was: what of each
-- bank record transactions make up, what records come to day by day, and by which day each source of entries was settled with the bank. Triggers keep
-- all three; every one of them equals the rows at any moment, in the transaction that writes them as well.
set local stayledger.across_teams = 'on';

-- The cents of a record that transactions make up, in the direction of its amount.
alter table bank_record add column made bigint not null default 0;
update bank_record r set made = n.cents
    from (select team_id, bank_record_id, sum(cent_total) as cents from bank_reconciliation group by 1, 2) n
    where n.team_id = r.team_id and n.bank_record_id = r.id;
create index bank_record_open on bank_record (team_id, account_id, date, id) include (amount, made)
    where status = 'active' and type = 'transaction' and made <> amount;
create index bank_record_stated on bank_record (team_id, account_id, date, id) where status = 'active' and type = 'balance';
-- Only who asks when the latest record came says that it came at all, and so finds this index; for all others it looks as good as those above and is not.
create index bank_record_latest on bank_record (team_id, account_id, created_at) where status = 'active' and type = 'transaction' and created_at is not null;

-- What the active movements of an account come to by day, and how many there are. No writer waits for another: each notes what it changed.
create table bank_delta (
    team_id uuid not null,
    id bigint not null generated always as identity (cache 100),
    account_id uuid not null,
    day date not null,
    cents bigint not null,
    records bigint not null,
    primary key (team_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
-- It is nearly empty most of the time; statistics of a busy moment would say more of it than there is.
alter table bank_delta alter column team_id set statistics 0;
select stayledger_tenant('bank_delta');

create table bank_day_kept (
    team_id uuid not null,
    account_id uuid not null,
    day date not null,
    cents bigint not null,
    records bigint not null,
    primary key (team_id, account_id, day)
);
select stayledger_tenant('bank_day_kept');
insert into bank_day_kept (team_id, account_id, day, cents, records)
    select team_id, account_id, date, sum(amount), count(*) from bank_record
    where account_id is not null and status = 'active' and type = 'transaction' group by 1, 2, 3 order by 1, 2, 3;

create view bank_day with (security_invoker = true) as
    select team_id, account_id, day, cents, records from bank_day_kept union all select team_id, account_id, day, cents, records from bank_delta;

-- The sources that posted to a bank account or are on its records. All of one is settled by a day when its entries on the account are of one day, ledger
-- and currency and active records of the account make them up to the cent: on that day, or later, neither side has anything open of it. Everything else is never settled
-- here, and whoever compares looks at its entries and records themselves. So a comparison reads what is not settled by its day, and misses nothing.
create table bank_clearing (
    team_id uuid not null,
    account_id uuid not null,
    source_id uuid not null,
    settled_at date not null default 'infinity',
    primary key (team_id, account_id, source_id)
);
create index bank_clearing_open on bank_clearing (team_id, account_id, settled_at) include (source_id);
select stayledger_tenant('bank_clearing');

-- +goose StatementBegin
-- Says anew by which day sources are settled with accounts. Entries are found by their source: "is not distinct from" keeps the index of their account,
-- which has as many as there ever were, from being taken for it. The rows are held before entries and records are looked at, each in a statement of its own, so
-- that of two that change the two sides at the same time the second one sees what the first has done. Where something was taken away, sources of which
-- nothing is left are forgotten.
create function bank_clear(teams uuid[], accounts uuid[], sources uuid[], less boolean) returns void language plpgsql as $$
begin
    insert into bank_clearing (team_id, account_id, source_id)
        select distinct team_id, account_id, source_id from unnest(teams, accounts, sources) c (team_id, account_id, source_id) order by 1, 2, 3
    on conflict (team_id, account_id, source_id) do update set settled_at = 'infinity';
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
    update bank_clearing b set settled_at = greatest(e.day, m.day)
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

-- What entries that came or went on bank accounts mean for their sources.
create function ledger_entry_banked() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and stayledger_erasing() is not null then
        return null;
    end if;
    perform bank_clear(array_agg(team_id), array_agg(account_id), array_agg(source_id), tg_op = 'DELETE') from (
        select distinct e.team_id, e.account_id, e.source_id from changed e
        join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
        where e.status = 'active' and e.ledger <> 'historical') e
    having count(*) > 0;
    return null;
end
$$;
create trigger ledger_entry_banked after insert on ledger_entry referencing new table as changed for each statement execute function ledger_entry_banked();
create trigger ledger_entry_unbanked after delete on ledger_entry referencing old table as changed for each statement execute function ledger_entry_banked();

-- What records are made of was added to or taken from.
create function bank_reconciliation_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
begin
    if tg_op = 'DELETE' and stayledger_erasing() is not null then
        return null;
    end if;
    update bank_record r set made = r.made + sign * c.cents
        from (select team_id, bank_record_id, sum(cent_total) as cents from changed group by 1, 2) c
        where r.team_id = c.team_id and r.id = c.bank_record_id;
    perform bank_clear(array_agg(team_id), array_agg(account_id), array_agg(transaction_id), tg_op = 'DELETE') from changed having count(*) > 0;
    return null;
end
$$;
create trigger bank_reconciliation_added after insert on bank_reconciliation referencing new table as changed
    for each statement execute function bank_reconciliation_changed();
create trigger bank_reconciliation_removed after delete on bank_reconciliation referencing old table as changed
    for each statement execute function bank_reconciliation_changed();

create function bank_reconciliation_updated() returns trigger language plpgsql as $$
begin
    raise exception using errcode = 'SL014', message = 'what a bank record is made of is replaced, never edited';
end
$$;
create trigger bank_reconciliation_updated before update on bank_reconciliation for each statement execute function bank_reconciliation_updated();

-- Notes what movements that came or went change in the sums of their accounts.
create function bank_record_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
begin
    if tg_op = 'DELETE' and stayledger_erasing() is not null then
        return null;
    end if;
    insert into bank_delta (team_id, account_id, day, cents, records)
        select team_id, account_id, date, sign * sum(amount), sign * count(*) from changed
        where account_id is not null and status = 'active' and type = 'transaction' group by 1, 2, 3;
    return null;
end
$$;
create trigger bank_record_added after insert on bank_record referencing new table as changed for each statement execute function bank_record_changed();
create trigger bank_record_removed after delete on bank_record referencing old table as changed for each statement execute function bank_record_changed();

create function bank_record_updated() returns trigger language plpgsql as $$
begin
    insert into bank_delta (team_id, account_id, day, cents, records)
        select team_id, account_id, date, sum(sign * amount), sum(sign) from (
            select 1 as sign, team_id, account_id, date, amount from now where account_id is not null and status = 'active' and type = 'transaction'
            union all
            select -1, team_id, account_id, date, amount from was where account_id is not null and status = 'active' and type = 'transaction') c
        group by 1, 2, 3 having sum(sign * amount) <> 0 or sum(sign) <> 0;
    perform bank_clear(array_agg(n.team_id), array_agg(n.account_id), array_agg(n.transaction_id), false)
        from was join now using (team_id, id) join bank_reconciliation n on n.team_id = now.team_id and n.bank_record_id = now.id
        where (was.date, was.status) is distinct from (now.date, now.status)
        having count(*) > 0;
    return null;
end
$$;
create trigger bank_record_updated after update on bank_record referencing old table as was new table as now
    for each statement execute function bank_record_updated();

-- Folds up to so many of a team's notes into the kept sums and says how many. Whoever comes while somebody folds leaves it to him: two that fold could
-- wait for each other.
create function bank_fold(team uuid, most integer) returns bigint language plpgsql as $$
declare
    folded bigint;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('bank fold ' || team::text, 0)) then
        return 0;
    end if;
    with taken as (
        delete from bank_delta d where d.team_id = team
            and d.id <= (select max(f.id) from (select id from bank_delta where team_id = team order by id limit most) f)
        returning *
    ), days as (
        insert into bank_day_kept as d (team_id, account_id, day, cents, records)
            select team_id, account_id, day, sum(cents), sum(records) from taken group by 1, 2, 3 order by 1, 2, 3
        on conflict (team_id, account_id, day) do update set cents = d.cents + excluded.cents, records = d.records + excluded.records
    )
    select count(*) into folded from taken;
    return folded;
end
$$;
-- +goose StatementEnd

select bank_clear(array_agg(team_id), array_agg(account_id), array_agg(source_id), false) from (
    select distinct e.team_id, e.account_id, e.source_id from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
    where e.status = 'active' and e.ledger <> 'historical'
    union select team_id, account_id, transaction_id from bank_reconciliation) c
having count(*) > 0;

-- +goose Down
