-- +goose Up
-- Search compares texts after NFKC, case folding and removal of combining marks, whatever the locale of the cluster.

-- stayledger_fold returns a text in the form in which search compares it. Marks go that can be put on a letter of another alphabet as well
-- (the blocks of combining diacritical marks), and the points and vowel marks of Hebrew and Arabic, which writers leave out; vowel signs of
-- other scripts are letters. Texts go through both cases, since some letters have only one in common: ß and SS, the two small sigmas, İ and i.
-- Nearly all texts are ASCII, for which lower is all of it.
create function stayledger_fold(text) returns text language sql immutable parallel safe as $$
    select case when octet_length($1) = length($1) then lower($1 collate "C")
        else normalize(replace(lower(upper(lower(
            regexp_replace(normalize($1, NFKD),
                '[\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u064B-\u065F\u0670\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F]',
                '', 'g') collate "und-x-icu"))), 'ς', 'σ'), NFC) collate "C" end
$$;

-- stayledger_pattern returns the LIKE pattern of the folded texts that have a text as a part. One that folds to nothing is not part of any.
create function stayledger_pattern(text) returns text language sql immutable parallel safe as $$
    select '%' || regexp_replace(coalesce(nullif(stayledger_fold($1), ''), $1) collate "C", '([\\%_])', '\\\1', 'g') || '%'
$$;

-- +goose Down
