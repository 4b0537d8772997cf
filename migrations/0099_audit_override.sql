-- +goose Up
-- Why a request passed the closed books, in the words of its caller.
alter table audit_action add column reason text check (reason <> '');

-- +goose Down
