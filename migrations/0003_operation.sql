-- +goose Up
-- A job is a row in the transaction that asks for it; finished jobs are deleted, so the table stays as small as the work that is waiting.
-- due_at is the next instant at which a worker may take the job: in the future while a worker holds its lease or a retry waits.
create table job (
    id uuid primary key,
    team_id uuid not null,
    kind text not null,
    args jsonb not null,
    actor_id uuid not null,
    operation_id uuid,
    priority smallint not null default 0,
    attempt smallint not null default 0,
    max_attempts smallint not null,
    due_at timestamptz not null,
    worker_id uuid,
    created_at timestamptz not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
create index job_due on job (priority, due_at, id);
select stayledger_tenant('job');

-- Ends a job inside the transaction that keeps its outcome. A worker that lost its lease gets SL010, and its transaction cannot commit:
-- that is why the end of a job can travel with the commit.
-- +goose StatementBegin
create function job_done(job uuid, worker uuid, try smallint) returns void language plpgsql as $$
begin
    delete from job j where j.id = job_done.job and j.worker_id = worker and j.attempt = try;
    if not found then
        raise exception using errcode = 'SL010', message = 'the lease of the job is lost';
    end if;
end
$$;
-- +goose StatementEnd

-- When each of the service's own periodic tasks is next due; the row is also what keeps two processes from running it together.
create table job_schedule (
    name text primary key,
    next_at timestamptz not null
);
alter table job_schedule enable row level security;
alter table job_schedule force row level security;
create policy maintenance on job_schedule using ((select stayledger_across_teams()));

-- id is a version 7 uuid made from created_at: ordering by id is ordering by creation, newest last, with the random part as tie-breaker.
-- type is null for internal work, which the API neither lists nor counts.
create table operation (
    team_id uuid not null references team (id),
    id uuid not null,
    type text,
    status text not null check (status in ('queued', 'running', 'completed', 'failed')),
    initiated_by uuid not null,
    action_id uuid,
    resource_type text,
    resource_id uuid,
    resource_role text,
    failure_code text,
    tasks_open integer not null,
    tasks_failed integer not null default 0,
    counted boolean not null default false,
    created_at timestamptz(3) not null,
    started_at timestamptz(3),
    finished_at timestamptz(3),
    primary key (team_id, id),
    constraint operation_finished check ((finished_at is not null) = (status in ('completed', 'failed'))),
    constraint operation_settled check (status not in ('completed', 'failed') or tasks_open = 0)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index operation_by_type on operation (team_id, type, id);
create index operation_by_initiator on operation (team_id, initiated_by, id);
create index operation_unsettled on operation (team_id, status, id) where status <> 'completed';
create index operation_uncounted on operation (team_id, id) where not counted;
create index operation_action on operation (team_id, action_id) where action_id is not null;
select stayledger_tenant('operation');

-- Settles one task of an operation and, when it is the last, the operation: failed when a task failed, else completed. An operation that has
-- no open task is left as it is; with strict it is refused (SL011), so that nothing lands on an operation that settled meanwhile.
-- +goose StatementBegin
create function operation_settle(team uuid, operation uuid, code text, started timestamptz, ended timestamptz, strict boolean) returns void
language plpgsql as $$
begin
    update operation o set
        tasks_open = tasks_open - 1,
        tasks_failed = tasks_failed + case when code is null then 0 else 1 end,
        failure_code = coalesce(failure_code, code),
        started_at = coalesce(started_at, greatest(started, created_at)),
        status = case
            when tasks_open > 1 then 'running'
            when tasks_failed > 0 or code is not null then 'failed'
            else 'completed' end,
        finished_at = case when tasks_open > 1 then null else greatest(ended, started_at, started, created_at) end
    where o.team_id = team and o.id = operation_settle.operation and tasks_open > 0;
    if strict and not found then
        raise exception using errcode = 'SL011', message = 'the operation has settled without this task';
    end if;
end
$$;
-- +goose StatementEnd

create table operation_resource (
    team_id uuid not null,
    operation_id uuid not null,
    position smallint not null,
    type text not null,
    resource_id uuid not null,
    role text not null check (role in ('source', 'target', 'result')),
    primary key (team_id, operation_id, position),
    foreign key (team_id, operation_id) references operation (team_id, id) on delete cascade
);
create index operation_resource_lookup on operation_resource (team_id, type, resource_id, operation_id);
select stayledger_tenant('operation_resource');

-- Settled operations folded into counts, so that a list never scans to count. day is -infinity for the total over all days; resource_type
-- is empty for the count over all operations. Operations that are not folded yet (counted = false) are counted live beside it.
create table operation_count (
    team_id uuid not null references team (id),
    day date not null,
    resource_type text not null,
    type text not null,
    initiated_by uuid not null,
    status text not null,
    count bigint not null,
    primary key (team_id, day, resource_type, type, initiated_by, status)
);
select stayledger_tenant('operation_count');

create table audit_action (
    team_id uuid not null references team (id),
    id uuid not null,
    actor_id uuid not null,
    endpoint text not null,
    request_id text not null,
    created_at timestamptz(3) not null,
    primary key (team_id, id)
);
select stayledger_tenant('audit_action');

-- Answers kept for 24 hours under the caller's Idempotency-Key.
create table api_idempotency (
    team_id uuid not null references team (id),
    user_id uuid not null,
    key text not null,
    request_hash bytea not null,
    status integer not null,
    headers jsonb not null,
    body bytea not null,
    created_at timestamptz(3) not null,
    primary key (team_id, user_id, key)
);
create index api_idempotency_age on api_idempotency (created_at);
select stayledger_tenant('api_idempotency');

create table file (
    team_id uuid not null references team (id),
    id uuid not null,
    kind text not null check (kind in ('export', 'attachment', 'payment')),
    filename text not null,
    content_type text not null,
    byte_size bigint not null,
    sha256 bytea not null,
    blob_key text not null,
    created_at timestamptz(3) not null,
    purge_at timestamptz(3),
    purged_at timestamptz(3),
    primary key (team_id, id)
);
create index file_purge on file (purge_at) where purged_at is null;
select stayledger_tenant('file');

-- Blobs that are being written: a row stands from before the first byte until the file's own row takes its place, so that a blob whose
-- writer died is found and removed.
create table file_draft (
    team_id uuid not null references team (id),
    id uuid not null,
    blob_key text not null,
    created_at timestamptz(3) not null,
    primary key (team_id, id)
);
create index file_draft_age on file_draft (created_at);
select stayledger_tenant('file_draft');

-- +goose Down
