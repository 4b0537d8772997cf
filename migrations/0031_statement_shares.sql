-- +goose Up
-- What each member of the ownership period has of the available balance, in the order of the members, as the statement was saved. The members
-- cannot change while a statement is saved. Statements that were saved before keep the shares that they told: the available balance by split,
-- every share floored, the cents that remain to the largest remainders, the earlier member first; a negative balance mirrors the positive one.
alter table statement add shares bigint[] not null default '{}';
select set_config('stayledger.across_teams', 'on', true);
update statement s set shares = x.shares from (
    select team_id, id, array_agg(sign(available)::bigint * (part + case when place <= missing then 1 else 0 end) order by position) as shares
    from (
        select p.*, abs(available) - sum(part) over (partition by team_id, id) as missing,
            row_number() over (partition by team_id, id order by remainder desc, position) as place
        from (
            select s.team_id, s.id, s.balance_end - s.reserve as available, m.position,
                div(abs(s.balance_end - s.reserve)::numeric * m.split, 100000)::bigint as part,
                mod(abs(s.balance_end - s.reserve)::numeric * m.split, 100000) as remainder
            from statement s join listing_ownership_member m on m.team_id = s.team_id and m.period_id = s.ownership_period_id
        ) p
    ) p group by team_id, id
) x where s.team_id = x.team_id and s.id = x.id;
select set_config('stayledger.across_teams', 'off', true);

-- The payouts of an ownership period, which are few among its entries.
create index ledger_entry_distribution on ledger_entry (team_id, ownership_period_id, account_id, txn_at) where party = 'owners';

-- +goose Down
