-- +goose Up
-- What journals are derived from: recurring fees, reservations, transactions; and the owner statements over them.
create table fee (
    team_id uuid not null references team (id),
    id uuid not null,
    unique_ref text,
    name text not null,
    icon text,
    status text not null default 'active' check (status in ('active', 'inactive')),
    type text not null check (type in ('managementFee', 'additionalFee', 'bookingChannelFee', 'cleaningFee', 'merchantFee')),
    formula text not null,
    rate_type text not null check (rate_type in ('flat', 'percentage')),
    default_rate bigint not null,
    revenue_recognition text check (revenue_recognition in ('checkIn', 'checkOut', 'proRata', 'bookedAt')),
    credit_party text not null check (credit_party in ('owners', 'manager')),
    debit_party text not null check (debit_party in ('owners', 'manager')),
    credit_account_id uuid not null,
    debit_account_id uuid not null,
    booking_channels_filter text[] not null default '{}',
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint fee_name unique (team_id, name),
    constraint fee_unique_ref unique (team_id, unique_ref),
    constraint fee_credit_account foreign key (team_id, credit_account_id) references account (team_id, id),
    constraint fee_debit_account foreign key (team_id, debit_account_id) references account (team_id, id)
);
select stayledger_tenant('fee');

create table fee_listing_period (
    team_id uuid not null,
    id uuid not null,
    fee_id uuid not null,
    listing_id uuid not null,
    start_at date,
    end_at date,
    rate bigint,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint fee_listing_period_order check (end_at > start_at),
    constraint fee_listing_period_fee foreign key (team_id, fee_id) references fee (team_id, id),
    constraint fee_listing_period_listing foreign key (team_id, listing_id) references listing (team_id, id),
    constraint fee_listing_period_overlap exclude using gist
        (team_id with =, fee_id with =, listing_id with =, daterange(start_at, end_at) with &&)
);
create index fee_listing_period_by_listing on fee_listing_period (team_id, listing_id);
select stayledger_tenant('fee_listing_period');

create table reservation_line_mapping (
    team_id uuid not null references team (id),
    line_type text not null,
    account_id uuid not null,
    party text check (party in ('owners', 'manager')),
    primary key (team_id, line_type),
    constraint reservation_line_mapping_account foreign key (team_id, account_id) references account (team_id, id)
);
select stayledger_tenant('reservation_line_mapping');

create table reservation (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    unique_ref text,
    listing_id uuid not null,
    status text not null check (status in ('booked', 'canceled', 'inactive')),
    general_ledger_status text not null default 'active' check (general_ledger_status in ('active', 'inactive')),
    guest_name text,
    booker_name text,
    guests integer,
    confirmation_code text,
    pms_reference_code text,
    check_in date not null,
    check_out date not null,
    booked_at date,
    cancelled_at date,
    booking_platform text,
    general_ledger_posting_at date,
    currency text not null,
    userdata jsonb not null default '{}',
    metadata jsonb not null default '{}',
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint reservation_nights check (check_out > check_in),
    constraint reservation_unique_ref unique (team_id, unique_ref),
    constraint reservation_short_ref unique (team_id, short_ref),
    constraint reservation_listing foreign key (team_id, listing_id) references listing (team_id, id)
);
create index reservation_by_check_in on reservation (team_id, check_in, id);
create index reservation_by_listing on reservation (team_id, listing_id, check_in);
select stayledger_tenant('reservation');

create table reservation_line (
    team_id uuid not null,
    id uuid not null,
    reservation_id uuid not null,
    position integer not null,
    unique_ref text,
    type text not null,
    description text,
    amount bigint not null,
    account_id uuid,
    primary key (team_id, id),
    constraint reservation_line_position unique (team_id, reservation_id, position),
    foreign key (team_id, reservation_id) references reservation (team_id, id) on delete cascade,
    constraint reservation_line_account foreign key (team_id, account_id) references account (team_id, id)
);
select stayledger_tenant('reservation_line');

create table transaction (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    unique_ref text,
    type text not null check (type in ('deposit', 'expense', 'transfer', 'payout')),
    status text not null default 'active' check (status in ('active', 'inactive')),
    date date not null,
    payment_date date,
    payment_account_id uuid,
    description text,
    currency text not null,
    is_opening_balance boolean not null default false,
    account_id uuid not null,
    contact_id uuid,
    total bigint not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint transaction_unique_ref unique (team_id, unique_ref),
    constraint transaction_short_ref unique (team_id, short_ref),
    constraint transaction_account foreign key (team_id, account_id) references account (team_id, id),
    constraint transaction_payment_account foreign key (team_id, payment_account_id) references account (team_id, id),
    constraint transaction_contact foreign key (team_id, contact_id) references contact (team_id, id)
);
create index transaction_by_date on transaction (team_id, date, id);
select stayledger_tenant('transaction');

create table transaction_line (
    team_id uuid not null,
    id uuid not null,
    transaction_id uuid not null,
    position integer not null,
    unique_ref text,
    description text,
    assignment text,
    account_id uuid not null,
    amount bigint not null,
    tax_rate_id uuid,
    tax_behavior text check (tax_behavior in ('included', 'excluded')),
    tax_amount bigint not null default 0,
    markup_amount bigint,
    markup_tax_rate_id uuid,
    markup_tax_behavior text check (markup_tax_behavior in ('included', 'excluded')),
    markup_tax_amount bigint not null default 0,
    total bigint not null,
    listing_id uuid,
    reservation_id uuid,
    contact_id uuid,
    statement_id uuid,
    party text check (party in ('owners', 'manager')),
    primary key (team_id, id),
    constraint transaction_line_position unique (team_id, transaction_id, position),
    foreign key (team_id, transaction_id) references transaction (team_id, id) on delete cascade,
    constraint transaction_line_account foreign key (team_id, account_id) references account (team_id, id),
    constraint transaction_line_listing foreign key (team_id, listing_id) references listing (team_id, id),
    constraint transaction_line_reservation foreign key (team_id, reservation_id) references reservation (team_id, id),
    constraint transaction_line_contact foreign key (team_id, contact_id) references contact (team_id, id),
    constraint transaction_line_tax_rate foreign key (team_id, tax_rate_id) references tax_rate (team_id, id),
    constraint transaction_line_markup_tax_rate foreign key (team_id, markup_tax_rate_id) references tax_rate (team_id, id)
);
create index transaction_line_by_reservation on transaction_line (team_id, reservation_id) where reservation_id is not null;
create index transaction_line_by_listing on transaction_line (team_id, listing_id) where listing_id is not null;
create index transaction_line_by_statement on transaction_line (team_id, statement_id) where statement_id is not null;
select stayledger_tenant('transaction_line');

-- Drafts are computed and have no row. start_at and end_at are the first and the last day (inclusive) of the month.
create table statement (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    ownership_period_id uuid not null,
    listing_id uuid not null,
    status text not null check (status in ('inReview', 'published')),
    currency text not null,
    start_at date not null,
    end_at date not null,
    balance_start bigint not null,
    net_revenue bigint not null,
    expenses bigint not null,
    payouts bigint not null,
    balance_end bigint not null,
    reserve bigint not null,
    published_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint statement_once unique (team_id, ownership_period_id, currency, start_at),
    constraint statement_arithmetic check (balance_end = balance_start + net_revenue + expenses + payouts),
    constraint statement_period foreign key (team_id, ownership_period_id) references listing_ownership_period (team_id, id),
    constraint statement_listing foreign key (team_id, listing_id) references listing (team_id, id)
);
create index statement_by_start on statement (team_id, start_at, id);
select stayledger_tenant('statement');
alter table transaction_line add constraint transaction_line_statement foreign key (team_id, statement_id) references statement (team_id, id);

-- +goose Down
