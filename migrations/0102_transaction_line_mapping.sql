-- +goose Up
-- Where imported lines of money are posted, by the app that they come from and their type: to an account, or to the account of an assignment.
-- The mapping of the app counts before that for every app. An unmapped row is a type that arrived and waits; an excluded one keeps its lines out
-- of the books.
create table transaction_line_mapping (
    team_id uuid not null references team (id),
    id uuid not null,
    app_id text,
    line_type text not null,
    line_key text not null, -- the line type in lower case, as which it is compared
    status text not null check (status in ('mapped', 'unmapped', 'excluded')),
    account_id uuid,
    assignment text,
    party text check (party in ('owners', 'manager')),
    description text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint transaction_line_mapping_account foreign key (team_id, account_id) references account (team_id, id),
    constraint transaction_line_mapping_posts check (num_nonnulls(account_id, assignment) = case when status = 'mapped' then 1 else 0 end),
    constraint transaction_line_mapping_once unique nulls not distinct (team_id, line_key, app_id)
);
create index transaction_line_mapping_by_account on transaction_line_mapping (team_id, account_id) where account_id is not null;
select stayledger_tenant('transaction_line_mapping');

-- +goose Down
drop table transaction_line_mapping;
