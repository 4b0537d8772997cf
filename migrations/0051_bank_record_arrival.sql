-- +goose Up
-- The order in which records came in: the millisecond, and the place in the batch. Of several balances that a bank stated for one day the last one counts, and
-- equal movements are listed in the order of their file. Identifiers are random within a millisecond and cannot say it.
set local stayledger.across_teams = 'on';

alter table bank_record add column arrival bigint;
update bank_record set arrival = (extract(epoch from coalesce(created_at, now())) * 1000)::bigint * 1048576;
alter table bank_record alter column arrival set not null;
alter table bank_record alter column arrival set default (extract(epoch from now()) * 1000)::bigint * 1048576;

drop index bank_record_by_date;
create index bank_record_by_date on bank_record (team_id, date, arrival, id);
drop index bank_record_by_account;
create index bank_record_by_account on bank_record (team_id, account_id, date, arrival, id);
drop index bank_record_stated;
create index bank_record_stated on bank_record (team_id, account_id, date, arrival, id) where status = 'active' and type = 'balance';

-- What can be the same movement as a record: one of another source, or one that the same source gave again, word for word. Both are found without reading the
-- records that are merely of the same amount. Texts are compared by a number that is kept: row-level security lets no function of a text into an index search.
alter table bank_record add column description_hash bigint generated always as (hashtextextended(description, 0)) stored;
drop index bank_record_by_amount;
create index bank_record_by_amount on bank_record
    (team_id, amount, account_id, source, date, description_hash, created_at) where status = 'active' and type = 'transaction';
create index bank_record_open_by_amount on bank_record
    (team_id, amount, account_id, source, date, description_hash, created_at)
    where status = 'active' and type = 'transaction' and made <> amount;

-- A run leaves records to a person for which transactions match, or that can be there twice.
alter table bank_rule_run_item drop constraint bank_rule_run_item_outcome_check;
alter table bank_rule_run_item add constraint bank_rule_run_item_outcome_check check (outcome in ('applied', 'failed', 'skipped', 'undone'));

-- +goose Down
