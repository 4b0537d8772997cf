-- +goose Up
-- What guests had paid of the available balance when the statement was published. Statements published before this have none: the
-- figure of then is not known.
alter table statement add column collected bigint;

-- +goose Down
alter table statement drop column collected;
