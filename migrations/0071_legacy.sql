-- +goose Up
-- Legacy teams have no general ledger. They hold owners by listing, and statements whose lines name legacy accounts, until
-- a migration brings them into a team with books.
alter table team add column migrated_from_tenant_id uuid;
alter table team add column historical_statements_imported_at timestamptz(3);

create table legacy_account (
    team_id uuid not null references team (id),
    key text not null,
    ref text,
    name text not null,
    classification text,
    primary key (team_id, key)
);
select stayledger_tenant('legacy_account');

-- Who has a share of a listing from one day to another, end exclusive.
create table legacy_ownership (
    team_id uuid not null references team (id),
    listing_id uuid not null,
    position integer not null,
    contact_id uuid not null,
    split integer not null,
    start_at date,
    end_at date,
    primary key (team_id, listing_id, position),
    constraint legacy_ownership_listing foreign key (team_id, listing_id) references listing (team_id, id) on delete cascade,
    constraint legacy_ownership_contact foreign key (team_id, contact_id) references contact (team_id, id) on delete cascade
);
create index legacy_ownership_contact on legacy_ownership (team_id, contact_id);
select stayledger_tenant('legacy_ownership');

create table legacy_statement (
    team_id uuid not null references team (id),
    source_id text not null,
    listing_id uuid not null,
    start_at date not null,
    end_at date not null,
    currency text not null,
    status text not null check (status in ('draft', 'posted', 'published', 'void')),
    balance_start bigint not null,
    balance_end bigint not null,
    lines jsonb not null,
    primary key (team_id, source_id),
    constraint legacy_statement_listing foreign key (team_id, listing_id) references listing (team_id, id) on delete cascade
);
create index legacy_statement_listing on legacy_statement (team_id, listing_id);
select stayledger_tenant('legacy_statement');

create table legacy_template (
    team_id uuid not null references team (id),
    source_id text not null,
    name text not null,
    is_default boolean not null,
    net_revenue jsonb not null,
    other jsonb not null,
    primary key (team_id, source_id)
);
select stayledger_tenant('legacy_template');

-- A migration, in the team that it makes.
create table migration (
    team_id uuid not null references team (id),
    source_team_id uuid not null,
    requesting_team_id uuid not null,
    operation_id uuid not null,
    gl_start_at date not null,
    moved_credentials boolean not null,
    created_at timestamptz(3) not null,
    primary key (team_id)
);
select stayledger_tenant('migration');

-- Which record of the new team is which of the legacy team.
create table migration_record (
    team_id uuid not null references team (id),
    kind text not null check (kind in ('contact', 'listing', 'connection', 'layout')),
    source_id text not null,
    target_id uuid not null,
    primary key (team_id, kind, source_id)
);
select stayledger_tenant('migration_record');

-- Which account of the new team the lines of a legacy account go to.
create table migration_mapping (
    team_id uuid not null references team (id),
    key text not null,
    account_id uuid not null,
    primary key (team_id, key),
    constraint migration_mapping_account foreign key (team_id, account_id) references account (team_id, id) on delete cascade
);
create index migration_mapping_account on migration_mapping (team_id, account_id);
select stayledger_tenant('migration_mapping');

-- Where a statement that a migration imported comes from.
create table statement_origin (
    team_id uuid not null references team (id),
    statement_id uuid not null,
    source_team_id uuid not null,
    source_id text not null,
    operation_id uuid not null,
    imported_at timestamptz(3) not null,
    primary key (team_id, statement_id),
    constraint statement_origin_statement foreign key (team_id, statement_id) references statement (team_id, id) on delete cascade
);
select stayledger_tenant('statement_origin');

-- +goose Down
drop table statement_origin;
drop table migration_mapping;
drop table migration_record;
drop table migration;
drop table legacy_template;
drop table legacy_statement;
drop table legacy_ownership;
drop table legacy_account;
alter table team drop column historical_statements_imported_at;
alter table team drop column migrated_from_tenant_id;
