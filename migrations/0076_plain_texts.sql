-- +goose Up
-- Confirmation codes and names of guests are compared without differences of case, width and white space, whoever wrote them.

-- stayledger_plain returns a text in the form in which codes and names are compared: NFKC, case folding, a single space for each stretch of
-- white space, none around it; null for a blank one. Nearly all texts are ASCII, for which lower is all of the folding.
create function stayledger_plain(text) returns text language sql immutable parallel safe as $$
    select nullif(btrim(case when octet_length($1) = length($1) then regexp_replace(lower($1 collate "C"), '\s+', ' ', 'g')
        else regexp_replace(replace(normalize(lower(upper(lower(normalize($1, NFKC) collate "und-x-icu"))), NFKC), 'ς', 'σ') collate "C", '\s+', ' ', 'g') end), '')
$$;

-- Codes are kept in that form: row-level security keeps PostgreSQL from searching by an index of a function.
alter table reservation add column code_key text generated always as (stayledger_plain(confirmation_code)) stored;
drop index reservation_by_confirmation_code;
create index reservation_by_code_key on reservation (team_id, code_key) where code_key is not null;
alter table transaction_line add column match_code_key text generated always as (stayledger_plain(match_confirmation_code)) stored;
drop index transaction_line_unmatched;
create index transaction_line_unmatched on transaction_line (team_id, match_code_key) where reservation_id is null and match_code_key is not null;

-- +goose Down
drop index transaction_line_unmatched;
create index transaction_line_unmatched on transaction_line (team_id, match_confirmation_code)
    where reservation_id is null and match_confirmation_code is not null;
alter table transaction_line drop column match_code_key;
drop index reservation_by_code_key;
create index reservation_by_confirmation_code on reservation (team_id, confirmation_code) where confirmation_code is not null;
alter table reservation drop column code_key;
drop function stayledger_plain(text);
