-- +goose Up
-- How many calls a host outside takes now, and which teams made the last ones. There is one row for each host that was called within minutes;
-- it is the service's own, so that all processes and teams count together.
-- next_at is when the next call would be due at a steady pace. uses has the calls of each team, which fade, as of used_at. From forget_at on
-- the row says no more than none.
create table call_budget (
    name text primary key check (length(name) between 1 and 500),
    next_at timestamptz not null,
    uses jsonb not null,
    used_at timestamptz not null,
    forget_at timestamptz not null
);
create index call_budget_forget on call_budget (forget_at);
alter table call_budget enable row level security;
alter table call_budget force row level security;
create policy maintenance on call_budget using ((select stayledger_across_teams()));

-- Counts a call of a team to a host and returns zero, or counts nothing and returns how long the team has to wait. Calls come every so often
-- and burst at once, whatever the clocks of the processes. A team whose last calls are more than a burst leaves some of the burst free, and one
-- with half as many again all but one call: who called least gets the next call, and a team alone gets every call at a steady pace.
-- +goose StatementBegin
create function take_call(host text, team uuid, every interval, burst integer) returns interval language plpgsql as $$
declare
    last constant float8 := greatest(3 * burst, 5);
    b call_budget;
    t timestamptz;
    rest float8;
    used float8;
    wait interval;
begin
    -- The row is the lock of the host. A periodic task may delete it between the two statements.
    loop
        select * into b from call_budget c where c.name = host for update;
        exit when found;
        insert into call_budget values (host, '-infinity', '{}', clock_timestamp(), clock_timestamp()) on conflict do nothing;
    end loop;

    -- Behind the lock, so that times follow the order of the calls. Calls that were not made are not saved up. A clock that was set back does
    -- not close a host.
    t := clock_timestamp();
    b.next_at := least(greatest(b.next_at, t), t + burst * every);

    -- Calls fade so fast that a team alone at a steady pace has so many.
    rest := exp(-extract(epoch from greatest(t - b.used_at, interval '0')) / (last * extract(epoch from every)));
    used := coalesce((b.uses ->> team::text)::float8, 0) * rest;
    wait := b.next_at + every - t - every * (burst - (burst - 1) * greatest(least(2 * (used - burst) / burst, 1), 0));

    if wait > interval '0' then
        return wait;
    end if;

    -- What has faded to a quarter of a call is left out, so that a row has some teams for each call of a burst at most.
    update call_budget c set next_at = b.next_at + every, used_at = t, forget_at = t + 6 * last * every, uses = jsonb_build_object(team, used + 1) || (
        select coalesce(jsonb_object_agg(u.key, u.value::float8 * rest), '{}') from jsonb_each_text(b.uses) u
        where u.key <> team::text and u.value::float8 * rest > 0.25)
    where c.name = host;

    return interval '0';
end
$$;
-- +goose StatementEnd

-- +goose Down
drop function take_call;
drop table call_budget;
