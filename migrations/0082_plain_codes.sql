-- +goose Up
-- Confirmation codes and names of guests are compared after NFKC, case folding and trimming.

-- stayledger_plain returns a text as plain.Text of the service does: in compatibility form, without differences of case, without
-- white space around it and with a single space for each stretch inside. Nearly all texts are ASCII, for which lower is enough.
create function stayledger_plain(text) returns text language sql immutable parallel safe as $$
    select btrim(regexp_replace(case when octet_length($1) = length($1) then lower($1 collate "C")
        else normalize(replace(lower(upper(lower(normalize($1, NFKC) collate "und-x-icu"))), 'ς', 'σ'), NFKC) collate "C" end, '\s+', ' ', 'g'))
$$;

create index reservation_by_plain_code on reservation (team_id, stayledger_plain(confirmation_code));
drop index transaction_line_unmatched;
create index transaction_line_unmatched on transaction_line (team_id, stayledger_plain(match_confirmation_code))
    where reservation_id is null and match_confirmation_code is not null;

-- +goose Down
drop index reservation_by_plain_code, transaction_line_unmatched;
create index transaction_line_unmatched on transaction_line (team_id, match_confirmation_code)
    where reservation_id is null and match_confirmation_code is not null;
drop function stayledger_plain(text);
