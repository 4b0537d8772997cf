-- +goose Up
-- What a person should look at about records of a source: texts that were shortened, records that could be several here, and readings that lacked
-- so many records that nothing was removed. One is there until it is settled.
set local stayledger.across_teams = 'on';

create table sync_issue (
    team_id uuid not null,
    source_id uuid not null,
    kind text not null,
    external_id text not null, -- empty for one about a reading
    ordinal integer not null,
    code text not null check (code in ('textShortened', 'ambiguous', 'incompleteRead')),
    context jsonb not null,
    entity_id uuid,
    decision text check (decision in ('confirm', 'dismiss')),
    missing text[] not null default '{}', -- the external ids that a reading lacked
    at timestamptz(3) not null,
    primary key (team_id, source_id, kind, external_id, ordinal, code),
    constraint sync_issue_source foreign key (team_id, source_id) references sync_source (team_id, id) on delete cascade
);
create index sync_issue_by_entity on sync_issue (entity_id, team_id) where entity_id is not null;
select stayledger_tenant('sync_issue');

-- The days of a stay are one field in a merge: what was open about one of them is open about both.
delete from sync_conflict c where field = 'checkOut' and exists (
    select from sync_conflict o where o.team_id = c.team_id and o.source_id = c.source_id and o.kind = c.kind and o.external_id = c.external_id
        and o.ordinal = c.ordinal and o.field = 'checkIn');
update sync_conflict set field = 'checkIn,checkOut' where kind = 'reservation' and field in ('checkIn', 'checkOut');

-- +goose Down
delete from sync_conflict where field = 'checkIn,checkOut';
drop table sync_issue;
