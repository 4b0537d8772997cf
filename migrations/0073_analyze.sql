-- +goose Up
-- Autovacuum does not see the rows of a transaction that has not committed, and plans for a table that it takes for empty
-- read all of it for each row. A transaction that adds many rows to a table has it analyzed with this function, which does
-- nothing for a table in which they are few, by the thresholds of autovacuum. It holds off autovacuum and other calls for
-- the table until the commit.
-- +goose StatementBegin
create function stayledger_analyze(tbl regclass, added bigint) returns void language plpgsql security definer
    set search_path = pg_catalog, public as $$
begin
    if added > 50 + 0.1 * greatest((select reltuples from pg_class where oid = tbl), 0) then
        execute format('analyze (skip_locked) %s', tbl);
    end if;
end $$;
-- +goose StatementEnd

-- +goose Down
drop function stayledger_analyze(regclass, bigint);
