-- +goose Up
-- Which bank records an update moves or turns on and off is found by the difference of the rows before and after it. A join of
-- them compared each of thousands with all others, since PostgreSQL expects one of each.
-- +goose StatementBegin
create or replace function bank_record_updated() returns trigger language plpgsql as $$
begin
    insert into bank_delta (team_id, account_id, day, cents, records)
        select team_id, account_id, date, sum(sign * amount), sum(sign) from (
            select 1 as sign, team_id, account_id, date, amount from now where account_id is not null and status = 'active' and type = 'transaction'
            union all
            select -1, team_id, account_id, date, amount from was where account_id is not null and status = 'active' and type = 'transaction') c
        group by 1, 2, 3 having sum(sign * amount) <> 0 or sum(sign) <> 0;
    perform bank_clear(array_agg(n.team_id), array_agg(n.account_id), array_agg(n.transaction_id), false)
        from (select team_id, id, date, status from now except select team_id, id, date, status from was) c
        join bank_reconciliation n on n.team_id = c.team_id and n.bank_record_id = c.id
        having count(*) > 0;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function bank_record_updated() returns trigger language plpgsql as $$
begin
    insert into bank_delta (team_id, account_id, day, cents, records)
        select team_id, account_id, date, sum(sign * amount), sum(sign) from (
            select 1 as sign, team_id, account_id, date, amount from now where account_id is not null and status = 'active' and type = 'transaction'
            union all
            select -1, team_id, account_id, date, amount from was where account_id is not null and status = 'active' and type = 'transaction') c
        group by 1, 2, 3 having sum(sign * amount) <> 0 or sum(sign) <> 0;
    perform bank_clear(array_agg(n.team_id), array_agg(n.account_id), array_agg(n.transaction_id), false)
        from was join now using (team_id, id) join bank_reconciliation n on n.team_id = now.team_id and n.bank_record_id = now.id
        where (was.date, was.status) is distinct from (now.date, now.status)
        having count(*) > 0;
    return null;
end
$$;
-- +goose StatementEnd
