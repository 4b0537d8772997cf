-- +goose Up
-- A name for addresses, the partner that is billed when it is another one than the team's, and what of the books a team uses.
alter table team
    add column slug text check (slug ~ '^[a-z0-9-]{2,60}$'),
    add column billing_partner_id uuid references team (id),
    add column daily_gl_summary boolean not null default false,
    add column operations_accounting boolean not null default true,
    add constraint team_daily_gl_summary check (is_general_ledger or not daily_gl_summary);
-- Only one team of the deployment has a slug; a deleted one gives it back.
create unique index team_slug on team (slug) where status <> 'deleted';

-- Pages of the daily summary read the sums of their days and months alone.
create index ledger_day_kept_day on ledger_day_kept (team_id, day);
create index ledger_month_kept_month on ledger_month_kept (team_id, month);
create index ledger_balance_kept_month on ledger_balance_kept (team_id, month);

-- Days that an accounting system outside has taken, each once: by itself or with its month.
create table gl_summary_day (
    team_id uuid not null references team (id),
    day date not null,
    period text not null check (period in ('day', 'month')),
    taken_at timestamptz(3) not null,
    primary key (team_id, day)
);
select stayledger_tenant('gl_summary_day');

-- The sums of a day when it was taken. party '' and the zero uuid mean none.
create table gl_summary_sum (
    team_id uuid not null,
    day date not null,
    ledger text not null,
    currency text not null,
    account_id uuid not null,
    party text not null,
    listing_id uuid not null,
    debit bigint not null,
    credit bigint not null,
    primary key (team_id, day, ledger, currency, account_id, party, listing_id),
    foreign key (team_id, day) references gl_summary_day (team_id, day)
);
select stayledger_tenant('gl_summary_sum');

-- +goose Down
drop table gl_summary_sum;
drop table gl_summary_day;
drop index ledger_balance_kept_month;
drop index ledger_month_kept_month;
drop index ledger_day_kept_day;
alter table team drop column slug, drop column billing_partner_id, drop column daily_gl_summary, drop column operations_accounting;
