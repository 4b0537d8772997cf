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
-- As for ledger_entry: where the planner knows that a new team has nothing, any index that begins with the team looks as good as the one that
-- leads to a record, and a search per record goes through all of the team's.
alter table bank_record alter column team_id set statistics 0;
alter table bank_reconciliation alter column team_id set statistics 0;

-- +goose Down
