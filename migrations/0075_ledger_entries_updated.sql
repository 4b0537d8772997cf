-- +goose Up
-- What an update changes of entries is found by the difference of the rows before and after it: a join of them compared each
-- of thousands with all others, since PostgreSQL expects one of each. Entries of the historical ledger are in no kept sum and
-- are derived from nothing, so a merge of listings moves them.
-- +goose StatementBegin
create or replace function ledger_entry_updated() returns trigger language plpgsql as $$
begin
    if exists (select team_id, id, cent_total, account_id, txn_at, status, ledger, currency, txn_code, party, trigger_type, reservation_id,
                      case when ledger <> 'historical' then listing_id end, case when ledger <> 'historical' then ownership_period_id end
               from now
               except
               select team_id, id, cent_total, account_id, txn_at, status, ledger, currency, txn_code, party, trigger_type, reservation_id,
                      case when ledger <> 'historical' then listing_id end, case when ledger <> 'historical' then ownership_period_id end
               from was) then
        raise exception using errcode = 'SL003', message = 'a journal entry is replaced, never edited';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function ledger_entry_updated() returns trigger language plpgsql as $$
begin
    if exists (select from was join now using (team_id, id)
               where (was.cent_total, was.account_id, was.txn_at, was.status, was.ledger, was.currency, was.txn_code, was.party, was.listing_id,
                      was.ownership_period_id, was.trigger_type, was.reservation_id)
                     is distinct from
                     (now.cent_total, now.account_id, now.txn_at, now.status, now.ledger, now.currency, now.txn_code, now.party, now.listing_id,
                      now.ownership_period_id, now.trigger_type, now.reservation_id)) then
        raise exception using errcode = 'SL003', message = 'a journal entry is replaced, never edited';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
