-- +goose Up
-- The token that a system gave for the credentials of a connection, sealed; the sum is that of the sealed credentials it was given for. renew_at is
-- when 90 % of its life is over, null for one that does not end.
create table connection_token (
    team_id uuid not null,
    id uuid not null,
    token bytea not null,
    credentials_sum bytea not null,
    renew_at timestamptz,
    primary key (team_id, id),
    constraint connection_token_of foreign key (team_id, id) references connection (team_id, id) on delete cascade
);
select stayledger_tenant('connection_token');

-- +goose Down
drop table connection_token;
