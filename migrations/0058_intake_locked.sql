-- +goose Up
-- Of the records from outside that wait, those that a lock holds are tried again when a lock goes; those that name a record which is not known here
-- wait for the next sync.
set local stayledger.across_teams = 'on';

alter table external_record add column locked boolean not null default false;
update external_record set locked = true where waiting is not null;
create index external_record_locked on external_record (team_id, source_id) where locked;

-- +goose Down
