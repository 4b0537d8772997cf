-- +goose Up
-- Whether the day of a cancellation was filled in because nobody gave one: then it is no word of a person, and a system that gives one is believed.
alter table reservation add column cancelled_at_is_assumed boolean not null default false;

-- +goose Down
alter table reservation drop column cancelled_at_is_assumed;
