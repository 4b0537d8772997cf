-- +goose Up
-- Who renews the token of a connection, and until when others wait for it. No transaction is open while a system is asked for a token. A first token has a
-- row before it is there.
alter table connection_token alter column token drop not null, add column renewing_by uuid, add column renewing_until timestamptz,
    add constraint connection_token_renewal check ((renewing_by is null) = (renewing_until is null));

-- +goose Down
set local stayledger.across_teams = 'on';
delete from connection_token where token is null;
alter table connection_token drop constraint connection_token_renewal, drop column renewing_by, drop column renewing_until, alter column token set not null;
