-- +goose Up
-- Records without a reference that can be the same movement word for word. A search for them begins at one place of the index and ends after a few rows, so
-- the index has no records that the search would have to pass over.
create index bank_record_again on bank_record
    (team_id, amount, account_id, source, date, description_hash, created_at)
    where status = 'active' and type = 'transaction' and unique_ref is null;
create index bank_record_again_open on bank_record
    (team_id, amount, account_id, source, date, description_hash, created_at)
    where status = 'active' and type = 'transaction' and unique_ref is null and made <> amount;

-- The indexes of all records serve the search by amount and day alone.
drop index bank_record_by_amount;
create index bank_record_by_amount on bank_record (team_id, amount, account_id, source, date) where status = 'active' and type = 'transaction';
drop index bank_record_open_by_amount;
create index bank_record_open_by_amount on bank_record
    (team_id, amount, account_id, source, date) where status = 'active' and type = 'transaction' and made <> amount;

-- +goose Down
drop index bank_record_again, bank_record_again_open, bank_record_by_amount, bank_record_open_by_amount;
create index bank_record_by_amount on bank_record
    (team_id, amount, account_id, source, date, description_hash, created_at) where status = 'active' and type = 'transaction';
create index bank_record_open_by_amount on bank_record
    (team_id, amount, account_id, source, date, description_hash, created_at)
    where status = 'active' and type = 'transaction' and made <> amount;
