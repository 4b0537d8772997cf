-- +goose Up
-- Payments that go out together. The day and the sequence of a batch, and when it was made, are given by the first attempt to send it and
-- stay: another attempt makes the same batch, and of its file there is one at most.
create table payment_batch (
    team_id uuid not null references team (id),
    id uuid not null,
    connection_id uuid not null,
    operation_id uuid,
    day date,
    sequence integer,
    made_at timestamptz(3),
    attempted_at timestamptz(3),
    settled_at timestamptz(3),
    file_id uuid,
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint payment_batch_sequence unique (team_id, connection_id, day, sequence),
    constraint payment_batch_made check (num_nulls(day, sequence, made_at) in (0, 3)),
    constraint payment_batch_connection foreign key (team_id, connection_id) references connection (team_id, id),
    constraint payment_batch_file foreign key (team_id, file_id) references file (team_id, id)
);
select stayledger_tenant('payment_batch');

-- The sequence that the next batch of a connection takes on a day.
create table payment_batch_counter (
    team_id uuid not null,
    connection_id uuid not null,
    day date not null,
    next integer not null,
    primary key (team_id, connection_id, day),
    foreign key (team_id, connection_id) references connection (team_id, id) on delete cascade
);
select stayledger_tenant('payment_batch_counter');

-- What was asked of a payment provider. The row is committed before the provider hears of it and its id is the idempotency key, so whatever
-- dies in between, the same payment is asked for again and never another one. recovered_at is when a payment that brought nothing was put
-- away, so that its transaction, or the bill, can be paid again. ask_at is when the provider is asked for news, null when it has none.
create table payment (
    team_id uuid not null references team (id),
    id uuid not null,
    short_ref text not null,
    connection_id uuid not null,
    batch_id uuid not null,
    transaction_id uuid not null,
    contact_id uuid not null,
    payee_method_id uuid not null,
    funding_account_id uuid not null,
    amount bigint not null check (amount > 0),
    currency text not null,
    date date not null,
    status text not null check (status in ('requested', 'sending', 'submitted', 'paid', 'failed', 'canceled', 'returned')),
    provider_ref text,
    failure_code text,
    issues jsonb not null default '[]',
    recovery_operation_id uuid,
    ask_at timestamptz(3),
    sent_at timestamptz(3),
    settled_at timestamptz(3),
    recovered_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint payment_short_ref unique (team_id, short_ref),
    constraint payment_connection foreign key (team_id, connection_id) references connection (team_id, id),
    constraint payment_batch foreign key (team_id, batch_id) references payment_batch (team_id, id),
    constraint payment_transaction foreign key (team_id, transaction_id) references transaction (team_id, id),
    constraint payment_contact foreign key (team_id, contact_id) references contact (team_id, id),
    constraint payment_method foreign key (team_id, payee_method_id) references payee_method (team_id, id),
    constraint payment_funding foreign key (team_id, funding_account_id) references account (team_id, id),
    constraint payment_recovered check (recovered_at is null or status in ('failed', 'canceled', 'returned'))
) with (fillfactor = 80);
-- A transaction is asked to be paid once, until that was put away.
create unique index payment_once on payment (team_id, transaction_id) where recovered_at is null;
create index payment_by_transaction on payment (team_id, transaction_id, id);
create index payment_by_batch on payment (team_id, batch_id, id);
create index payment_by_date on payment (team_id, date, id);
create index payment_by_contact on payment (team_id, contact_id, id);
-- A bank names a payment by its trace number, which the reference ends with after the day of the file.
create index payment_trace on payment (team_id, connection_id, split_part(provider_ref, '-', 2)) where provider_ref is not null;
create index payment_ask on payment (ask_at) where ask_at is not null;
select stayledger_tenant('payment');

-- Money that came back, and what was paid in its place. transaction_id is the negative payout of a return, or the payout of a replacement;
-- original_id the payout that they are about. A payment comes back once.
create table payment_return (
    team_id uuid not null references team (id),
    transaction_id uuid not null,
    original_id uuid not null,
    kind text not null check (kind in ('return', 'replacement')),
    payment_id uuid,
    created_at timestamptz(3) not null,
    primary key (team_id, transaction_id),
    constraint payment_return_once unique (team_id, payment_id),
    constraint payment_return_kind check (kind = 'return' or payment_id is null),
    constraint payment_return_transaction foreign key (team_id, transaction_id) references transaction (team_id, id),
    constraint payment_return_original foreign key (team_id, original_id) references transaction (team_id, id),
    constraint payment_return_payment foreign key (team_id, payment_id) references payment (team_id, id)
);
create index payment_return_by_original on payment_return (team_id, original_id, kind);
select stayledger_tenant('payment_return');

-- The callbacks that were taken, so that a repetition is not taken again. They go after a day: an old one is refused by its time.
create table payment_callback (
    team_id uuid not null,
    connection_id uuid not null,
    message_id text not null,
    created_at timestamptz(3) not null,
    primary key (team_id, connection_id, message_id),
    foreign key (team_id, connection_id) references connection (team_id, id) on delete cascade
);
create index payment_callback_age on payment_callback (created_at);
select stayledger_tenant('payment_callback');

-- A callback names a connection and no team.
create index connection_by_id on connection (id);

-- +goose Down
