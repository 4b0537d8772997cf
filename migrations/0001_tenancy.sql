-- +goose Up
-- Tenancy: what every later table is built on. A transaction names the teams it may touch in the setting stayledger.teams; row-level
-- security, forced for the owning role too, holds when a statement forgets its team_id.
create extension if not exists btree_gist;

create collation if not exists case_insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

create function stayledger_teams() returns uuid[] language sql stable parallel safe
    as $$ select nullif(current_setting('stayledger.teams', true), '')::uuid[] $$;

create function stayledger_across_teams() returns boolean language sql stable parallel safe
    as $$ select coalesce(current_setting('stayledger.across_teams', true), '') = 'on' $$;

-- +goose StatementBegin
create function stayledger_tenant(tbl regclass) returns void language plpgsql as $$
begin
    execute format('alter table %s enable row level security', tbl);
    execute format('alter table %s force row level security', tbl);
    execute format('create policy tenant on %s using (team_id = any ((select stayledger_teams())::uuid[]) or (select stayledger_across_teams()))', tbl);
end
$$;
-- +goose StatementEnd

create table team (
    id uuid primary key,
    team_id uuid not null generated always as (id) stored,
    type text not null check (type in ('partner', 'admin', 'propertyManager')),
    status text not null default 'active' check (status in ('active', 'inactive', 'deleted', 'onboarding')),
    name text not null,
    company_name text,
    email text,
    support_email text,
    phone text,
    tax_id text,
    region text not null check (region in ('ap', 'ca', 'eu', 'sa', 'us')),
    partner_id uuid references team (id),
    default_currency text not null default 'usd',
    default_revenue_recognition text not null default 'checkIn'
        check (default_revenue_recognition in ('checkIn', 'checkOut', 'proRata', 'bookedAt')),
    long_term_stay_nights integer check (long_term_stay_nights > 0),
    is_general_ledger boolean not null default true,
    books_closed_at date,
    statement_start_at date,
    statement_address jsonb,
    billing_address jsonb,
    owner_portal_show_draft_statements boolean not null default false,
    freeze_reason text check (freeze_reason in ('migration', 'deletion', 'unknown')),
    initialized_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null
);
create index team_partner on team (partner_id, id);
select stayledger_tenant('team');

-- +goose Down
