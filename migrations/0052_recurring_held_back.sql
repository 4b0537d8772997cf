-- +goose Up
-- A recurring template makes each of its dates by itself. held_back lists the dates that were refused, by a lock for example, as objects
-- {date, code, reason, message, context, triedAt} in the order of their dates: they are tried again and keep no later date from being made.
-- skipped_dates are the dates that somebody does not want at all. failed_at is when held dates were last tried.
alter table transaction_template
    add held_back jsonb not null default '[]' check (jsonb_typeof(held_back) = 'array'),
    add skipped_dates date[] not null default '{}';
create index transaction_template_held_back on transaction_template (team_id, id) where held_back <> '[]' and status = 'active';

-- A date that got its transaction by hand meanwhile is not held back any more.
create view transaction_held_back with (security_invoker = true) as
select t.team_id, t.id as template_id, t.status, (h.item ->> 'date')::date as date, h.item
from transaction_template t
cross join lateral jsonb_array_elements(t.held_back) h (item)
where t.held_back <> '[]' and not exists (
    select from transaction x
    where x.team_id = t.team_id and x.recurring_template_id = t.id and x.recurring_at = (h.item ->> 'date')::date);

-- +goose Down
