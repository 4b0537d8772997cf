-- +goose Up
-- The conflicts of a record that ended when its connection was archived: an account that is connected again has them again.
alter table external_record add column ended text[];

-- +goose Down
alter table external_record drop column ended;
