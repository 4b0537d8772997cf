-- +goose Up
-- The accounting window of a connection: of the reservations that it brings, only those whose accounting date is in it are in the books. The end is
-- not included, and null is no bound.
-- The account at the app is kept from the first time that it answers: other credentials must be of the same one.
alter table connection
    add external_account_id text,
    add external_account_name text,
    add accounting_start_at date,
    add accounting_end_at date,
    add constraint connection_window check (accounting_start_at < accounting_end_at);

-- The connection that a reservation came from.
alter table reservation
    add connection_id uuid,
    add constraint reservation_connection foreign key (team_id, connection_id) references connection (team_id, id);
create index reservation_by_connection on reservation (team_id, connection_id, id) where connection_id is not null;

-- The listings of a property-management system, and the listing here that each one is. One that is decided and has no listing becomes a new one.
create table listing_connection (
    team_id uuid not null references team (id),
    id uuid not null,
    connection_id uuid not null,
    external_id text not null,
    name text not null,
    address jsonb,
    parent_external_id text,
    unit text,
    listing_id uuid,
    is_decided boolean not null default false,
    state text not null check (state in ('active', 'gone')),
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint listing_connection_external unique (team_id, connection_id, external_id),
    constraint listing_connection_of foreign key (team_id, connection_id) references connection (team_id, id) on delete cascade,
    constraint listing_connection_listing foreign key (team_id, listing_id) references listing (team_id, id) on delete set null (listing_id)
);
create index listing_connection_by_listing on listing_connection (team_id, listing_id) where listing_id is not null;
select stayledger_tenant('listing_connection');

-- Nothing reads when a record was last seen.
alter table external_record drop column seen_at;

-- +goose Down
drop table listing_connection;
alter table external_record add seen_at timestamptz(3) not null default now();
alter table reservation drop column connection_id;
alter table connection drop column external_account_id, drop column external_account_name, drop column accounting_start_at, drop column accounting_end_at;
