-- +goose Up
-- What a payout operation, its preview or its payment came to, by statement in the order of the request. The rows are there from the start
-- as failed with the cause unfinished, which is what stands if the operation ends without having come to them. payouts and issues are
-- lists as the result shows them; the state of a payment is read from the payment itself.
create table payout_result (
    team_id uuid not null,
    operation_id uuid not null,
    position integer not null,
    statement_id uuid not null,
    status text not null check (status in ('requested', 'previewed', 'recorded', 'skipped', 'failed')),
    cause text not null default '',
    payouts jsonb not null default '[]',
    issues jsonb not null default '[]',
    primary key (team_id, operation_id, position),
    foreign key (team_id, operation_id) references operation (team_id, id) on delete cascade
);
select stayledger_tenant('payout_result');

-- +goose Down
