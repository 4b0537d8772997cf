-- +goose Up
-- A record without an account is not linked to a bank account yet, or not any more; its own currency is then all that is known. bank_account_id
-- is the account at the bank that a feed reads, connection_id the feed. amount is positive into the account and 0 in a stated balance.
alter table bank_record
    alter account_id drop not null,
    add bank_account_id uuid,
    add connection_id uuid,
    add currency text,
    add constraint bank_record_currency check (account_id is not null or currency is not null),
    add constraint bank_record_connection foreign key (team_id, connection_id) references connection (team_id, id);
create index bank_record_by_date on bank_record (team_id, date, id);
create index bank_record_by_connection on bank_record (team_id, connection_id) where connection_id is not null;

-- +goose Down
