-- +goose Up
-- The Merkle log of audit events, one for all teams of the deployment: its signing key (sealed), how many leaves it has, and until when events
-- are in it. Rows with sealed values are named by team_id and id; this one belongs to no team, which the highest uuid says.
create table audit_log (
    team_id uuid not null check (team_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
    id uuid not null,
    key bytea not null,
    size bigint not null default 0,
    sealed_through timestamptz not null default '-infinity',
    primary key (team_id, id)
);
create unique index audit_log_only_one on audit_log (team_id);
select stayledger_tenant('audit_log');

-- A leaf is a salted commitment to a revision of an event. It outlives its team; the salt does not.
create table audit_leaf (
    seq bigint primary key check (seq >= 0),
    team_id uuid not null,
    event_id uuid not null,
    revision integer not null,
    salt bytea,
    hash bytea not null check (length(hash) = 32)
);
create unique index audit_leaf_event on audit_leaf (team_id, event_id, revision);
select stayledger_tenant('audit_leaf');

-- The hashes of the tree as tiles of height 8 (golang.org/x/mod/sumdb/tlog): tile n of a level has up to 256 hashes of 32 bytes.
create table audit_tile (
    level integer not null,
    n bigint not null,
    hashes bytea not null check (length(hashes) between 32 and 8192 and length(hashes) % 32 = 0),
    primary key (level, n)
);
alter table audit_tile enable row level security;
alter table audit_tile force row level security;
create policy maintenance on audit_tile using ((select stayledger_across_teams()));

-- A signed note about the tree of a size. kept_at is when the file store got it too.
create table audit_checkpoint (
    tree_size bigint primary key,
    root bytea not null check (length(root) = 32),
    note text not null,
    created_at timestamptz(3) not null,
    kept_at timestamptz(3)
);
alter table audit_checkpoint enable row level security;
alter table audit_checkpoint force row level security;
create policy maintenance on audit_checkpoint using ((select stayledger_across_teams()));

-- Finds the events since an instant, of all teams. A write touches it once in a hundred pages or so.
create index audit_event_instant on audit_event using brin (recorded_at) with (autosummarize = on);

-- +goose StatementBegin
-- Of a leaf only the salt can change: it goes with the event of a team that is erased.
create function audit_leaf_kept() returns trigger language plpgsql as $$
begin
    if (new.seq, new.team_id, new.event_id, new.revision, new.hash) is distinct from (old.seq, old.team_id, old.event_id, old.revision, old.hash)
        or new.salt is not null or old.team_id is distinct from stayledger_erasing() then
        raise exception using errcode = 'SL012', message = 'a leaf of the log is never changed';
    end if;
    return new;
end
$$;

create function audit_tile_grows() returns trigger language plpgsql as $$
begin
    if (new.level, new.n) is distinct from (old.level, old.n) or substr(new.hashes, 1, length(old.hashes)) <> old.hashes then
        raise exception using errcode = 'SL012', message = 'hashes of the log are only added';
    end if;
    return new;
end
$$;

create function audit_checkpoint_kept() returns trigger language plpgsql as $$
begin
    if (new.tree_size, new.root, new.note, new.created_at) is distinct from (old.tree_size, old.root, old.note, old.created_at) or old.kept_at is not null then
        raise exception using errcode = 'SL012', message = 'a checkpoint is never changed';
    end if;
    return new;
end
$$;

create function audit_salt_erased() returns trigger language plpgsql as $$
begin
    update audit_leaf l set salt = null from gone g
    where l.team_id = g.team_id and l.event_id = g.id and l.revision = g.revision and l.salt is not null;
    return null;
end
$$;
-- +goose StatementEnd
create trigger audit_leaf_kept before update on audit_leaf for each row execute function audit_leaf_kept();
create trigger audit_leaf_append_only before delete on audit_leaf for each row execute function audit_append_only();
create trigger audit_leaf_whole before truncate on audit_leaf execute function audit_append_only();
create trigger audit_tile_grows before update on audit_tile for each row execute function audit_tile_grows();
create trigger audit_tile_append_only before delete or truncate on audit_tile execute function audit_append_only();
create trigger audit_checkpoint_kept before update on audit_checkpoint for each row execute function audit_checkpoint_kept();
create trigger audit_checkpoint_append_only before delete or truncate on audit_checkpoint execute function audit_append_only();
create trigger audit_salt_erased after delete on audit_event referencing old table as gone for each statement execute function audit_salt_erased();

-- A checkpoint is told to every team with an active subscription to it.
alter table webhook_note add column checkpoint_size bigint;
-- +goose StatementBegin
create function webhook_note_checkpoint() returns trigger language plpgsql as $$
begin
    insert into webhook_note (team_id, checkpoint_size)
    select distinct w.team_id, new.tree_size from webhook w where w.status = 'active' and 'audit.checkpoint' = any(w.event_types);
    return null;
end
$$;
-- +goose StatementEnd
create trigger audit_checkpoint_noted after insert on audit_checkpoint for each row execute function webhook_note_checkpoint();

-- +goose Down
