-- +goose Up
-- Row-level security looks up one value for each table of a statement, and not two: null for the service's own work, else the teams in sight.
-- A row of no team is in the sight of none; and a null among the teams is taken out, since comparing with it would be not false for all rows.
create function stayledger_sight() returns uuid[] language sql stable parallel safe
    as $$ select case when coalesce(current_setting('stayledger.across_teams', true), '') <> 'on'
        then coalesce(array_remove(nullif(current_setting('stayledger.teams', true), '')::uuid[], null), '{}') end $$;

-- +goose StatementBegin
create or replace function stayledger_tenant(tbl regclass) returns void language plpgsql as $$
declare
    team text := 'team_id';
begin
    if not (select attnotnull from pg_attribute where attrelid = tbl and attname = 'team_id') then
        team := 'coalesce(team_id, ''00000000-0000-0000-0000-000000000000'')';
    end if;
    execute format('alter table %s enable row level security', tbl);
    execute format('alter table %s force row level security', tbl);
    execute format('drop policy if exists tenant on %s', tbl);
    execute format('create policy tenant on %s using ((%s = any ((select stayledger_sight())::uuid[])) is not false)', tbl, team);
end
$$;
-- +goose StatementEnd

select stayledger_tenant(polrelid) from pg_policy where polname = 'tenant';

-- +goose Down
-- +goose StatementBegin
create or replace function stayledger_tenant(tbl regclass) returns void language plpgsql as $$
begin
    execute format('alter table %s enable row level security', tbl);
    execute format('alter table %s force row level security', tbl);
    execute format('drop policy if exists tenant on %s', tbl);
    execute format('create policy tenant on %s using (team_id = any ((select stayledger_teams())::uuid[]) or (select stayledger_across_teams()))', tbl);
end
$$;
-- +goose StatementEnd

select stayledger_tenant(polrelid) from pg_policy where polname = 'tenant';

drop function stayledger_sight();
