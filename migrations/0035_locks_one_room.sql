-- +goose Up
-- Whether the lock that a journal waits for still stands is decided where all other questions about locks are: ledger.Outstanding.
drop view ledger_outstanding;

-- +goose Down
