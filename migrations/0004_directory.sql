-- +goose Up
-- The people and places of a team: contacts, the chart of accounts, listings and who owns them.
create table contact (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    unique_ref text,
    type text not null check (type in ('owner', 'vendor')),
    status text not null default 'active' check (status in ('active', 'inactive')),
    name text not null,
    first_name text,
    email text,
    phone text,
    address jsonb,
    company_type text check (company_type in ('limited_liability_company', 'c_corporation', 's_corporation', 'partnership', 'trust_estate')),
    tax_identifier_last4 text,
    payout_account_id uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint contact_unique_ref unique (team_id, unique_ref),
    constraint contact_short_ref unique (team_id, short_ref)
);
select stayledger_tenant('contact');

create table account_category (
    team_id uuid not null references team (id),
    id uuid not null,
    name text not null,
    classification text not null check (classification in ('asset', 'liability', 'revenue', 'expense')),
    position integer not null,
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint account_category_name unique (team_id, name)
);
select stayledger_tenant('account_category');

create table account (
    team_id uuid not null references team (id),
    id uuid not null,
    code text,
    name text not null,
    unique_ref text,
    status text not null default 'active' check (status in ('active', 'inactive')),
    type text not null check (type in ('ledger', 'bank', 'recurringFee', 'nonPosting')),
    category_id uuid not null,
    offset_account_id uuid,
    banking_category text check (banking_category in ('trust', 'operating', 'external')),
    banking_type text,
    banking_last4 text check (banking_last4 ~ '^[0-9]{4}$'),
    banking_currency text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint account_banking check ((type = 'bank') = (banking_category is not null)),
    constraint account_name unique (team_id, name),
    constraint account_code unique (team_id, code),
    constraint account_unique_ref unique (team_id, unique_ref),
    constraint account_last4 unique (team_id, banking_last4),
    constraint account_category_exists foreign key (team_id, category_id) references account_category (team_id, id),
    constraint account_offset_exists foreign key (team_id, offset_account_id) references account (team_id, id)
);
select stayledger_tenant('account');
alter table contact add constraint contact_payout_account foreign key (team_id, payout_account_id) references account (team_id, id);

create table account_assignment (
    team_id uuid not null references team (id),
    assignment text not null,
    account_id uuid not null,
    primary key (team_id, assignment),
    constraint account_assignment_account foreign key (team_id, account_id) references account (team_id, id)
);
create index account_assignment_by_account on account_assignment (team_id, account_id);
select stayledger_tenant('account_assignment');

create table listing (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    name text not null,
    unique_ref text,
    status text not null default 'active' check (status in ('active', 'inactive')),
    default_currency text not null,
    address jsonb,
    parent_id uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint listing_unique_ref unique (team_id, unique_ref),
    constraint listing_short_ref unique (team_id, short_ref),
    constraint listing_parent foreign key (team_id, parent_id) references listing (team_id, id)
);
select stayledger_tenant('listing');

-- A period runs from start_at (null: inception) to end_at (null: open), the end exclusive; periods of one listing never overlap.
create table listing_ownership_period (
    team_id uuid not null,
    id uuid not null,
    listing_id uuid not null,
    start_at date,
    end_at date,
    business_model text not null default 'managed' check (business_model in ('managed', 'co_host', 'co_host_airbnb')),
    reserve bigint,
    set_listing_inactive boolean not null default false,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint listing_ownership_period_order check (end_at > start_at),
    constraint listing_ownership_period_listing foreign key (team_id, listing_id) references listing (team_id, id),
    constraint listing_ownership_period_overlap exclude using gist
        (team_id with =, listing_id with =, daterange(start_at, end_at) with &&)
);
select stayledger_tenant('listing_ownership_period');

create table listing_ownership_member (
    team_id uuid not null,
    period_id uuid not null,
    position smallint not null,
    contact_id uuid not null,
    split integer not null check (split > 0 and split <= 100000),
    primary key (team_id, period_id, position),
    constraint listing_ownership_member_once unique (team_id, period_id, contact_id),
    foreign key (team_id, period_id) references listing_ownership_period (team_id, id) on delete cascade,
    constraint listing_ownership_member_contact foreign key (team_id, contact_id) references contact (team_id, id)
);
create index listing_ownership_member_by_contact on listing_ownership_member (team_id, contact_id);
select stayledger_tenant('listing_ownership_member');

create table tax_rate (
    team_id uuid not null references team (id),
    id uuid not null,
    name text not null,
    basis_points integer not null check (basis_points >= 0 and basis_points <= 100000),
    status text not null default 'active' check (status in ('active', 'inactive')),
    unique_ref text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint tax_rate_name unique (team_id, name),
    constraint tax_rate_unique_ref unique (team_id, unique_ref)
);
select stayledger_tenant('tax_rate');

-- +goose Down
