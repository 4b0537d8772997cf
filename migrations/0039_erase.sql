-- +goose Up
-- A team that is frozen for its deletion can be erased, its trail and its books included. The setting stayledger.erasing, which lasts as long as
-- a transaction, names it; nothing else of the service sets that. Rows of other teams, and of teams that are not being deleted, stay as protected as ever.
create function stayledger_erasing() returns uuid language sql stable
    as $$ select t.id from team t where t.id = nullif(current_setting('stayledger.erasing', true), '')::uuid and t.freeze_reason = 'deletion' $$;

-- +goose StatementBegin
create function audit_erased() returns trigger language plpgsql as $$
begin
    if exists (select from gone where gone.team_id is distinct from stayledger_erasing()) then
        raise exception using errcode = 'SL012', message = 'what was told is never changed';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
drop trigger audit_event_append_only on audit_event;
drop trigger audit_reference_append_only on audit_reference;
create trigger audit_event_append_only before update or truncate on audit_event execute function audit_append_only();
create trigger audit_reference_append_only before update or truncate on audit_reference execute function audit_append_only();
create trigger audit_event_erased after delete on audit_event referencing old table as gone for each statement execute function audit_erased();
create trigger audit_reference_erased after delete on audit_reference referencing old table as gone for each statement execute function audit_erased();

-- +goose StatementBegin
-- What a statement added or removed must balance by itself, and is noted for the sums. Lines of imported owner statements are no part of any
-- books and have one side. Of books that are erased nothing has to balance, and nobody adds them up any more.
create or replace function ledger_entry_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
begin
    if tg_op = 'DELETE' and not exists (select from changed where team_id is distinct from stayledger_erasing()) then
        return null;
    end if;
    if exists (select from changed where not (ledger = 'historical' and statement_id is not null)
               group by team_id, txn_code, ledger, currency, status having sum(cent_total) <> 0) then
        raise exception using errcode = 'SL001', message = 'a posting does not balance';
    end if;
    if tg_op = 'INSERT' and exists (select from (select distinct team_id, account_id from changed) c
               where not exists (select from account a where a.team_id = c.team_id and a.id = c.account_id)) then
        raise exception using errcode = 'SL002', message = 'a posting names an unknown account';
    end if;
    insert into ledger_delta (team_id, ledger, currency, account_id, party, listing_id, day, debit, credit)
        select team_id, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, '00000000-0000-0000-0000-000000000000'), txn_at,
               sign * sum(greatest(cent_total, 0)), sign * sum(greatest(-cent_total, 0))
        from changed where status = 'active' and ledger <> 'historical'
        group by 1, 2, 3, 4, 5, 6, 7;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
