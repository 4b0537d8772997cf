-- +goose Up
-- Totals of lists are kept, so that a page of a million rows costs what a page of ten does: what a statement adds to a listed table or removes is
-- noted by a row of its own, so no writer waits for another, and a background task folds the notes into the kept counts. Everybody reads the view
-- of both, which equals the rows at any moment, in the transaction that writes them as well. The lists' usual orders get indexes.
set local stayledger.across_teams = 'on';

create table list_delta (
    team_id uuid not null,
    id bigint not null generated always as identity (cache 100),
    list text not null,
    rows bigint not null,
    primary key (team_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
-- It is nearly empty most of the time; statistics of a busy moment would say more of it than there is.
alter table list_delta alter column team_id set statistics 0;
select stayledger_tenant('list_delta');

create table list_count_kept (
    team_id uuid not null,
    list text not null,
    rows bigint not null,
    primary key (team_id, list)
);
select stayledger_tenant('list_count_kept');

create view list_count with (security_invoker = true) as
    select team_id, list, rows from list_count_kept union all select team_id, list, rows from list_delta;

-- +goose StatementBegin
-- Notes how many rows of each team a statement added or removed; what an erased team had is counted no more. Balances that banks stated are no
-- part of the usual list of bank records and not counted.
create function list_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
begin
    if tg_op = 'DELETE' and stayledger_erasing() is not null then
        return null;
    end if;
    if tg_table_name = 'bank_record' then
        insert into list_delta (team_id, list, rows) select team_id, tg_table_name, sign * count(*) from changed where type = 'transaction' group by team_id;
    else
        insert into list_delta (team_id, list, rows) select team_id, tg_table_name, sign * count(*) from changed group by team_id;
    end if;
    return null;
end
$$;

-- Folds up to so many of a team's notes into the kept counts and says how many. Whoever comes while somebody folds leaves it to him: two that fold
-- could wait for each other.
create function list_fold(team uuid, most integer) returns bigint language plpgsql as $$
declare
    folded bigint;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('list fold ' || team::text, 0)) then
        return 0;
    end if;
    with taken as (
        delete from list_delta d where d.team_id = team
            and d.id <= (select max(f.id) from (select id from list_delta where team_id = team order by id limit most) f)
        returning *
    ), counts as (
        insert into list_count_kept as k (team_id, list, rows)
            select team_id, list, sum(rows) from taken group by 1, 2 order by 1, 2
        on conflict (team_id, list) do update set rows = k.rows + excluded.rows
    )
    select count(*) into folded from taken;
    return folded;
end
$$;
-- +goose StatementEnd

create trigger contact_listed after insert on contact referencing new table as changed for each statement execute function list_changed();
create trigger contact_unlisted after delete on contact referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'contact', count(*) from contact group by team_id order by team_id;

create trigger listing_listed after insert on listing referencing new table as changed for each statement execute function list_changed();
create trigger listing_unlisted after delete on listing referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'listing', count(*) from listing group by team_id order by team_id;

create trigger listing_ownership_period_listed after insert on listing_ownership_period referencing new table as changed for each statement execute function list_changed();
create trigger listing_ownership_period_unlisted after delete on listing_ownership_period referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'listing_ownership_period', count(*) from listing_ownership_period group by team_id order by team_id;

create trigger account_listed after insert on account referencing new table as changed for each statement execute function list_changed();
create trigger account_unlisted after delete on account referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'account', count(*) from account group by team_id order by team_id;

create trigger fee_listed after insert on fee referencing new table as changed for each statement execute function list_changed();
create trigger fee_unlisted after delete on fee referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'fee', count(*) from fee group by team_id order by team_id;

create trigger reservation_listed after insert on reservation referencing new table as changed for each statement execute function list_changed();
create trigger reservation_unlisted after delete on reservation referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'reservation', count(*) from reservation group by team_id order by team_id;

create trigger transaction_listed after insert on transaction referencing new table as changed for each statement execute function list_changed();
create trigger transaction_unlisted after delete on transaction referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'transaction', count(*) from transaction group by team_id order by team_id;

create trigger journal_listed after insert on journal referencing new table as changed for each statement execute function list_changed();
create trigger journal_unlisted after delete on journal referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'journal', count(*) from journal group by team_id order by team_id;

create trigger payment_listed after insert on payment referencing new table as changed for each statement execute function list_changed();
create trigger payment_unlisted after delete on payment referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'payment', count(*) from payment group by team_id order by team_id;

create trigger bank_record_listed after insert on bank_record referencing new table as changed for each statement execute function list_changed();
create trigger bank_record_unlisted after delete on bank_record referencing old table as changed for each statement execute function list_changed();
insert into list_count_kept (team_id, list, rows) select team_id, 'bank_record', count(*) from bank_record where type = 'transaction' group by team_id order by team_id;

create index contact_by_creation on contact (team_id, created_at, id);
create index listing_by_creation on listing (team_id, created_at, id);
create index listing_ownership_period_by_creation on listing_ownership_period (team_id, created_at, id);
create index account_by_code on account (team_id, code collate "case_insensitive", id);
create index fee_by_name on fee (team_id, name collate "case_insensitive", id);

-- +goose Down
