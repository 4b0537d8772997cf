-- +goose Up
-- What channels have paid out, as systems say it. Nothing of it is posted.
create table channel_payout (
    team_id uuid not null references team (id),
    id uuid not null,
    connection_id uuid not null,
    source_id text not null, -- at the system
    status text not null check (status in ('active', 'inactive')),
    channel text,
    reference text,
    paid_on date not null,
    currency text not null,
    amount bigint not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint channel_payout_connection foreign key (team_id, connection_id) references connection (team_id, id)
);
create index channel_payout_by_day on channel_payout (team_id, paid_on, id);
create index channel_payout_by_creation on channel_payout (team_id, created_at, id);
create index channel_payout_by_connection on channel_payout (team_id, connection_id);
select stayledger_tenant('channel_payout');
create trigger channel_payout_listed after insert on channel_payout referencing new table as changed for each statement execute function list_changed();
create trigger channel_payout_unlisted after delete on channel_payout referencing old table as changed for each statement execute function list_changed();

create table channel_payout_member (
    team_id uuid not null,
    payout_id uuid not null,
    position integer not null,
    source_id text, -- of the stay at the system
    confirmation_code text,
    description text,
    gross bigint not null,
    fees bigint not null,
    taxes bigint not null,
    primary key (team_id, payout_id, position),
    constraint channel_payout_member_payout foreign key (team_id, payout_id) references channel_payout (team_id, id) on delete cascade
);
select stayledger_tenant('channel_payout_member');

-- +goose Down
set local stayledger.across_teams = 'on';
drop table channel_payout_member;
drop table channel_payout;
delete from list_delta where list = 'channel_payout';
delete from list_count_kept where list = 'channel_payout';
