-- +goose Up
-- Where money goes is guarded: a payment method has an age and an author, and a second person can free it.
alter table payee_method add column chosen_by uuid, -- the user who added it or made it the default last; null for one of before this was kept
    add column released_at timestamptz(3),
    add column released_by uuid,
    add constraint payee_method_release check ((released_at is null) = (released_by is null));

alter table team add column destination_guard text not null default 'hold' check (destination_guard in ('hold', 'approve', 'off')),
    add column destination_hold_days smallint not null default 3 check (destination_hold_days between 1 and 30),
    add column destination_guard_by uuid, -- the user who made it weaker last
    add column funds_before_stay smallint not null default 100 check (funds_before_stay between 0 and 100),
    add column funds_deposits_after_stay boolean not null default true,
    add column owner_overdraft text not null default 'warn' check (owner_overdraft in ('warn', 'refuse'));

-- What is known of the destination of a payment when it was asked for.
alter table payment add column destination_since timestamptz(3), add column destination_by uuid, add column destination_released_by uuid;

-- Who changed where money goes, and when: evidence that is never changed.
create table payee_change (
    team_id uuid not null,
    id uuid not null,
    method_id uuid not null,
    contact_id uuid not null,
    kind text not null check (kind in ('added', 'madeDefault', 'released', 'moved')),
    user_id uuid,
    created_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint payee_change_method foreign key (team_id, method_id) references payee_method (team_id, id) on delete cascade,
    constraint payee_change_contact foreign key (team_id, contact_id) references contact (team_id, id) on delete cascade
);
create index payee_change_by_time on payee_change (team_id, created_at, id);
create index payee_change_by_contact on payee_change (team_id, contact_id, id);
create index payee_change_by_method on payee_change (team_id, method_id, id);
select stayledger_tenant('payee_change');
create trigger payee_change_listed after insert on payee_change referencing new table as changed for each statement execute function list_changed();
create trigger payee_change_unlisted after delete on payee_change referencing old table as changed for each statement execute function list_changed();

-- The letters about a change: to the contact's address, and to those that it had until shortly before.
create table payee_letter (
    team_id uuid not null,
    id uuid not null,
    change_id uuid not null,
    address text not null,
    is_former boolean not null,
    status text not null check (status in ('queued', 'sent', 'failed')),
    attempts integer not null default 0,
    primary key (team_id, id),
    constraint payee_letter_change foreign key (team_id, change_id) references payee_change (team_id, id) on delete cascade
);
create index payee_letter_by_change on payee_letter (team_id, change_id, id);
select stayledger_tenant('payee_letter');

-- The addresses that contacts had before, whoever changed them.
create table contact_former_email (
    team_id uuid not null,
    contact_id uuid not null,
    replaced_at timestamptz(3) not null,
    email text not null,
    primary key (team_id, contact_id, replaced_at),
    constraint contact_former_email_contact foreign key (team_id, contact_id) references contact (team_id, id) on delete cascade
);
select stayledger_tenant('contact_former_email');

-- +goose StatementBegin
create function contact_email_replaced() returns trigger language plpgsql as $$
begin
    insert into contact_former_email (team_id, contact_id, replaced_at, email)
    values (old.team_id, old.id, clock_timestamp(), old.email) on conflict do nothing;
    return null;
end $$;
-- +goose StatementEnd
create trigger contact_email_replaced after update of email on contact for each row
    when (old.email is not null and lower(old.email) is distinct from lower(new.email)) execute function contact_email_replaced();

-- +goose Down
drop trigger contact_email_replaced on contact;
drop function contact_email_replaced;
drop table contact_former_email;
drop table payee_letter;
drop table payee_change;
alter table payment drop column destination_since, drop column destination_by, drop column destination_released_by;
alter table team drop column destination_guard, drop column destination_hold_days, drop column destination_guard_by,
    drop column funds_before_stay, drop column funds_deposits_after_stay, drop column owner_overdraft;
alter table payee_method drop column chosen_by, drop column released_at, drop column released_by;
