-- +goose Up
-- What comes from outside: the sources, what they said of each record last, their syncs and what became of the records.

-- A source is a connection; its row is what the syncs of one source take turns on.
create table sync_source (
    team_id uuid not null references team (id),
    id uuid not null,
    connection_id uuid,
    primary key (team_id, id),
    constraint sync_source_connection unique (team_id, connection_id),
    constraint sync_source_connection_exists foreign key (team_id, connection_id) references connection (team_id, id)
);
select stayledger_tenant('sync_source');

-- How far a source was read, by kind of record: its own mark, which the next sync gives back.
create table sync_cursor (
    team_id uuid not null,
    source_id uuid not null,
    kind text not null,
    watermark text not null,
    primary key (team_id, source_id, kind),
    constraint sync_cursor_source foreign key (team_id, source_id) references sync_source (team_id, id) on delete cascade
);
select stayledger_tenant('sync_cursor');

-- A sync reads a source once. Progress is where it goes on after a break, counts what became of the records by kind and outcome.
create table sync (
    team_id uuid not null,
    id uuid not null,
    source_id uuid not null,
    operation_id uuid not null,
    view text not null check (view in ('automate', 'extract')),
    mode text not null check (mode in ('incremental', 'full')),
    trigger text not null check (trigger in ('manual', 'schedule', 'webhook', 'connect', 'cutover', 'unlocked')),
    kinds text[] not null,
    range_start date,
    range_end date,
    status text not null check (status in ('queued', 'started', 'completed', 'failed')),
    error text,
    progress jsonb not null default '{}',
    counts jsonb not null default '{}',
    items bigint not null default 0,
    queued_at timestamptz(3) not null,
    started_at timestamptz(3),
    finished_at timestamptz(3),
    primary key (team_id, id),
    constraint sync_of_source foreign key (team_id, source_id) references sync_source (team_id, id) on delete cascade,
    constraint sync_finished check ((finished_at is not null) = (status in ('completed', 'failed')))
);
create index sync_by_source on sync (team_id, source_id, queued_at desc, id);
create index sync_by_time on sync (team_id, queued_at desc, id);
create unique index sync_waits_once on sync (team_id, source_id) where status = 'queued';
create unique index sync_runs_once on sync (team_id, source_id) where status = 'started';
select stayledger_tenant('sync');

-- What became of a record in a sync.
create table sync_item (
    team_id uuid not null,
    sync_id uuid not null,
    position bigint not null,
    kind text not null,
    external_id text not null,
    entity_id uuid,
    outcome text not null check (outcome in ('completed', 'skipped', 'failed', 'queued')),
    reason text,
    at timestamptz(3) not null,
    primary key (team_id, sync_id, position),
    constraint sync_item_of_sync foreign key (team_id, sync_id) references sync (team_id, id) on delete cascade
);
select stayledger_tenant('sync_item');

-- The items of a source counted by day of UTC.
create table sync_day (
    team_id uuid not null,
    source_id uuid not null,
    view text not null,
    day date not null,
    kind text not null,
    outcome text not null,
    items bigint not null,
    primary key (team_id, source_id, view, day, kind, outcome),
    constraint sync_day_of_source foreign key (team_id, source_id) references sync_source (team_id, id) on delete cascade
);
select stayledger_tenant('sync_day');

-- The memory of what a source said: which record here a record there is, what was taken over last, and what waits because a lock held it.
create table external_record (
    team_id uuid not null,
    source_id uuid not null,
    kind text not null,
    external_id text not null,
    ordinal integer not null default 0,
    entity_id uuid,
    hash bytea not null,
    taken jsonb not null,
    refs jsonb not null default '{}',
    waiting jsonb,
    conflicts jsonb not null default '[]',
    changed_at timestamptz,
    day date,
    state text not null check (state in ('active', 'gone')),
    seen_reading_id uuid not null,
    seen_at timestamptz(3) not null,
    primary key (team_id, source_id, kind, external_id, ordinal),
    constraint external_record_source foreign key (team_id, source_id) references sync_source (team_id, id) on delete cascade
);
create index external_record_by_entity on external_record (team_id, entity_id);
create index external_record_waiting on external_record (team_id, source_id) where waiting is not null;
select stayledger_tenant('external_record');

-- What a webhook said to look at; the next sync of the source takes it.
create table sync_hint (
    team_id uuid not null,
    source_id uuid not null,
    kind text not null,
    external_id text not null,
    at timestamptz(3) not null,
    primary key (team_id, source_id, kind, external_id),
    constraint sync_hint_source foreign key (team_id, source_id) references sync_source (team_id, id) on delete cascade
);
select stayledger_tenant('sync_hint');

-- +goose Down
