-- +goose Up
-- What a payout is suggested by: the money that guests have paid, or the books.
alter table team add payout_basis text not null default 'collected' check (payout_basis in ('collected', 'books'));

-- What a team lets providers pay out, in cents; null is no limit. Nothing is ever changed here: the newest row counts, and the others tell who
-- has set what before.
create table payment_limit (
    team_id uuid not null references team (id),
    id uuid not null,
    per_payment bigint check (per_payment > 0),
    per_day bigint check (per_day > 0),
    approval_from bigint check (approval_from > 0),
    actor_id uuid not null,
    created_at timestamptz(3) not null,
    primary key (team_id, id)
);
select stayledger_tenant('payment_limit');

-- The payments of one request that wait for a second person. A pending one whose payments have all been taken back counts as canceled.
create table payment_approval (
    team_id uuid not null references team (id),
    id uuid not null,
    connection_id uuid not null,
    funding_account_id uuid not null,
    status text not null default 'pending' check (status in ('pending', 'approved', 'rejected')),
    allow_overdraft boolean not null,
    requested_by uuid not null,
    decided_by uuid,
    decided_at timestamptz(3),
    reason text,
    operation_id uuid,
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint payment_approval_decided check (num_nulls(decided_by, decided_at) = case status when 'pending' then 2 else 0 end),
    constraint payment_approval_second check (decided_by <> requested_by or status = 'rejected'),
    constraint payment_approval_connection foreign key (team_id, connection_id) references connection (team_id, id),
    constraint payment_approval_funding foreign key (team_id, funding_account_id) references account (team_id, id)
);
select stayledger_tenant('payment_approval');

-- limit_day is the day whose limit a payment counts on: when it was asked for, or approved.
alter table payment
    drop constraint payment_status_check,
    add constraint payment_status_check check (status in ('awaitingApproval', 'requested', 'sending', 'submitted', 'paid', 'failed', 'canceled', 'returned')),
    add approval_id uuid,
    add limit_day date not null default (now() at time zone 'UTC')::date,
    add constraint payment_approval foreign key (team_id, approval_id) references payment_approval (team_id, id),
    add constraint payment_awaits check (status <> 'awaitingApproval' or approval_id is not null);
select set_config('stayledger.across_teams', 'on', true);
update payment set limit_day = (created_at at time zone 'UTC')::date;
select set_config('stayledger.across_teams', 'off', true);
create index payment_by_approval on payment (team_id, approval_id, id) where approval_id is not null;
create index payment_awaiting on payment (team_id, funding_account_id) where status = 'awaitingApproval';
create index payment_by_limit_day on payment (team_id, limit_day);

-- Whoever archives a transaction takes back the payment of it that waits: nothing has left.
-- +goose StatementBegin
create function payment_of_archived() returns trigger language plpgsql as $$
begin
    update payment set status = 'canceled', settled_at = new.updated_at, recovered_at = new.updated_at, updated_at = new.updated_at
    where team_id = new.team_id and transaction_id = new.id and status = 'awaitingApproval';
    return null;
end $$;
-- +goose StatementEnd
create trigger transaction_archived after update of status on transaction for each row
    when (old.status = 'active' and new.status = 'inactive') execute function payment_of_archived();

-- +goose Down
