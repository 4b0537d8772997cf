-- +goose Up
-- Links that open owner statements for one owner. email is the owner's address when the link was made: a changed one ends the link. The link
-- survives a return of its statement to draft, which has no row: it works again once the statement is published again.
create table access_owner_link (
    team_id uuid not null references team (id),
    id uuid not null,
    statement_id uuid not null,
    contact_id uuid not null,
    email text,
    hash bytea not null unique,
    created_by uuid not null,
    expires_at timestamptz(3) not null,
    last_used_at timestamptz(3),
    created_at timestamptz(3) not null,
    primary key (team_id, id)
);
create index access_owner_link_by_statement on access_owner_link (team_id, statement_id, id);
select stayledger_tenant('access_owner_link');

-- What the exchange of a link gives: a session of an hour. It ends with its link.
create table access_owner_session (
    team_id uuid not null,
    id uuid not null,
    link_id uuid not null,
    hash bytea not null unique,
    expires_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    foreign key (team_id, link_id) references access_owner_link (team_id, id) on delete cascade
);
create index access_owner_session_by_link on access_owner_session (team_id, link_id, id);
select stayledger_tenant('access_owner_session');

-- One message to one owner about one statement; version counts them. token is the sealed secret of the message's link, kept until the message
-- is settled so that every attempt sends the same text.
create table delivery_email (
    team_id uuid not null references team (id),
    id uuid not null,
    statement_id uuid not null,
    contact_id uuid not null,
    version integer not null,
    address text not null,
    status text not null check (status in ('queued', 'sent', 'failed')),
    failure text check (failure in ('refused', 'undeliverable', 'withdrawn')),
    link_id uuid not null,
    token bytea,
    attempts integer not null default 0,
    created_at timestamptz(3) not null,
    sent_at timestamptz(3),
    primary key (team_id, id),
    constraint delivery_email_once unique (team_id, statement_id, contact_id, version),
    constraint delivery_email_open check ((status = 'queued') = (token is not null)),
    constraint delivery_email_sent check ((status = 'sent') = (sent_at is not null)),
    constraint delivery_email_failed check ((status = 'failed') = (failure is not null))
);
create unique index delivery_email_queued on delivery_email (team_id, statement_id, contact_id) where status = 'queued';
select stayledger_tenant('delivery_email');

-- +goose Down
