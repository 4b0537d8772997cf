-- +goose Up
-- Which records the pages of a complete reading had, one row for each kind of a page: to mark the records themselves took
-- a new version of each row in every reading. The rows go when the reading ends or another one of the source begins.
create table sync_seen (
    team_id uuid not null,
    source_id uuid not null,
    reading_id uuid not null,
    kind text not null,
    external_ids text[] not null,
    ordinals integer[] not null,
    constraint sync_seen_source foreign key (team_id, source_id) references sync_source (team_id, id) on delete cascade
);
create index sync_seen_by_source on sync_seen (team_id, source_id, kind);
select stayledger_tenant('sync_seen');
alter table external_record drop column seen_reading_id;

-- +goose Down
alter table external_record add column seen_reading_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table external_record alter column seen_reading_id drop default;
drop table sync_seen;
