-- +goose Up
-- Few payments lack their money, and an index has just these: payments that were made good are left out of it. Their transactions are looked up one by one,
-- since a join was begun from the other side, with all transactions of the team.
drop index payment_without_money;
create index payment_without_money on payment (team_id, transaction_id)
    where (status in ('awaitingApproval', 'sending', 'failed', 'canceled', 'returned') or unknown_since is not null) and (recovered_at is null or status = 'returned');

create or replace view payment_not_received with (security_invoker = true) as
select p.team_id, p.transaction_id, p.id as payment_id, p.contact_id, p.funding_account_id, p.amount, p.currency, t.type as transaction_type, t.date,
    case p.status when 'awaitingApproval' then 'paymentAwaitingApproval' when 'failed' then 'paymentFailed' when 'canceled' then 'paymentCanceled' when 'returned' then 'paymentReturned'
        else case when p.issues @> '[{"code": "givenUp"}]' then 'paymentGivenUp' else 'paymentUnknown' end end as code,
    p.status in ('failed', 'canceled', 'returned') as refused,
    case when t.type <> 'expense' then greatest(p.amount - back.returned, 0) when t.payment_date is null then 0 else p.amount end as missing
from payment p
cross join lateral (
    select t.type, t.date, t.payment_date from transaction t
    where t.team_id = p.team_id and t.id = p.transaction_id and t.status = 'active' offset 0) t
cross join lateral (
    select coalesce(sum(-x.total) filter (where r.kind = 'return'), 0)::bigint as returned,
        coalesce(sum(x.total) filter (where r.kind = 'replacement'), 0)::bigint as replaced
    from payment_return r join transaction x on x.team_id = r.team_id and x.id = r.transaction_id and x.status = 'active'
    where r.team_id = p.team_id and r.original_id = p.transaction_id) back
where (p.status in ('awaitingApproval', 'sending', 'failed', 'canceled', 'returned') or p.unknown_since is not null)
    and (p.status <> 'sending' or p.unknown_since is not null or p.sent_at < now() - interval '1 minute')
    and (p.recovered_at is null or p.status = 'returned')
    and back.replaced < p.amount
    and (p.recovered_at is null or p.status = 'returned' and t.type = 'expense' and t.payment_date is null
        and not exists (select from payment n where n.team_id = p.team_id and n.transaction_id = p.transaction_id and n.id > p.id));

-- +goose Down
