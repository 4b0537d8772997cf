-- +goose Up
-- Plans of what claims and settles jobs are kept by each connection, and those that were made while the queue was empty read the whole queue
-- when ten thousand jobs waited: a settle for the one row that it removes, a claim for the few that it takes, as the other side of a join.
-- What settles is planned over the keys, whatever the tables looked like then; a claim names its rows, so that there is nothing to join.
alter function job_done (uuid, uuid, smallint) set enable_seqscan = off;
alter function operation_settle (uuid, uuid, text, timestamptz, timestamptz, boolean) set enable_seqscan = off;

-- The rules of the claim are those of migration 30.
-- +goose StatementBegin
create or replace function job_claim(worker uuid, lease interval, kinds text[], only_team uuid, after_team uuid, places integer, busy uuid[], held integer[])
returns setof job language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    present timestamptz := clock_timestamp();
    lowest constant uuid := '00000000-0000-0000-0000-000000000000';
    p smallint := -32768;
    found_team uuid; found_kind text; found_due timestamptz;
    last_team uuid; -- how far the look for teams goes
    teams uuid[]; own integer[]; -- teams with due work of this priority, in turn, and the places that each holds
    pair_teams uuid[]; pair_kinds text[]; -- the kinds of that work
    waiting integer; -- how many teams may still have due work
    later integer; -- how many of them have their turn later in the round
    share integer; taken integer; took boolean; place integer;
    chosen uuid[]; -- the jobs of a team that are claimed
begin
    after_team := coalesce(after_team, lowest);
    while places > 0 loop
        select j.priority into p from job j where j.priority > p order by j.priority limit 1;
        exit when not found;
        teams := '{}'; own := '{}'; pair_teams := '{}'; pair_kinds := '{}';
        -- From after_team to the end, then from the start to after_team; all kinds are below a tilde. A team alone is looked at once.
        for part in 1..2 loop
            if only_team is not null then
                exit when part = 2;
                found_team := only_team; found_kind := ''; last_team := only_team;
            elsif part = 1 then
                found_team := after_team; found_kind := '~'; last_team := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
            else
                found_team := lowest; found_kind := ''; last_team := after_team;
            end if;
            loop
                select j.team_id, j.kind, j.due_at into found_team, found_kind, found_due from job j
                    where j.priority = p and (j.team_id, j.kind collate "C") > (found_team, found_kind collate "C") and j.team_id <= last_team
                    order by j.team_id, j.kind collate "C", j.due_at, j.id limit 1;
                exit when not found;
                continue when found_due > present or not found_kind = any(kinds);
                if cardinality(teams) = 0 or teams[cardinality(teams)] <> found_team then
                    exit when cardinality(teams) >= places;
                    place := array_position(busy, found_team);
                    taken := case when place is null then 0 else held[place] end;
                    continue when taken > 0 and taken + 1 > 4 * (places - 1);
                    teams := teams || found_team; own := own || taken;
                end if;
                pair_teams := pair_teams || found_team; pair_kinds := pair_kinds || found_kind;
            end loop;
            exit when cardinality(teams) >= places;
        end loop;
        waiting := cardinality(teams);
        loop
            took := false;
            later := waiting;
            for i in 1..cardinality(teams) loop
                continue when teams[i] is null;
                share := least((places + later - 1) / greatest(later, 1), greatest((4 * places - own[i]) / 5, case when own[i] = 0 and places > 0 then 1 else 0 end));
                later := later - 1;
                continue when share <= 0;
                taken := 0;
                select array_agg(d.id) into chosen from (
                    select w.id from unnest(pair_teams, pair_kinds) as pair (team_id, kind)
                    cross join lateral (
                        select j.id, j.due_at from job j
                        where j.priority = p and j.team_id = pair.team_id and j.kind collate "C" = pair.kind and j.due_at <= present
                        order by j.due_at, j.id limit share for update skip locked) w
                    where pair.team_id = teams[i]
                    order by w.due_at, w.id limit share) d;
                return query
                    update job j set worker_id = worker, due_at = clock_timestamp() + lease, attempt = least(j.attempt + 1, 32767)
                    where j.id = any(chosen)
                    returning j.*;
                get diagnostics taken = row_count;
                places := places - taken; own[i] := own[i] + taken; took := took or taken > 0;
                place := array_position(busy, teams[i]);
                if place is null then
                    busy := busy || teams[i]; held := held || own[i];
                else
                    held[place] := own[i];
                end if;
                if taken < share then
                    teams[i] := null; waiting := waiting - 1; -- all of its work is taken
                end if;
            end loop;
            exit when not took or waiting = 0;
        end loop;
    end loop;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- job_claim stays: it claims as it did before.
alter function operation_settle (uuid, uuid, text, timestamptz, timestamptz, boolean) reset enable_seqscan;
alter function job_done (uuid, uuid, smallint) reset enable_seqscan;
