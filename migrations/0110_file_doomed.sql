-- +goose Up
-- Bytes that are to be deleted: a file is deleted or purged, or a draft given up, before the store is asked to delete the bytes, which no transaction waits for.
alter table file_draft add column doomed_at timestamptz(3);
create index file_draft_doomed on file_draft (team_id, id) where doomed_at is not null;

-- +goose Down
alter table file_draft drop column doomed_at;
