-- +goose Up
-- Account connections: the accounts that a team has at its banks, each attached to at most one bank account of the chart and each of these to at
-- most one of them. One that a feed reads has its connection and the provider's name for it, one that was made by hand has neither. The status is
-- gone when the bank does not show the account any more, attached or not. Both uniques are checked at the end of a statement, so that one
-- statement can let several trade digits.
create table account_connection (
    team_id uuid not null references team (id),
    id uuid not null,
    connection_id uuid,
    provider_account_id text,
    name text not null,
    last_digits text check (last_digits ~ '^[0-9]{4}$'),
    type text,
    currency text not null,
    account_id uuid,
    start_at date,
    status text not null check (status in ('active', 'detached', 'gone')),
    balance_current bigint,
    balance_available bigint,
    balance_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint account_connection_last_digits unique (team_id, last_digits) deferrable initially immediate,
    constraint account_connection_account_once unique (team_id, account_id) deferrable initially immediate,
    constraint account_connection_provider_account unique (team_id, connection_id, provider_account_id),
    constraint account_connection_fed check ((connection_id is null) = (provider_account_id is null)),
    constraint account_connection_attached check (status = 'gone' or (status = 'active') = (account_id is not null)),
    constraint account_connection_balance check ((balance_current is null) = (balance_at is null) and (balance_available is null or balance_at is not null)),
    constraint account_connection_account foreign key (team_id, account_id) references account (team_id, id),
    constraint account_connection_connection foreign key (team_id, connection_id) references connection (team_id, id)
);
create index account_connection_by_creation on account_connection (team_id, created_at, id);
select stayledger_tenant('account_connection');

create trigger account_connection_listed after insert on account_connection referencing new table as changed for each statement execute function list_changed();
create trigger account_connection_unlisted after delete on account_connection referencing old table as changed for each statement execute function list_changed();

-- What a feed reads from an account at a bank names it. Records are moved from and to an account of the chart by it.
alter table bank_record add constraint bank_record_bank_account foreign key (team_id, bank_account_id) references account_connection (team_id, id);
create index bank_record_by_bank_account on bank_record (team_id, bank_account_id, created_at) where bank_account_id is not null;

-- +goose Down
