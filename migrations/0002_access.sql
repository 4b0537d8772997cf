-- +goose Up
-- Users and tokens belong to no team: only a transaction that works across teams (authentication, the command line) sees them.
create table access_user (
    id uuid primary key,
    kind text not null check (kind in ('person', 'service')),
    name text not null,
    email text,
    created_at timestamptz(3) not null
);
alter table access_user enable row level security;
alter table access_user force row level security;
create policy directory on access_user using ((select stayledger_across_teams()));

create table access_token (
    id uuid primary key,
    user_id uuid not null references access_user (id),
    hash bytea not null unique,
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    created_at timestamptz(3) not null
);
alter table access_token enable row level security;
alter table access_token force row level security;
create policy directory on access_token using ((select stayledger_across_teams()));

-- What a person may do in a team; contact_id makes the person an owner who sees only that contact's listings.
create table access_member (
    team_id uuid not null references team (id),
    user_id uuid not null references access_user (id),
    contact_id uuid,
    scopes text[] not null,
    created_at timestamptz(3) not null,
    primary key (team_id, user_id)
);
create index access_member_user on access_member (user_id, team_id);
select stayledger_tenant('access_member');

create table access_key (
    team_id uuid not null references team (id),
    id uuid not null,
    user_id uuid not null references access_user (id),
    name text not null,
    kind text not null check (kind in ('team', 'partner')),
    prefix text not null,
    hash bytea not null unique,
    scopes text[] not null,
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    created_at timestamptz(3) not null,
    primary key (team_id, id)
);
select stayledger_tenant('access_key');

-- The teams a team key may select; home_team_id is the team that issued the key.
create table access_key_team (
    team_id uuid not null references team (id),
    home_team_id uuid not null,
    key_id uuid not null,
    primary key (team_id, key_id),
    foreign key (home_team_id, key_id) references access_key (team_id, id) on delete cascade
);
create index access_key_team_key on access_key_team (home_team_id, key_id);
select stayledger_tenant('access_key_team');

-- +goose Down
