-- +goose Up
-- The general ledger. One row is one journal entry; txn_code groups the entries of a posting, which balances to zero per ledger and currency.
-- Debit is positive, credit is negative. Postings are written and removed whole, never entry by entry: the statement-level triggers below
-- check each statement's own rows, which is why they cost next to nothing. There is no foreign key for the same reason; accounts are checked there.
create table ledger_entry (
    team_id uuid not null,
    id uuid not null,
    source_id uuid not null,
    txn_code text not null,
    ref text not null,
    ledger text not null check (ledger in ('trust', 'operating', 'historical')),
    status text not null default 'active' check (status in ('active', 'inactive')),
    txn_at date not null,
    account_id uuid not null,
    cent_total bigint not null check (cent_total <> 0),
    currency text not null,
    party text check (party in ('owners', 'manager')),
    listing_id uuid,
    ownership_period_id uuid,
    contact_id uuid,
    reservation_id uuid,
    transaction_id uuid,
    recurring_fee_id uuid,
    statement_id uuid,
    trigger_type text not null,
    description text not null default '',
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint ledger_entry_ref unique (team_id, source_id, txn_code, ref)
);
-- Statistics of the teams that are there say of a new one that it has nothing, and any index that begins with the team looks as good as the
-- right one. Without them every team is taken for a two-hundredth of the table.
alter table ledger_entry alter column team_id set statistics 0;
create index ledger_entry_report on ledger_entry (team_id, txn_at, id);
create index ledger_entry_account on ledger_entry (team_id, account_id, txn_at, id);
create index ledger_entry_period on ledger_entry (team_id, ownership_period_id, txn_at) where party = 'owners';
create index ledger_entry_statement on ledger_entry (team_id, statement_id) where statement_id is not null;
create index ledger_entry_reservation on ledger_entry (team_id, reservation_id) where reservation_id is not null;
create index ledger_entry_transaction on ledger_entry (team_id, transaction_id) where transaction_id is not null;
create index ledger_entry_contact on ledger_entry (team_id, contact_id) where contact_id is not null;
create index ledger_entry_fee on ledger_entry (team_id, recurring_fee_id, txn_at) where recurring_fee_id is not null;
select stayledger_tenant('ledger_entry');

-- Month sums of active entries. party '' and the zero uuid stand for none, so that the key has no nulls.
create table ledger_balance (
    team_id uuid not null,
    ledger text not null,
    currency text not null,
    account_id uuid not null,
    party text not null,
    listing_id uuid not null,
    month date not null,
    debit bigint not null,
    credit bigint not null,
    primary key (team_id, ledger, currency, account_id, party, listing_id, month)
);
create index ledger_balance_listing on ledger_balance (team_id, listing_id);
select stayledger_tenant('ledger_balance');

-- Month sums over all listings, for reports of the whole team; ledger_balance has them by listing. A row is split into a few, by the
-- backend that wrote it, so that concurrent postings to the same account and month do not wait for each other: readers add the parts up.
create table ledger_month (
    team_id uuid not null,
    ledger text not null,
    currency text not null,
    account_id uuid not null,
    party text not null,
    month date not null,
    part smallint not null,
    debit bigint not null,
    credit bigint not null,
    primary key (team_id, ledger, currency, account_id, party, month, part)
);
select stayledger_tenant('ledger_month');

-- Day sums over all listings, in parts like the months: what the reports of the whole team read of the months at the edges of their period.
create table ledger_day (
    team_id uuid not null,
    ledger text not null,
    currency text not null,
    day date not null,
    account_id uuid not null,
    party text not null,
    part smallint not null,
    debit bigint not null,
    credit bigint not null,
    primary key (team_id, ledger, currency, day, account_id, party, part)
) with (fillfactor = 70);
select stayledger_tenant('ledger_day');

-- +goose StatementBegin
-- What a statement added or removed must balance by itself, and is added to the sums or taken from them. Lines of imported owner statements
-- are no part of any books and have one side.
create function ledger_entry_changed() returns trigger language plpgsql as $$
declare
    sign constant bigint := case tg_op when 'INSERT' then 1 else -1 end;
begin
    if exists (select from changed where not (ledger = 'historical' and statement_id is not null)
               group by team_id, txn_code, ledger, currency, status having sum(cent_total) <> 0) then
        raise exception using errcode = 'SL001', message = 'a posting does not balance';
    end if;
    if tg_op = 'INSERT' and exists (select from (select distinct team_id, account_id from changed) c
               where not exists (select from account a where a.team_id = c.team_id and a.id = c.account_id)) then
        raise exception using errcode = 'SL002', message = 'a posting names an unknown account';
    end if;
    with sums as (
        select team_id, ledger, currency, account_id, coalesce(party, '') as party,
               coalesce(listing_id, '00000000-0000-0000-0000-000000000000') as listing_id, date_trunc('month', txn_at)::date as month,
               sign * sum(greatest(cent_total, 0)) as debit, sign * sum(greatest(-cent_total, 0)) as credit
        from changed where status = 'active' and ledger <> 'historical'
        group by 1, 2, 3, 4, 5, 6, 7
    ), days as (
        insert into ledger_day as d (team_id, ledger, currency, day, account_id, party, part, debit, credit)
            select team_id, ledger, currency, txn_at, account_id, coalesce(party, ''), pg_backend_pid() % 4,
                   sign * sum(greatest(cent_total, 0)), sign * sum(greatest(-cent_total, 0))
            from changed where status = 'active' and ledger <> 'historical'
            group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
        on conflict (team_id, ledger, currency, day, account_id, party, part)
            do update set debit = d.debit + excluded.debit, credit = d.credit + excluded.credit
    ), months as (
        insert into ledger_month as m (team_id, ledger, currency, account_id, party, month, part, debit, credit)
            select team_id, ledger, currency, account_id, party, month, pg_backend_pid() % 4, sum(debit), sum(credit)
            from sums group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
        on conflict (team_id, ledger, currency, account_id, party, month, part)
            do update set debit = m.debit + excluded.debit, credit = m.credit + excluded.credit
    )
    insert into ledger_balance as b (team_id, ledger, currency, account_id, party, listing_id, month, debit, credit)
        select team_id, ledger, currency, account_id, party, listing_id, month, debit, credit from sums order by 1, 2, 3, 4, 5, 6, 7
    on conflict (team_id, ledger, currency, account_id, party, listing_id, month)
        do update set debit = b.debit + excluded.debit, credit = b.credit + excluded.credit;
    return null;
end
$$;

-- An entry's money never changes in place: only its owner statement and its description may.
create function ledger_entry_updated() returns trigger language plpgsql as $$
begin
    if exists (select from was join now using (team_id, id)
               where (was.cent_total, was.account_id, was.txn_at, was.status, was.ledger, was.currency, was.txn_code, was.party, was.listing_id)
                     is distinct from
                     (now.cent_total, now.account_id, now.txn_at, now.status, now.ledger, now.currency, now.txn_code, now.party, now.listing_id)) then
        raise exception using errcode = 'SL003', message = 'a journal entry is replaced, never edited';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

create trigger ledger_entry_inserted after insert on ledger_entry referencing new table as changed
    for each statement execute function ledger_entry_changed();
create trigger ledger_entry_deleted after delete on ledger_entry referencing old table as changed
    for each statement execute function ledger_entry_changed();
create trigger ledger_entry_updated after update on ledger_entry referencing old table as was new table as now
    for each statement execute function ledger_entry_updated();

-- +goose Down
