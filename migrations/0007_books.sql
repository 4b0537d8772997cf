-- +goose Up
-- What a journal is not yet. A row says that the stored postings of a reservation or transaction are not those that would be derived now, and
-- what made them so: cause_id is the fee, listing, team or mapping that changed, the zero uuid the source itself. Deriving the journal
-- removes its rows; a lock that keeps it from being derived leaves them with the status locked.
create table ledger_stale (
    team_id uuid not null,
    source_id uuid not null,
    cause_id uuid not null default '00000000-0000-0000-0000-000000000000',
    source text not null check (source in ('reservation', 'transaction')),
    reason text not null check (reason in ('reservationChanged', 'feeChanged', 'mappingChanged', 'ownershipChanged', 'transactionChanged')),
    status text not null default 'stale' check (status in ('stale', 'locked', 'failed')),
    since timestamptz(3) not null,
    primary key (team_id, source_id, cause_id)
);
create index ledger_stale_by_cause on ledger_stale (team_id, cause_id);
select stayledger_tenant('ledger_stale');

-- Closing the books: from soft_closed_at back only soft_close_posters may still post, from books_closed_at back nobody may.
alter table team
    add soft_closed_at date,
    add soft_close_posters uuid[] not null default '{}';

create table team_books_closing (
    team_id uuid not null references team (id),
    id uuid not null,
    previous_closed_at date,
    books_closed_at date,
    previous_soft_closed_at date,
    soft_closed_at date,
    soft_close_posters uuid[] not null,
    reason text not null,
    actor_id uuid not null,
    action_id uuid not null,
    created_at timestamptz(3) not null,
    primary key (team_id, id)
);
select stayledger_tenant('team_books_closing');

-- What the bank says happened on a bank account: movements, and the balances it states. Inactive records are excluded from reconciliation.
create table bank_record (
    team_id uuid not null references team (id),
    id uuid not null,
    unique_ref text,
    account_id uuid not null,
    date date not null,
    status text not null default 'active' check (status in ('active', 'inactive')),
    type text not null default 'transaction' check (type in ('transaction', 'balance')),
    amount bigint not null,
    balance bigint,
    description text not null default '',
    source text not null default 'manual' check (source in ('manual', 'csv', 'bankfeed')),
    matched_by_bank_rule uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint bank_record_balance check ((type = 'balance') = (balance is not null)),
    constraint bank_record_unique_ref unique (team_id, unique_ref),
    constraint bank_record_account foreign key (team_id, account_id) references account (team_id, id)
);
create index bank_record_by_account on bank_record (team_id, account_id, date, id);
select stayledger_tenant('bank_record');

-- Which transactions a bank record is made of; cent_total is the part of it, positive into the account.
create table bank_reconciliation (
    team_id uuid not null,
    bank_record_id uuid not null,
    transaction_id uuid not null,
    account_id uuid not null,
    cent_total bigint not null,
    created_at timestamptz(3) not null,
    primary key (team_id, bank_record_id, transaction_id),
    constraint bank_reconciliation_record foreign key (team_id, bank_record_id) references bank_record (team_id, id) on delete cascade,
    constraint bank_reconciliation_transaction foreign key (team_id, transaction_id) references transaction (team_id, id)
);
create index bank_reconciliation_by_transaction on bank_reconciliation (team_id, transaction_id);
select stayledger_tenant('bank_reconciliation');

-- +goose Down
