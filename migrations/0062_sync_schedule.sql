-- +goose Up
-- When a connection is read again by its schedule; null until it is read for the first time.
alter table connection
    add is_sync_enabled boolean not null default true,
    add next_sync_at timestamptz(3);
create index connection_sync_due on connection (next_sync_at) where next_sync_at is not null and status = 'active' and is_sync_enabled;

-- +goose Down
alter table connection drop column is_sync_enabled, drop column next_sync_at;
