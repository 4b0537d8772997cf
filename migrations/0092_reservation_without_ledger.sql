-- +goose Up
-- Nothing of a reservation is posted in a team without a general ledger. Those that are there already say so, too.
set local stayledger.across_teams = 'on';

alter table reservation_unposted drop constraint reservation_unposted_reason_check,
    add constraint reservation_unposted_reason_check
        check (reason in ('beforeStatementStartDate', 'outsideAccountingWindow', 'generalLedgerDisabled'));

insert into reservation_unposted (team_id, reservation_id, reason, whole, cent_total, fee_cent_total, deferred_cent_total, first_day)
    select r.team_id, r.id, 'generalLedgerDisabled', true, 0, 0, 0, null
    from reservation r join team t on t.team_id = r.team_id
    where not t.is_general_ledger and r.status <> 'inactive' and r.general_ledger_status = 'active'
on conflict (team_id, reservation_id) do update set reason = excluded.reason, whole = excluded.whole, cent_total = 0, fee_cent_total = 0,
    deferred_cent_total = 0, first_day = null;

-- +goose Down
set local stayledger.across_teams = 'on';

delete from reservation_unposted where reason = 'generalLedgerDisabled';
alter table reservation_unposted drop constraint reservation_unposted_reason_check,
    add constraint reservation_unposted_reason_check check (reason in ('beforeStatementStartDate', 'outsideAccountingWindow'));
