-- +goose Up
-- Who did it, as the reads tell: a person, a key of the team, a key of its partner, or the service itself, which has no user.
alter table audit_action
    add column actor_type text not null default 'user' check (actor_type in ('user', 'apiKey', 'partner', 'system')),
    alter column actor_id drop not null;

-- A job works for the action that asked for it, so what it changes is told under that action.
alter table job
    add column action_id uuid,
    add column actor_type text not null default 'user';

-- What an action changed about one record. A row is a revision: work of the same action that changes the same record again adds a row with the
-- same id and the next revision, and the latest one counts, with the changes of all. Nothing is ever changed here.
-- settled_at is null when the action has left work that can add to the event: it is settled when the operations of the action are.
create table audit_event (
    team_id uuid not null references team (id),
    id uuid not null,
    revision integer not null check (revision > 0),
    action_id uuid not null,
    actor_type text not null check (actor_type in ('user', 'apiKey', 'partner', 'system')),
    actor_id uuid,
    type text not null check (type in ('created', 'updated', 'deleted', 'restored', 'posted', 'reversed', 'published', 'reopened', 'matched',
        'unmatched', 'paid', 'connected', 'synced', 'imported', 'merged', 'exported')),
    entity_type text not null,
    entity_id uuid not null,
    entity_name text,
    refs jsonb not null,
    source_type text not null check (source_type in ('user', 'api', 'integration', 'csv', 'rule', 'recurring', 'system', 'migration')),
    connection_id uuid,
    sync_id uuid,
    operation_id uuid,
    import_id uuid,
    changes jsonb not null,
    journal jsonb,
    is_override boolean not null default false,
    occurred_at timestamptz(3) not null,
    recorded_at timestamptz not null,
    settled_at timestamptz,
    primary key (team_id, id, revision),
    constraint audit_event_integration check (source_type <> 'integration' or connection_id is not null)
);
create index audit_event_recorded on audit_event (team_id, recorded_at, id);
create index audit_event_entity on audit_event (team_id, entity_id, recorded_at, id);
create index audit_event_action on audit_event (team_id, action_id, entity_id);
select stayledger_tenant('audit_event');

-- The records that events refer to, besides the one that changed, in the order in which a filter on them pages.
create table audit_reference (
    team_id uuid not null references team (id),
    entity_id uuid not null,
    recorded_at timestamptz not null,
    event_id uuid not null,
    revision integer not null,
    entity_type text not null,
    primary key (team_id, entity_id, recorded_at, event_id, revision)
);
select stayledger_tenant('audit_reference');

-- +goose StatementBegin
create function audit_append_only() returns trigger language plpgsql as $$
begin
    raise exception using errcode = 'SL012', message = 'what was told is never changed';
end
$$;
-- +goose StatementEnd
create trigger audit_event_append_only before update or delete or truncate on audit_event execute function audit_append_only();
create trigger audit_reference_append_only before update or delete or truncate on audit_reference execute function audit_append_only();

-- +goose Down
