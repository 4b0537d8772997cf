-- +goose Up
-- All that a sync could not do is an issue until it is settled: what failed and what waits, too, and a source that cannot be read.
set local stayledger.across_teams = 'on';

alter table sync_issue drop constraint sync_issue_code_check,
    add constraint sync_issue_code check (code in (
        'textShortened', 'ambiguous', 'incompleteRead', 'recordFailed', 'recordLocked', 'recordUnmapped', 'syncFailed', 'syncDelayed')),
    add column id uuid not null default gen_random_uuid(), -- the place in lists, which go by time
    add column day date; -- of the record, null for none
alter table sync_issue alter column id drop default;
create unique index sync_issue_by_id on sync_issue (team_id, id);
create index sync_issue_decided on sync_issue (team_id) where decision is not null;
create trigger sync_issue_listed after insert on sync_issue referencing new table as changed for each statement execute function list_changed();
create trigger sync_issue_unlisted after delete on sync_issue referencing old table as changed for each statement execute function list_changed();
insert into list_delta (team_id, list, rows) select team_id, 'sync_issue', count(*) from sync_issue group by team_id;

insert into sync_issue (team_id, id, source_id, kind, external_id, ordinal, code, context, entity_id, at, day)
select team_id, gen_random_uuid(), source_id, kind, external_id, ordinal, case when locked then 'recordLocked' else 'recordUnmapped' end,
    jsonb_build_object('kind', kind, 'externalId', external_id, 'reason', case when locked then 'locked' else 'unmapped' end),
    case when kind = 'reservation' then entity_id end, now(), day
from external_record where waiting is not null;

-- How many records a sync has failed or skipped, by reason.
alter table sync add column reasons jsonb not null default '{}';

-- +goose Down
set local stayledger.across_teams = 'on';
alter table sync drop column reasons;
drop index sync_issue_decided;
drop trigger sync_issue_listed on sync_issue;
drop trigger sync_issue_unlisted on sync_issue;
delete from list_delta where list = 'sync_issue';
delete from list_count_kept where list = 'sync_issue';
delete from sync_issue where code not in ('textShortened', 'ambiguous', 'incompleteRead');
alter table sync_issue drop constraint sync_issue_code, drop column id, drop column day,
    add constraint sync_issue_code_check check (code in ('textShortened', 'ambiguous', 'incompleteRead'));
