-- +goose Up
-- What repeats itself. lines is a list of rows with the columns of transaction_line; accounts, contacts and the rest are looked up when an
-- instance is made, so a template keeps nothing of them from being deleted. Dates up to done_through are never due again, next_at is the
-- first date that is. failed_at is when the service last tried to make one and was refused.
create table transaction_template (
    team_id uuid not null references team (id),
    id uuid not null,
    unique_ref text,
    status text not null default 'active' check (status in ('active', 'inactive')),
    type text not null check (type in ('deposit', 'expense', 'transfer', 'payout')),
    description text,
    date date not null,
    currency text not null,
    account_id uuid not null,
    contact_id uuid,
    payment_status text not null check (payment_status in ('paid', 'unpaid')),
    total bigint not null,
    pattern jsonb not null,
    lines jsonb not null,
    done_through date,
    next_at date,
    failed_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint transaction_template_unique_ref unique (team_id, unique_ref)
);
create index transaction_template_due on transaction_template (next_at) where status = 'active' and next_at is not null;
select stayledger_tenant('transaction_template');

-- recurring_at is the date of the template that a transaction stands for; its own date may be moved.
alter table transaction
    add recurring_template_id uuid,
    add recurring_at date,
    add constraint transaction_recurring check ((recurring_template_id is null) = (recurring_at is null)),
    add constraint transaction_recurring_once unique (team_id, recurring_template_id, recurring_at),
    add constraint transaction_recurring_template foreign key (team_id, recurring_template_id) references transaction_template (team_id, id);

-- A line can name the reservation that it waits for by what a channel or processor calls it.
alter table transaction_line
    add match_confirmation_code text,
    add match_stripe_guest_ref text,
    add match_line_type_classification text;
create index transaction_line_unmatched on transaction_line (team_id, match_confirmation_code)
    where reservation_id is null and match_confirmation_code is not null;
create index transaction_line_unmatched_guest on transaction_line (team_id, match_stripe_guest_ref)
    where reservation_id is null and match_stripe_guest_ref is not null;

-- The files of an expense. A file that was uploaded and is not linked, or no longer, has no transaction.
create table transaction_attachment (
    team_id uuid not null,
    id uuid not null,
    transaction_id uuid,
    position integer not null default 0,
    is_owner_accessible boolean not null default false,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint transaction_attachment_file foreign key (team_id, id) references file (team_id, id) on delete cascade,
    constraint transaction_attachment_transaction foreign key (team_id, transaction_id) references transaction (team_id, id)
        on delete set null (transaction_id)
);
create index transaction_attachment_by_transaction on transaction_attachment (team_id, transaction_id, position) where transaction_id is not null;
select stayledger_tenant('transaction_attachment');

-- The deposit that books what guests had paid, and what was deferred, before the first day of the books.
create table opening_balance (
    team_id uuid not null references team (id),
    transaction_id uuid not null,
    primary key (team_id),
    constraint opening_balance_transaction foreign key (team_id, transaction_id) references transaction (team_id, id) on delete cascade
);
select stayledger_tenant('opening_balance');

-- The balances that the manager's own books ended with on the day before the first, trust and operating together; debit is positive.
create table opening_trial_balance (
    team_id uuid not null references team (id),
    updated_at timestamptz(3) not null,
    refreshed_at timestamptz(3) not null,
    primary key (team_id)
);
select stayledger_tenant('opening_trial_balance');

create table opening_trial_balance_row (
    team_id uuid not null,
    account_id uuid not null,
    cent_total bigint not null,
    primary key (team_id, account_id),
    constraint opening_trial_balance_row_head foreign key (team_id) references opening_trial_balance (team_id) on delete cascade,
    constraint opening_trial_balance_row_account foreign key (team_id, account_id) references account (team_id, id) on delete cascade
);
select stayledger_tenant('opening_trial_balance_row');

-- +goose Down
