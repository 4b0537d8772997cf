-- +goose Up
-- The sums of all months by listing. What a trust holds by listing on a day of these months is the sum of all months less those after the day:
-- reports read a row for each account of a listing, and not one for each of its months.
set local stayledger.across_teams = 'on';

create table ledger_listing_kept (
    team_id uuid not null,
    ledger text not null,
    currency text not null,
    account_id uuid not null,
    party text not null,
    listing_id uuid not null,
    debit bigint not null,
    credit bigint not null,
    primary key (team_id, ledger, currency, party, account_id, listing_id)
);
select stayledger_tenant('ledger_listing_kept');
insert into ledger_listing_kept (team_id, ledger, currency, account_id, party, listing_id, debit, credit)
    select team_id, ledger, currency, account_id, party, listing_id, sum(debit), sum(credit) from ledger_balance_kept
    group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 5, 4, 6;

-- +goose StatementBegin
-- Only folding changes the sums by month, one fold of a team at a time, so these sums change under the same lock. Sums of months that are deleted
-- go from a row that is still there: a team that is erased loses both.
create function ledger_listing_keep() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        update ledger_listing_kept k set debit = k.debit - r.debit, credit = k.credit - r.credit
            from (select team_id, ledger, currency, account_id, party, listing_id, sum(debit) as debit, sum(credit) as credit from removed group by 1, 2, 3, 4, 5, 6) r
            where k.team_id = r.team_id and k.ledger = r.ledger and k.currency = r.currency and k.party = r.party and k.account_id = r.account_id
                and k.listing_id = r.listing_id;
        return null;
    end if;
    if tg_op = 'INSERT' then
        insert into ledger_listing_kept as k (team_id, ledger, currency, account_id, party, listing_id, debit, credit)
            select team_id, ledger, currency, account_id, party, listing_id, sum(debit), sum(credit) from added
            group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 5, 4, 6
        on conflict (team_id, ledger, currency, party, account_id, listing_id)
            do update set debit = k.debit + excluded.debit, credit = k.credit + excluded.credit;
        return null;
    end if;
    insert into ledger_listing_kept as k (team_id, ledger, currency, account_id, party, listing_id, debit, credit)
        select team_id, ledger, currency, account_id, party, listing_id, sum(debit), sum(credit) from (
            select team_id, ledger, currency, account_id, party, listing_id, debit, credit from added
            union all select team_id, ledger, currency, account_id, party, listing_id, -debit, -credit from removed) c
        group by 1, 2, 3, 4, 5, 6 having sum(debit) <> 0 or sum(credit) <> 0 order by 1, 2, 3, 5, 4, 6
    on conflict (team_id, ledger, currency, party, account_id, listing_id)
        do update set debit = k.debit + excluded.debit, credit = k.credit + excluded.credit;
    return null;
end
$$;
-- +goose StatementEnd
create trigger ledger_listing_added after insert on ledger_balance_kept referencing new table as added for each statement execute function ledger_listing_keep();
create trigger ledger_listing_changed after update on ledger_balance_kept referencing old table as removed new table as added
    for each statement execute function ledger_listing_keep();
create trigger ledger_listing_removed after delete on ledger_balance_kept referencing old table as removed for each statement execute function ledger_listing_keep();

create view ledger_listing with (security_invoker = true) as
    select team_id, ledger, currency, account_id, party, listing_id, debit, credit from ledger_listing_kept
    union all
    select team_id, ledger, currency, account_id, party, listing_id, debit, credit from ledger_delta;

-- +goose Down
drop view ledger_listing;
drop trigger ledger_listing_removed on ledger_balance_kept;
drop trigger ledger_listing_changed on ledger_balance_kept;
drop trigger ledger_listing_added on ledger_balance_kept;
drop function ledger_listing_keep();
drop table ledger_listing_kept;
