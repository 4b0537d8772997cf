-- +goose Up
-- Journals that somebody wrote by hand. What they post stands in the ledger under the journal's id; a reversal names the journal it takes back,
-- which no second one can.
create table journal (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    unique_ref text,
    date date not null,
    description text,
    currency text not null,
    ledger text not null check (ledger in ('trust', 'operating')),
    total bigint not null check (total > 0),
    reverses_id uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint journal_unique_ref unique (team_id, unique_ref),
    constraint journal_short_ref unique (team_id, short_ref),
    constraint journal_reversed_once unique (team_id, reverses_id),
    constraint journal_reverses foreign key (team_id, reverses_id) references journal (team_id, id)
);
create index journal_by_date on journal (team_id, date, id);
select stayledger_tenant('journal');

create table journal_line (
    team_id uuid not null,
    journal_id uuid not null,
    position smallint not null,
    account_id uuid not null,
    cent_total bigint not null check (cent_total <> 0),
    party text check (party in ('owners', 'manager')),
    listing_id uuid,
    contact_id uuid,
    reservation_id uuid,
    description text,
    primary key (team_id, journal_id, position),
    constraint journal_line_journal foreign key (team_id, journal_id) references journal (team_id, id) on delete cascade,
    constraint journal_line_account foreign key (team_id, account_id) references account (team_id, id),
    constraint journal_line_listing foreign key (team_id, listing_id) references listing (team_id, id),
    constraint journal_line_contact foreign key (team_id, contact_id) references contact (team_id, id),
    constraint journal_line_reservation foreign key (team_id, reservation_id) references reservation (team_id, id)
);
create index journal_line_by_account on journal_line (team_id, account_id);
create index journal_line_by_listing on journal_line (team_id, listing_id) where listing_id is not null;
create index journal_line_by_contact on journal_line (team_id, contact_id) where contact_id is not null;
create index journal_line_by_reservation on journal_line (team_id, reservation_id) where reservation_id is not null;
select stayledger_tenant('journal_line');

-- The books of an earlier system. An import leaves its entries here for the task that posts them, which takes them away again: what stays is
-- one row per transaction, whose content tells a repetition from a contradiction.
create table historical_import (
    team_id uuid not null references team (id),
    id uuid not null,
    operation_id uuid not null,
    txn_count integer not null,
    entry_count integer not null,
    skipped_txn_count integer not null,
    debit bigint not null,
    credit bigint not null,
    start_at date not null,
    end_at date not null,
    created_at timestamptz(3) not null,
    posted_at timestamptz(3),
    primary key (team_id, id)
);
select stayledger_tenant('historical_import');

create table historical_txn (
    team_id uuid not null,
    id uuid not null,
    import_id uuid not null,
    txn_ref text not null,
    date date not null,
    currency text not null,
    entry_count integer not null,
    content bytea not null,
    posted_at timestamptz(3),
    primary key (team_id, id),
    constraint historical_txn_ref unique (team_id, txn_ref),
    constraint historical_txn_import foreign key (team_id, import_id) references historical_import (team_id, id)
);
create index historical_txn_open on historical_txn (team_id, import_id, id) where posted_at is null;
select stayledger_tenant('historical_txn');

create table historical_entry (
    team_id uuid not null,
    txn_id uuid not null,
    position integer not null,
    account_id uuid not null,
    cent_total bigint not null,
    listing_id uuid,
    contact_id uuid,
    description text not null,
    primary key (team_id, txn_id, position)
);
select stayledger_tenant('historical_entry');

-- +goose Down
