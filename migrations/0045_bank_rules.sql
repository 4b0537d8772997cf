-- +goose Up
-- How bank records are booked that meet some conditions. What a rule names besides its own team's records can vanish, so lines, conditions and accounts
-- are kept as they were written: the rule tells what it misses. Every change is a version, and each version is kept as long as the rule is.
create table bank_rule (
    team_id uuid not null references team (id),
    id uuid not null,
    version integer not null,
    name text not null,
    status text not null check (status in ('active', 'inactive')),
    priority integer not null,
    transaction_type text not null check (transaction_type in ('deposit', 'expense')),
    mode text not null check (mode in ('suggest', 'auto')),
    match_mode text not null check (match_mode in ('all', 'any')),
    conditions jsonb not null,
    description_override text,
    use_prior_month_end boolean not null,
    vendor_contact_id uuid,
    account_ids uuid[] not null,
    lines jsonb not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id)
);
create index bank_rule_by_priority on bank_rule (team_id, priority, id);
select stayledger_tenant('bank_rule');

create table bank_rule_version (
    team_id uuid not null,
    bank_rule_id uuid not null,
    version integer not null,
    rule jsonb not null,
    created_at timestamptz(3) not null,
    primary key (team_id, bank_rule_id, version),
    constraint bank_rule_version_rule foreign key (team_id, bank_rule_id) references bank_rule (team_id, id) on delete cascade
);
select stayledger_tenant('bank_rule_version');

-- The rule that reconciled a record stays as long as the record says so.
alter table bank_record add constraint bank_record_rule foreign key (team_id, matched_by_bank_rule) references bank_rule (team_id, id);
create index bank_record_by_rule on bank_record (team_id, matched_by_bank_rule) where matched_by_bank_rule is not null;

create trigger bank_rule_listed after insert on bank_rule referencing new table as changed for each statement execute function list_changed();
create trigger bank_rule_unlisted after delete on bank_rule referencing old table as changed for each statement execute function list_changed();

-- +goose Down
