-- +goose Up
-- Two reservations that are one stay: that of the system which a team has left, and that of the system which it has moved to. One of them
-- is in the books, by the day of the move.
create table reservation_pair (
    team_id uuid not null,
    target_id uuid not null,
    source_id uuid not null,
    is_retired boolean, -- the source's is inactive, since the target's counts; null before that was decided first
    target_status text not null, -- of the target's when that was decided last
    primary key (team_id, target_id),
    constraint reservation_pair_by_source unique (team_id, source_id),
    constraint reservation_pair_target foreign key (team_id, target_id) references reservation (team_id, id) on delete cascade,
    constraint reservation_pair_source foreign key (team_id, source_id) references reservation (team_id, id) on delete cascade
);
select stayledger_tenant('reservation_pair');

-- The connection that a team has moved to from this one.
alter table connection add column successor_id uuid;

-- The listing that this one has gone into.
alter table listing add column merged_into_id uuid;

-- Which stay an entry names is no money and in no kept sum: it can follow its line, in closed books, too.
-- +goose StatementBegin
create or replace function ledger_entry_updated() returns trigger language plpgsql as $$
begin
    if exists (select team_id, id, cent_total, account_id, txn_at, status, ledger, currency, txn_code, party, trigger_type,
                      case when ledger <> 'historical' then listing_id end, case when ledger <> 'historical' then ownership_period_id end
               from now
               except
               select team_id, id, cent_total, account_id, txn_at, status, ledger, currency, txn_code, party, trigger_type,
                      case when ledger <> 'historical' then listing_id end, case when ledger <> 'historical' then ownership_period_id end
               from was) then
        raise exception using errcode = 'SL003', message = 'a journal entry is replaced, never edited';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function ledger_entry_updated() returns trigger language plpgsql as $$
begin
    if exists (select team_id, id, cent_total, account_id, txn_at, status, ledger, currency, txn_code, party, trigger_type, reservation_id,
                      case when ledger <> 'historical' then listing_id end, case when ledger <> 'historical' then ownership_period_id end
               from now
               except
               select team_id, id, cent_total, account_id, txn_at, status, ledger, currency, txn_code, party, trigger_type, reservation_id,
                      case when ledger <> 'historical' then listing_id end, case when ledger <> 'historical' then ownership_period_id end
               from was) then
        raise exception using errcode = 'SL003', message = 'a journal entry is replaced, never edited';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
alter table listing drop column merged_into_id;
alter table connection drop column successor_id;
drop table reservation_pair;
