-- +goose Up
-- layout is the frozen copy that a saved statement is shown with. An imported statement came in whole: its figures are as they were
-- told, and its entries stand in the historical ledger.
alter table statement
    add unique_ref text,
    add imported boolean not null default false,
    add layout jsonb,
    add constraint statement_unique_ref unique (team_id, unique_ref),
    drop constraint statement_arithmetic,
    add constraint statement_arithmetic check (imported or balance_end = balance_start + net_revenue + expenses + payouts);
create index statement_imported on statement (team_id) where imported;

-- What a statement said each time it was published, kept when it is reopened: that is what its owners have seen. A draft has no row, and keeps
-- the id that it had, so the versions outlive the statement. lines are as difference.go reads them.
create table statement_version (
    team_id uuid not null references team (id),
    statement_id uuid not null,
    version integer not null,
    published_at timestamptz(3) not null,
    reopened_at timestamptz(3) not null,
    balance_start bigint not null,
    net_revenue bigint not null,
    expenses bigint not null,
    payouts bigint not null,
    balance_end bigint not null,
    reserve bigint not null,
    lines jsonb not null,
    primary key (team_id, statement_id, version)
);
select stayledger_tenant('statement_version');

-- +goose Down
