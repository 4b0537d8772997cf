-- +goose Up

-- The logo on a team's papers. It is small, is read with every statement and is never told apart from its team, so it stays in the database.
create table team_logo (
    team_id uuid not null references team (id),
    content bytea not null,
    content_type text not null check (content_type in ('image/png', 'image/jpeg')),
    width integer not null check (width > 0),
    height integer not null check (height > 0),
    sha256 bytea not null,
    updated_at timestamptz(3) not null,
    primary key (team_id)
);
alter table team_logo alter column content set storage external;
select stayledger_tenant('team_logo');

-- +goose Down
drop table team_logo;
