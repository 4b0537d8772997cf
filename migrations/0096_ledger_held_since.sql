-- +goose Up
-- The list of what locks hold back goes by time.
create index ledger_held_by_time on ledger_held (team_id, since, id);

-- +goose Down
drop index ledger_held_by_time;
