-- +goose Up
-- When the first attempt at a job has failed: work on the outside is tried for a time that is counted from then.
alter table job add column tried_at timestamptz;

-- When the attempt at a batch that is under way ends by itself, at the latest; null while none is. Only in between can a provider be told of a
-- payment, so whoever takes one back must find none under way.
alter table payment_batch add column busy_until timestamptz(3);

-- Since when an attempt has ended without the provider's word on the payment, or the provider has said that it does not know what it took.
alter table payment add column unknown_since timestamptz(3);

-- An attempt that began before these columns were there may still be under way.
select set_config('stayledger.across_teams', 'on', true);
update payment_batch set busy_until = attempted_at + interval '5 minutes' where attempted_at > now() - interval '10 minutes';
update payment set unknown_since = sent_at where status = 'sending' or status = 'submitted' and issues @> '[{"code": "unknownToProvider"}]';

-- The few payments of which the provider has moved no money, or is not known to have; those that wait for a second person among them.
create index payment_without_money on payment (team_id, transaction_id)
    where status in ('awaitingApproval', 'sending', 'failed', 'canceled', 'returned') or unknown_since is not null;

-- Payments that have not brought their money and are not made good for, on transactions that still count: those that failed, were canceled or
-- came back and were not put away; those that wait for a second person; those of which nothing is known; and bills that are open again because their payment came back. missing is
-- what the books still tell as paid of it: nothing when the bill is open, or when returns were booked. Every figure that says what was paid
-- takes it off. A payment is not known from the first attempt on that ends without the provider's word, and when it is sent for a minute.
create view payment_not_received with (security_invoker = true) as
select p.team_id, p.transaction_id, p.id as payment_id, p.contact_id, p.funding_account_id, p.amount, p.currency, t.type as transaction_type, t.date,
    case p.status when 'awaitingApproval' then 'paymentAwaitingApproval' when 'failed' then 'paymentFailed' when 'canceled' then 'paymentCanceled' when 'returned' then 'paymentReturned'
        else case when p.issues @> '[{"code": "givenUp"}]' then 'paymentGivenUp' else 'paymentUnknown' end end as code,
    p.status in ('failed', 'canceled', 'returned') as refused,
    case when t.type <> 'expense' then greatest(p.amount - back.returned, 0) when t.payment_date is null then 0 else p.amount end as missing
from payment p
join transaction t on t.team_id = p.team_id and t.id = p.transaction_id and t.status = 'active'
cross join lateral (
    select coalesce(sum(-x.total) filter (where r.kind = 'return'), 0)::bigint as returned,
        coalesce(sum(x.total) filter (where r.kind = 'replacement'), 0)::bigint as replaced
    from payment_return r join transaction x on x.team_id = r.team_id and x.id = r.transaction_id and x.status = 'active'
    where r.team_id = p.team_id and r.original_id = p.transaction_id) back
where (p.status in ('awaitingApproval', 'sending', 'failed', 'canceled', 'returned') or p.unknown_since is not null)
    and (p.status <> 'sending' or p.unknown_since is not null or p.sent_at < now() - interval '1 minute')
    and back.replaced < p.amount
    and (p.recovered_at is null or p.status = 'returned' and t.type = 'expense' and t.payment_date is null
        and not exists (select from payment n where n.team_id = p.team_id and n.transaction_id = p.transaction_id and n.id > p.id));

-- +goose Down
