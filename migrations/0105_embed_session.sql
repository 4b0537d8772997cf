-- +goose Up
-- A session that a partner shows to a user in a frame of its own product. The code of its address is spent once, within a minute, for a token
-- that works for a quarter of an hour; both are kept as hashes. user_id is a member of the team or of the partner if is_member says so.
create table access_embed_session (
    team_id uuid not null references team (id),
    id uuid not null,
    partner_id uuid not null references team (id),
    user_id uuid not null,
    is_member boolean not null,
    view text not null check (view in ('report', 'statement')),
    statement_id uuid,
    scopes text[] not null,
    origins text[] not null,
    code_hash bytea not null unique,
    code_expires_at timestamptz(3) not null,
    token_hash bytea unique,
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    created_by uuid not null,
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint access_embed_session_spent check ((token_hash is null) = (expires_at is null))
);
create index access_embed_session_by_id on access_embed_session (id);
select stayledger_tenant('access_embed_session');

-- The users of a partner's own product, by what it calls them. team_id is the partner.
create table access_external_user (
    team_id uuid not null references team (id),
    external_id text not null,
    user_id uuid not null,
    created_at timestamptz(3) not null,
    primary key (team_id, external_id)
);
select stayledger_tenant('access_external_user');

-- +goose Down
drop table access_external_user;
drop table access_embed_session;
