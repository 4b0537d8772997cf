-- +goose Up
-- When a fee is charged, what of, and the tax on it.
alter table fee
    add charge_basis text not null default 'perReservation' check (charge_basis in ('perReservation', 'perNight')),
    add status_filter text not null default 'booked' check (status_filter in ('booked', 'canceled', 'all')),
    add owner_stay_filter text not null default 'exclude' check (owner_stay_filter in ('exclude', 'include', 'only')),
    add tax_rate_id uuid,
    add tax_behavior text check (tax_behavior in ('included', 'excluded')),
    add constraint fee_tax check ((tax_rate_id is null) = (tax_behavior is null)),
    add constraint fee_tax_rate foreign key (team_id, tax_rate_id) references tax_rate (team_id, id);
create index fee_by_tax_rate on fee (team_id, tax_rate_id) where tax_rate_id is not null;

-- What a formula names by id, so that it survives a change of name: the name is the one that the text of the formula has.
create table fee_reference (
    team_id uuid not null,
    fee_id uuid not null,
    kind text not null check (kind in ('fee', 'account')),
    name text not null,
    target_fee_id uuid,
    target_account_id uuid,
    primary key (team_id, fee_id, kind, name),
    constraint fee_reference_target check (case kind when 'fee' then target_fee_id is not null and target_account_id is null
        else target_account_id is not null and target_fee_id is null end),
    constraint fee_reference_of foreign key (team_id, fee_id) references fee (team_id, id) on delete cascade,
    constraint fee_reference_fee foreign key (team_id, target_fee_id) references fee (team_id, id),
    constraint fee_reference_account foreign key (team_id, target_account_id) references account (team_id, id)
);
create index fee_reference_by_fee on fee_reference (team_id, target_fee_id) where target_fee_id is not null;
create index fee_reference_by_account on fee_reference (team_id, target_account_id) where target_account_id is not null;
select stayledger_tenant('fee_reference');

-- A fee is charged where every condition holds: what the stay credits to the account compares with cent_value as the operator says.
create table fee_condition (
    team_id uuid not null,
    fee_id uuid not null,
    position integer not null,
    account_id uuid not null,
    operator text not null check (operator in ('>', '>=', '<', '<=', '=', '!=')),
    cent_value bigint not null,
    primary key (team_id, fee_id, position),
    constraint fee_condition_of foreign key (team_id, fee_id) references fee (team_id, id) on delete cascade,
    constraint fee_condition_account foreign key (team_id, account_id) references account (team_id, id)
);
create index fee_condition_by_account on fee_condition (team_id, account_id);
select stayledger_tenant('fee_condition');

-- Deleting a fee takes its listing periods along.
alter table fee_listing_period
    drop constraint fee_listing_period_fee,
    add constraint fee_listing_period_fee foreign key (team_id, fee_id) references fee (team_id, id) on delete cascade;

-- +goose Down
