-- +goose Up
-- The days of a team are those of its time zone, an IANA name. A listing can have its own; null takes the team's.
set local stayledger.across_teams = 'on';

alter table team add column time_zone text not null default 'UTC' check (time_zone <> '' and length(time_zone) <= 64);
alter table listing add column time_zone text check (time_zone <> '' and length(time_zone) <= 64);

update team set time_zone = case region when 'us' then 'America/New_York' when 'ca' then 'America/Toronto' when 'eu' then 'Europe/Berlin'
    when 'ap' then 'Australia/Sydney' when 'sa' then 'America/Sao_Paulo' end;

-- +goose Down
alter table listing drop column time_zone;
alter table team drop column time_zone;
