-- +goose Up
-- Where the bank account's books begin: what the bank held at the start of banking_opening_at, and the transaction that brings the books there.
alter table account
    add banking_opening_at date,
    add banking_opening bigint,
    add banking_opening_transaction_id uuid,
    add constraint account_banking_opening check ((banking_opening_at is null) = (banking_opening is null)),
    add constraint account_banking_opening_transaction foreign key (team_id, banking_opening_transaction_id)
        references transaction (team_id, id) on delete set null (banking_opening_transaction_id);

-- Bank records that the beginning of the books excluded, as opposed to a person: moving the beginning back brings them in again.
create table account_excluded_record (
    team_id uuid not null,
    bank_record_id uuid not null,
    primary key (team_id, bank_record_id),
    constraint account_excluded_record_record foreign key (team_id, bank_record_id) references bank_record (team_id, id) on delete cascade
);
select stayledger_tenant('account_excluded_record');

alter table team_books_closing add previous_soft_close_posters uuid[] not null default '{}';

-- +goose Down
