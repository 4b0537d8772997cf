-- +goose Up
-- Why a connection does not work, in our own words: of one that is disabled because it could not be connected, or that has to be connected again.
alter table connection add column fault text;

-- +goose Down
alter table connection drop column fault;
