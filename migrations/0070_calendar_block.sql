-- +goose Up
-- Nights that somebody keeps from being sold. One of a listing that a system has is stored first and then told to the system: external_listing_id is
-- what the system calls the listing, remote_id what it calls the block. Whoever speaks with the system about a block holds it meanwhile, so that it
-- hears one thing at a time. What could not be told is tried again at try_at.
set local stayledger.across_teams = 'on';

create table calendar_block (
    team_id uuid not null,
    id uuid not null,
    listing_id uuid not null,
    connection_id uuid,
    external_listing_id text,
    start_at date not null,
    end_at date not null,
    note text,
    status text not null,
    error text,
    remote_id text,
    holder uuid,
    held_until timestamptz(3),
    try_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint calendar_block_period check (end_at > start_at),
    constraint calendar_block_listing foreign key (team_id, listing_id) references listing on delete cascade,
    constraint calendar_block_connection foreign key (team_id, connection_id) references connection on delete set null (connection_id),
    constraint calendar_block_overlap exclude using gist (team_id with =, listing_id with =, daterange(start_at, end_at) with &&)
        where (status <> 'refused')
);
create index calendar_block_by_start on calendar_block (team_id, start_at, id);
create index calendar_block_by_connection on calendar_block (team_id, connection_id);
create index calendar_block_to_try on calendar_block (try_at) where try_at is not null;
select stayledger_tenant('calendar_block');
create trigger calendar_block_listed after insert on calendar_block referencing new table as changed for each statement execute function list_changed();
create trigger calendar_block_unlisted after delete on calendar_block referencing old table as changed for each statement execute function list_changed();

-- +goose Down
drop table calendar_block;
