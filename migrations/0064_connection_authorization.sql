-- +goose Up
-- A person who lets us into an account at an app: what the app sends back with the person, by the hash of the state. The code of the app is sealed,
-- and null until the person is back. connection_id is the connection that is connected again, null for a new one.
create table connection_authorization (
    team_id uuid not null,
    id uuid not null,
    hash bytea not null,
    user_id uuid not null,
    app_id text not null,
    connection_id uuid,
    redirect_uri text not null,
    code bytea,
    created_at timestamptz not null,
    primary key (team_id, id),
    constraint connection_authorization_hash unique (team_id, hash),
    constraint connection_authorization_of foreign key (team_id, connection_id) references connection (team_id, id) on delete cascade
);
create index connection_authorization_connection on connection_authorization (team_id, connection_id) where connection_id is not null;
select stayledger_tenant('connection_authorization');

-- Until when the access lasts that a person has given, null for one without an end or that is renewed without a person.
alter table connection add column expires_at timestamptz;

-- +goose Down
alter table connection drop column expires_at;
drop table connection_authorization;
