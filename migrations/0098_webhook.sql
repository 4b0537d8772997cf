-- +goose Up
-- A subscription of a team to what happens in it, or, with the scope managed, in the teams that it manages.
create table webhook (
    team_id uuid not null references team (id),
    id uuid not null,
    scope text not null check (scope in ('self', 'managed')),
    url text not null check (length(url) <= 2000),
    description text check (length(description) <= 1000),
    event_types text[] not null check (cardinality(event_types) between 1 and 100),
    api_version text not null,
    status text not null check (status in ('pending', 'active', 'disabled')),
    disabled_reason text check (disabled_reason in ('deleted', 'gone', 'failing')),
    revision bigint not null check (revision > 0),
    -- Sealed. The former secrets sign too, each for a day.
    secret bytea not null,
    former_secrets bytea,
    verified_at timestamptz(3),
    disabled_at timestamptz(3),
    -- How its receiver does: since when each attempt has failed, how many have in a row, whether it is slow, and until when it asks to be left alone.
    failing_since timestamptz(3),
    failures integer not null default 0,
    is_slow boolean not null default false,
    paused_until timestamptz(3),
    -- Until when a sender has its messages for itself.
    leased_until timestamptz,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint webhook_disabled check ((status = 'disabled') = (disabled_at is not null) and (disabled_at is null) = (disabled_reason is null)),
    constraint webhook_verified check (status <> 'active' or verified_at is not null)
);
create index webhook_active on webhook (team_id, id) where status = 'active';
select stayledger_tenant('webhook');

-- A message for a receiver, exactly as it is signed, with what became of it. team_id has the subscription, about_team_id is where it happened.
-- due_at is when it is sent next, and null once nothing more is sent, and for one that an operation sends.
create table webhook_delivery (
    team_id uuid not null,
    id uuid not null,
    webhook_id uuid not null,
    about_team_id uuid not null,
    event_id uuid not null,
    event_type text not null,
    payload text not null,
    status text not null check (status in ('pending', 'delivering', 'succeeded', 'failed', 'exhausted')),
    attempts integer not null default 0,
    due_at timestamptz,
    response_status integer,
    response_body text,
    failure text,
    duration_ms integer,
    created_at timestamptz(3) not null,
    attempted_at timestamptz(3),
    delivered_at timestamptz(3),
    primary key (team_id, id),
    foreign key (team_id, webhook_id) references webhook (team_id, id),
    constraint webhook_delivery_open check (due_at is null or status in ('pending', 'failed'))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index webhook_delivery_due on webhook_delivery (team_id, webhook_id, due_at, id) where due_at is not null;
create index webhook_delivery_history on webhook_delivery (team_id, webhook_id, created_at, id);
select stayledger_tenant('webhook_delivery');

-- What has happened and was not yet given to subscriptions: the events that an action recorded at an instant, or an operation that has ended.
create table webhook_note (
    team_id uuid not null references team (id),
    id bigint not null generated always as identity,
    action_id uuid,
    recorded_at timestamptz,
    operation_id uuid,
    primary key (team_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
select stayledger_tenant('webhook_note');

-- When a team used what is limited, during the last minute.
create table webhook_rate (
    team_id uuid not null references team (id),
    name text not null,
    used_at timestamptz(3)[] not null,
    primary key (team_id, name)
) with (fillfactor = 50);
select stayledger_tenant('webhook_rate');

-- Whether somebody can have subscribed to what happens in a team. The subscriptions of its partner are not in sight of its transactions, so a team
-- with a partner counts.
create function webhook_wanted(team uuid) returns boolean language sql stable
    as $$ select exists (select from webhook w where w.team_id = team and w.status = 'active')
        or exists (select from team t where t.id = team and t.partner_id is not null) $$;

-- +goose StatementBegin
-- The note is a row of the transaction that it tells of: a rollback takes it back, and a commit cannot lose it.
create function webhook_note_events() returns trigger language plpgsql as $$
begin
    insert into webhook_note (team_id, action_id, recorded_at)
    select a.team_id, a.action_id, a.recorded_at from (select distinct team_id, action_id, recorded_at from added) a
    where webhook_wanted(a.team_id);
    return null;
end
$$;

create function webhook_note_operation() returns trigger language plpgsql as $$
begin
    insert into webhook_note (team_id, operation_id) select new.team_id, new.id where webhook_wanted(new.team_id);
    return null;
end
$$;

-- The identifier of a message: the same for each subscription, and however often it is made.
create function webhook_event_id(text) returns uuid language sql immutable strict parallel safe
    as $$ select overlay(overlay(md5($1) placing '8' from 13 for 1) placing 'a' from 17 for 1)::uuid $$;
-- +goose StatementEnd
create trigger audit_event_noted after insert on audit_event referencing new table as added for each statement execute function webhook_note_events();
create trigger operation_noted_new after insert on operation for each row
    when (new.status in ('completed', 'failed') and new.type is not null) execute function webhook_note_operation();
create trigger operation_noted after update of status on operation for each row
    when (new.status in ('completed', 'failed') and old.status not in ('completed', 'failed') and new.type is not null) execute function webhook_note_operation();

-- +goose Down
