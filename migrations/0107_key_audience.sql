-- +goose Up
-- What a partner key is for: the partner's backend, or its portal, which only makes embedded sessions.
alter table access_key add column audience text not null default 'backend' check (audience in ('backend', 'portal')),
    add constraint access_key_audience check (audience = 'backend' or kind = 'partner');

-- +goose Down
alter table access_key drop column audience;
