-- +goose Up
-- Where lines of a type are posted. The most specific mapping of a line counts: by app and channel, by app, by channel, by type alone. An
-- unmapped row is a line type that arrived and waits for an account; an excluded one keeps its lines out of the books.
alter table reservation_line_mapping
    drop constraint reservation_line_mapping_pkey,
    add id uuid not null default gen_random_uuid(),
    add app_id text,
    add channel text collate case_insensitive,
    add status text not null default 'mapped' check (status in ('mapped', 'unmapped', 'excluded')),
    add revenue_recognition text check (revenue_recognition in ('checkIn', 'checkOut', 'proRata', 'bookedAt')),
    add created_at timestamptz(3) not null default now(),
    add updated_at timestamptz(3) not null default now(),
    alter account_id drop not null,
    add primary key (team_id, id),
    add constraint reservation_line_mapping_posts check ((status = 'mapped') = (account_id is not null)),
    add constraint reservation_line_mapping_once unique nulls not distinct (team_id, line_type, app_id, channel);

-- app_id and source_id are where a reservation came from: a property management system and its own key there.
alter table reservation
    add app_id text,
    add source_id text,
    add type text not null default 'guest' check (type in ('guest', 'ownerStay'));
create index reservation_by_check_out on reservation (team_id, check_out, id);
create index reservation_by_confirmation_code on reservation (team_id, confirmation_code) where confirmation_code is not null;

-- A change of what a guest owes (financial) or of what owner and manager owe each other (fee), apart from the lines, which their source
-- overwrites. It stays active when the reservation is canceled.
create table reservation_adjustment (
    team_id uuid not null,
    id uuid not null,
    reservation_id uuid not null,
    unique_ref text,
    type text not null check (type in ('financial', 'fee')),
    description text,
    amount bigint not null,
    account_id uuid,
    party text check (party in ('owners', 'manager')),
    recurring_fee_id uuid,
    reservation_ref text,
    general_ledger_posting_at date,
    metadata jsonb not null default '{}',
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint reservation_adjustment_moves check ((recurring_fee_id is null) = (account_id is not null) and (type = 'fee' or recurring_fee_id is null)
        and (type = 'financial' or recurring_fee_id is not null or party is not null)),
    constraint reservation_adjustment_unique_ref unique (team_id, unique_ref),
    constraint reservation_adjustment_reservation foreign key (team_id, reservation_id) references reservation (team_id, id) on delete cascade,
    constraint reservation_adjustment_account foreign key (team_id, account_id) references account (team_id, id),
    constraint reservation_adjustment_fee foreign key (team_id, recurring_fee_id) references fee (team_id, id)
);
create index reservation_adjustment_by_reservation on reservation_adjustment (team_id, reservation_id, created_at, id);
create index reservation_adjustment_by_account on reservation_adjustment (team_id, account_id) where account_id is not null;
create index reservation_adjustment_by_fee on reservation_adjustment (team_id, recurring_fee_id) where recurring_fee_id is not null;
select stayledger_tenant('reservation_adjustment');

-- +goose Down
