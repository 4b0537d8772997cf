-- +goose Up
-- Fields that people here and a source have both changed: the value here was kept until somebody decides. What the source says is in what was taken
-- over of its record, what is here in the record.
set local stayledger.across_teams = 'on';

create table sync_conflict (
    team_id uuid not null,
    id uuid not null,
    source_id uuid not null,
    kind text not null,
    external_id text not null,
    ordinal integer not null,
    field text not null,
    at timestamptz(3) not null,
    primary key (team_id, id),
    constraint sync_conflict_field unique (team_id, source_id, kind, external_id, ordinal, field),
    constraint sync_conflict_record foreign key (team_id, source_id, kind, external_id, ordinal)
        references external_record (team_id, source_id, kind, external_id, ordinal) on delete cascade
);
create index sync_conflict_by_time on sync_conflict (team_id, at, id);
select stayledger_tenant('sync_conflict');
create trigger sync_conflict_listed after insert on sync_conflict referencing new table as changed for each statement execute function list_changed();
create trigger sync_conflict_unlisted after delete on sync_conflict referencing old table as changed for each statement execute function list_changed();

insert into sync_conflict (team_id, id, source_id, kind, external_id, ordinal, field, at)
    select r.team_id, gen_random_uuid(), r.source_id, r.kind, r.external_id, r.ordinal, c->>'field', now()
    from external_record r cross join lateral jsonb_array_elements(r.conflicts) c
    where r.entity_id is not null and c->>'field' not in ('parentId', 'unit') -- which are no values of a record here
    on conflict (team_id, source_id, kind, external_id, ordinal, field) do nothing;

-- A record with a conflict is looked at whenever the source gives it: whatever it says, people may have ended the conflict.
update external_record set hash = '' where conflicts <> '[]';
alter table external_record drop column conflicts;

-- +goose Down
