-- +goose Up
-- Who gets the tax on a bill. Null, on lines that were written without it: the authority, whether the amount contains the tax or not.
alter table transaction_line add tax_payee text check (tax_payee in ('vendor', 'authority'));

-- The currencies in which a team has ever debited an amount that is large beside what a JSON number holds exactly. Only their books are added up
-- with every posting: without a large entry it takes thousands of millions of them to leave that range.
create table ledger_large (
    team_id uuid not null,
    currency text not null,
    primary key (team_id, currency)
);
select stayledger_tenant('ledger_large');
select set_config('stayledger.across_teams', 'on', true);
insert into ledger_large (team_id, currency)
    select distinct team_id, currency from ledger_entry where cent_total > 4294967296 * 256 and status = 'active' and ledger <> 'historical';
select set_config('stayledger.across_teams', 'off', true);

-- +goose StatementBegin
create function ledger_entry_reach() returns trigger language plpgsql as $$
begin
    if exists (select from changed where cent_total > 4294967296 * 256 and status = 'active' and ledger <> 'historical') then
        insert into ledger_large (team_id, currency)
            select distinct team_id, currency from changed where cent_total > 4294967296 * 256 and status = 'active' and ledger <> 'historical'
            order by 1, 2
        on conflict do nothing;
    end if;
    if not exists (select from ledger_large where (team_id, currency) in (select team_id, currency from changed)) then
        return null;
    end if;
    if exists (select from ledger_month where (team_id, currency) in (select team_id, currency from changed)
               group by team_id, currency having sum(debit) > 9007199254740991) then
        raise exception using errcode = 'SL004', message = 'the books add up to more than the safe range';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- After the trigger that keeps the sums, by its name.
create trigger ledger_entry_reach after insert on ledger_entry referencing new table as changed
    for each statement execute function ledger_entry_reach();

-- +goose Down
