-- +goose Up
-- Contacts from outside are the same as those here by their e-mail address, whatever its case. It is a column, since row-level security keeps an index
-- on an expression from being used.
set local stayledger.across_teams = 'on';

alter table contact add column email_key text generated always as (lower(email)) stored;
create index contact_email on contact (team_id, email_key) where email_key is not null;

-- +goose Down
