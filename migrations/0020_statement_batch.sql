-- +goose Up
-- Changes of many owner statements at once. An item is a statement to change, in the order in which statements must be changed; part divides
-- the items by ownership period, so that the statements of one follow each other while parts run side by side. outcome is null until the
-- item's turn has come; error is what a single change would have been refused with.
create table statement_batch (
    team_id uuid not null references team (id),
    operation_id uuid not null,
    status text not null check (status in ('draft', 'inReview', 'published')),
    email_delivery boolean not null,
    created_at timestamptz(3) not null,
    primary key (team_id, operation_id),
    foreign key (team_id, operation_id) references operation (team_id, id) on delete cascade deferrable initially deferred
);
select stayledger_tenant('statement_batch');

create table statement_batch_item (
    team_id uuid not null,
    operation_id uuid not null,
    position integer not null,
    part smallint not null,
    ownership_period_id uuid not null,
    currency text not null,
    start_at date not null,
    outcome text check (outcome in ('changed', 'unchanged', 'refused')),
    error jsonb,
    primary key (team_id, operation_id, position),
    foreign key (team_id, operation_id) references statement_batch (team_id, operation_id) on delete cascade
);
create index statement_batch_item_waiting on statement_batch_item (team_id, operation_id, part, position) where outcome is null;
create index statement_batch_item_refused on statement_batch_item (team_id, operation_id, position) where outcome = 'refused';
select stayledger_tenant('statement_batch_item');

-- +goose Down
