-- +goose Up
-- The statements that hold entries of a recurring fee are looked for among those that are attached, newest first: the entries of months that nobody
-- has saved yet are as many as the stays.
create index ledger_entry_fee_attached on ledger_entry (team_id, recurring_fee_id, txn_at) where statement_id is not null and recurring_fee_id is not null;

-- +goose Down
