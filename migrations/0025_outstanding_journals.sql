
-- +goose Up
-- A journal that a lock keeps as it is says which one: the day that closed books keep, or the saved statement or bank record. It is held
-- for as long as that lock stands, and no longer: whoever takes a lock away finds all that waited for it, and nobody takes a journal for final
-- that nothing holds.
alter table ledger_stale
    add held_at date,
    add held_by uuid,
    drop constraint ledger_stale_source_check,
    add constraint ledger_stale_source check (source in ('reservation', 'transaction', 'journal'));
-- What was locked before is held by the closed books or by the statement that its entries are in; the rest is held by nothing.
select set_config('stayledger.across_teams', 'on', true);
update ledger_stale s set source = 'journal' from journal j where j.team_id = s.team_id and j.id = s.source_id;
update ledger_stale s set held_at = e.at, held_by = e.statement
from (
    select e.team_id, e.source_id, min(e.txn_at) filter (where e.txn_at < greatest(t.books_closed_at, t.soft_closed_at)) as at,
        min(e.statement_id::text)::uuid as statement
    from ledger_entry e
    join team t on t.id = e.team_id
    where e.status = 'active' and (e.team_id, e.source_id) in (select k.team_id, k.source_id from ledger_stale k where k.status = 'locked')
    group by 1, 2) e
where e.team_id = s.team_id and e.source_id = s.source_id and s.status = 'locked';
select set_config('stayledger.across_teams', 'off', true);
create index ledger_stale_by_holder on ledger_stale (team_id, held_by) where held_by is not null;

-- What is outstanding as readers see it: a row is locked while its lock stands, stale from then on.
create view ledger_outstanding with (security_invoker = true) as
select s.team_id, s.source_id, s.cause_id, s.source, s.reason, s.since,
    case
        when s.status <> 'locked' or s.held_at < t.books_closed_at or s.held_at < t.soft_closed_at
            or exists (select from statement h where h.team_id = s.team_id and h.id = s.held_by)
            or exists (select from bank_reconciliation b where b.team_id = s.team_id and b.bank_record_id = s.held_by and b.transaction_id = s.source_id)
            then s.status
        else 'stale'
    end as status
from ledger_stale s
join team t on t.id = s.team_id;

-- +goose Down
