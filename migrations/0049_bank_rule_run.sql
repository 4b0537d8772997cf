-- +goose Up
-- What a run of bank rules did with each record that a rule took: booked it, could not, or has undone it since. Runs are operations; their items go with the
-- operation's team and are kept as long as the rule is.
create table bank_rule_run_item (
    team_id uuid not null,
    operation_id uuid not null,
    bank_record_id uuid not null,
    bank_rule_id uuid not null,
    version integer not null,
    outcome text not null check (outcome in ('applied', 'failed', 'undone')),
    reason text,
    transaction_id uuid,
    created_at timestamptz(3) not null,
    primary key (team_id, operation_id, bank_record_id),
    constraint bank_rule_run_item_rule foreign key (team_id, bank_rule_id) references bank_rule (team_id, id) on delete cascade,
    constraint bank_rule_run_item_record foreign key (team_id, bank_record_id) references bank_record (team_id, id) on delete cascade,
    constraint bank_rule_run_item_applied check (outcome <> 'applied' or transaction_id is not null)
);
create index bank_rule_run_item_by_rule on bank_rule_run_item (team_id, bank_rule_id, operation_id);
create index bank_rule_run_item_by_record on bank_rule_run_item (team_id, bank_record_id);
select stayledger_tenant('bank_rule_run_item');

-- +goose Down
