-- +goose Up
-- Syncs that make a file write no records, so they take no turns with those that do. The extractor says which file.
alter table sync add column extractor text;
drop index sync_waits_once;
drop index sync_runs_once;
create unique index sync_waits_once on sync (team_id, source_id) where status = 'queued' and view = 'automate';
create unique index sync_runs_once on sync (team_id, source_id) where status = 'started' and view = 'automate';

-- +goose Down
drop index sync_waits_once;
drop index sync_runs_once;
create unique index sync_waits_once on sync (team_id, source_id) where status = 'queued';
create unique index sync_runs_once on sync (team_id, source_id) where status = 'started';
alter table sync drop column extractor;
