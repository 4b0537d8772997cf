-- +goose Up
-- Connections to apps outside. settings are shown, credentials are sealed with the service's keys and never leave. connected_at is when the app
-- last answered with these credentials at this address; null when it never has.
create table connection (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    unique_ref text,
    app_id text not null,
    name text not null,
    status text not null check (status in ('connecting', 'active', 'reconnectRequired', 'disabled', 'archived')),
    settings jsonb not null default '{}',
    credentials bytea,
    connected_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint connection_unique_ref unique (team_id, unique_ref),
    constraint connection_short_ref unique (team_id, short_ref)
);
select stayledger_tenant('connection');

-- How a contact is paid. The numbers are sealed; last4 is all that is ever shown. One method of a contact is used for payments. chosen_at is when
-- somebody last wanted the contact to be paid this way, so that a verification that ends late does not push out a later choice.
create table payee_method (
    team_id uuid not null,
    id uuid not null,
    contact_id uuid not null,
    kind text not null default 'ach' check (kind in ('ach')),
    status text not null check (status in ('pending', 'verified', 'rejected', 'archived')),
    account_holder text not null,
    account_type text not null check (account_type in ('checking', 'savings')),
    last4 text not null,
    routing_last4 text not null,
    numbers bytea not null,
    is_default boolean not null default false,
    chosen_at timestamptz(3) not null,
    verified_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint payee_method_contact foreign key (team_id, contact_id) references contact (team_id, id),
    constraint payee_method_default_verified check (not is_default or status = 'verified')
);
create unique index payee_method_default on payee_method (team_id, contact_id) where is_default;
create index payee_method_by_contact on payee_method (team_id, contact_id, id);
select stayledger_tenant('payee_method');

-- The whole number is needed on information returns; only its last digits are shown.
alter table contact add tax_identifier bytea;

-- +goose Down
