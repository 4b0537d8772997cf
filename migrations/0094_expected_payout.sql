-- +goose Up
-- What systems say that comes of a stay: payouts are compared with it.
set local stayledger.across_teams = 'on';

alter table reservation add column expected_payout bigint, add column expected_channel_fee bigint, add column expected_processing_fee bigint;

alter table sync_issue drop constraint sync_issue_code,
    add constraint sync_issue_code check (code in (
        'textShortened', 'ambiguous', 'incompleteRead', 'recordFailed', 'recordLocked', 'recordUnmapped', 'syncFailed', 'syncDelayed', 'payoutDeviation', 'taxUnknown'));

-- The tax on what is kept of a canceled stay goes where tax goes, and deposits that are given back to the account of the standard chart, in
-- teams that have no such lines yet.
insert into reservation_line_mapping (team_id, id, app_id, line_type, channel, status, account_id, party, revenue_recognition)
select team_id, gen_random_uuid(), app_id, 'retainedTax', channel, status, account_id, party, revenue_recognition
from reservation_line_mapping where line_type = 'tax' and status <> 'unmapped'
on conflict do nothing;

insert into reservation_line_mapping (team_id, id, line_type, status, account_id)
select a.team_id, gen_random_uuid(), t.line_type, 'mapped', a.id
from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id cross join (values ('securityDeposit'), ('retainedDeposit')) t (line_type)
where a.code = '2300' and a.status = 'active' and c.classification = 'liability'
    and not exists (select from reservation_line l where l.team_id = a.team_id and l.type = t.line_type)
on conflict do nothing;

-- +goose Down
set local stayledger.across_teams = 'on';
delete from reservation_line_mapping where line_type in ('retainedTax', 'retainedDeposit', 'securityDeposit');
delete from sync_issue where code in ('payoutDeviation', 'taxUnknown');
alter table sync_issue drop constraint sync_issue_code,
    add constraint sync_issue_code check (code in (
        'textShortened', 'ambiguous', 'incompleteRead', 'recordFailed', 'recordLocked', 'recordUnmapped', 'syncFailed', 'syncDelayed'));
alter table reservation drop column expected_payout, drop column expected_channel_fee, drop column expected_processing_fee;
