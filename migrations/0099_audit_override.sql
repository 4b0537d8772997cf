-- +goose Up
-- Why a request passed the closed books, in the words of its caller.
alter table audit_action add column reason text check (reason <> '');

-- Events that passed the closed books are few among many: a filter on them would read the whole trail. Other events have no row here.
create index audit_event_override on audit_event (team_id, recorded_at, id) where is_override;

-- +goose Down
