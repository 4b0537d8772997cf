-- +goose Up
-- What locks hold back of the books: by record whose journal they keep as it is, and by record of a system that waits for them.
create table ledger_held (
    team_id uuid not null,
    id uuid not null,
    source text not null check (source in ('reservation', 'transaction', 'journal')),
    source_id uuid, -- null for a record that is not here yet
    origin_id uuid, -- the source of syncs whose record waits; null for a record here
    name text not null, -- the record: source_id, or its id at the system when it is not here
    reason text not null, -- of the lock
    held_at date,
    held_by uuid,
    since timestamptz(3) not null,
    primary key (team_id, id),
    constraint ledger_held_origin foreign key (team_id, origin_id) references sync_source (team_id, id) on delete cascade
);
create unique index ledger_held_record on ledger_held (team_id, name, origin_id) nulls not distinct;
create index ledger_held_by_source on ledger_held (source_id, team_id) where source_id is not null;
create index ledger_held_by_origin on ledger_held (team_id, origin_id) where origin_id is not null;
select stayledger_tenant('ledger_held');
create trigger ledger_held_listed after insert on ledger_held referencing new table as changed for each statement execute function list_changed();
create trigger ledger_held_unlisted after delete on ledger_held referencing old table as changed for each statement execute function list_changed();

-- The entries that the books would have more, and with the opposite sign those that they would not have.
create table ledger_held_line (
    team_id uuid not null,
    held_id uuid not null,
    position integer not null,
    ledger text not null,
    txn_at date not null,
    currency text not null,
    account_id uuid not null,
    cent_total bigint not null,
    party text,
    listing_id uuid,
    ownership_period_id uuid,
    reservation_id uuid,
    trigger_type text not null,
    primary key (team_id, held_id, position),
    constraint ledger_held_line_held foreign key (team_id, held_id) references ledger_held (team_id, id) on delete cascade
);
create index ledger_held_line_by_period on ledger_held_line (team_id, ownership_period_id, txn_at) where party = 'owners';
select stayledger_tenant('ledger_held_line');

-- Postings that caught up what a lock held back: they are few.
create index ledger_entry_catch_up on ledger_entry (team_id, source_id) where txn_code like 'catchUp:%';
create index ledger_stale_failed on ledger_stale (team_id, source_id) where status = 'failed';

-- +goose Down
drop index ledger_stale_failed, ledger_entry_catch_up;
drop table ledger_held_line;
drop table ledger_held;
