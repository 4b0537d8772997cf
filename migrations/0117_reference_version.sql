-- +goose Up
-- The version of a team's reference data: the settings that journals depend on, the chart of accounts with its assignments, the mappings of
-- line types, the recurring fees and the accounting windows of connections. Every change of them gives it a number that no version has had before, not even one
-- of a transaction that was rolled back; so whoever has loaded the data of a version may keep it for as long as the team has that version.
create sequence reference_version;
alter table team add column reference_version bigint not null default nextval('reference_version');

-- +goose StatementBegin
create function team_settings_changed() returns trigger language plpgsql as $$
begin
    new.reference_version := nextval('reference_version');
    return new;
end
$$;

create function reference_rows_changed() returns trigger language plpgsql as $$
begin
    update team set reference_version = nextval('reference_version') where id in (select c.team_id from changed c);
    return null;
end
$$;

create function reference_row_changed() returns trigger language plpgsql as $$
begin
    update team set reference_version = nextval('reference_version') where id = coalesce(new.team_id, old.team_id);
    return null;
end
$$;
-- +goose StatementEnd

create trigger reference_version before update on team for each row
    when ((old.default_revenue_recognition, old.long_term_stay_nights, old.is_general_ledger, old.statement_start_at, old.default_currency)
        is distinct from (new.default_revenue_recognition, new.long_term_stay_nights, new.is_general_ledger, new.statement_start_at, new.default_currency))
    execute function team_settings_changed();

-- +goose StatementBegin
do $$
declare
    tbl text;
begin
    foreach tbl in array array['account', 'account_category', 'account_assignment', 'reservation_line_mapping', 'migration', 'fee', 'fee_condition', 'fee_reference'] loop
        execute format('create trigger reference_added after insert on %I referencing new table as changed
            for each statement execute function reference_rows_changed()', tbl);
        execute format('create trigger reference_removed after delete on %I referencing old table as changed
            for each statement execute function reference_rows_changed()', tbl);
    end loop;
end
$$;
-- +goose StatementEnd

create trigger reference_version after update on account for each row
    when ((old.category_id, old.code, old.name, old.type, old.status, old.banking_category, old.banking_currency)
        is distinct from (new.category_id, new.code, new.name, new.type, new.status, new.banking_category, new.banking_currency))
    execute function reference_row_changed();
create trigger reference_version after update on account_category for each row
    when (old.classification is distinct from new.classification) execute function reference_row_changed();
create trigger reference_version after update on account_assignment for each row
    when (old.* is distinct from new.*) execute function reference_row_changed();
create trigger reference_version after update on reservation_line_mapping for each row
    when (old.* is distinct from new.*) execute function reference_row_changed();
create trigger reference_version after update on fee for each row
    when (old.* is distinct from new.*) execute function reference_row_changed();
create trigger reference_version after update on fee_condition for each row
    when (old.* is distinct from new.*) execute function reference_row_changed();
create trigger reference_version after update on fee_reference for each row
    when (old.* is distinct from new.*) execute function reference_row_changed();
create trigger reference_version after update on tax_rate for each row
    when (old.* is distinct from new.*) execute function reference_row_changed();
create trigger reference_version after update on connection for each row
    when ((old.accounting_start_at, old.accounting_end_at, old.is_outside_books)
        is distinct from (new.accounting_start_at, new.accounting_end_at, new.is_outside_books))
    execute function reference_row_changed();
-- A connection without a window is no part of it.
create trigger reference_added after insert on connection for each row
    when (new.accounting_start_at is not null or new.accounting_end_at is not null or new.is_outside_books) execute function reference_row_changed();
create trigger reference_removed after delete on connection for each row
    when (old.accounting_start_at is not null or old.accounting_end_at is not null or old.is_outside_books) execute function reference_row_changed();
create trigger reference_version after update on migration for each row
    when (old.gl_start_at is distinct from new.gl_start_at) execute function reference_row_changed();

-- Returns the version that the writer finds behind the gate; its own changes raise it further.
drop function team_writable;
-- +goose StatementBegin
create function team_writable(team uuid, operation uuid) returns bigint language plpgsql volatile as $$
declare
    reason text;
    is_frozen boolean;
    version bigint;
begin
    select t.freeze_reason, t.freeze_reason is not null and t.freeze_operation_id is distinct from operation, t.reference_version
        into reason, is_frozen, version from team t where t.id = team;
    if is_frozen then
        raise exception using errcode = 'SL015', message = 'the team is frozen', detail = reason;
    end if;
    return version;
end
$$;
-- +goose StatementEnd

-- +goose Down
drop function team_writable;
-- +goose StatementBegin
create function team_writable(team uuid, operation uuid) returns void language plpgsql volatile as $$
declare
    reason text;
begin
    select t.freeze_reason into reason from team t
        where t.id = team and t.freeze_reason is not null and t.freeze_operation_id is distinct from operation;
    if found then
        raise exception using errcode = 'SL015', message = 'the team is frozen', detail = reason;
    end if;
end
$$;
-- +goose StatementEnd
drop trigger reference_version on team;
drop function team_settings_changed, reference_rows_changed, reference_row_changed cascade;
alter table team drop column reference_version;
drop sequence reference_version;
