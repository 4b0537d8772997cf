-- +goose Up
-- Why the last verification of a payment method ended without an answer, in our own words.
alter table payee_method add column fault text;

-- +goose Down
alter table payee_method drop column fault;
