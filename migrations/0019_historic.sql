-- +goose Up
-- What a bulk import of historic owner statements leaves for its operation: the statement without its lines, and the lines, as they were sent.
-- They are removed when the import is done; those of a failed one when the next begins.
create table statement_import (
    team_id uuid not null references team (id),
    operation_id uuid not null,
    position integer not null,
    unique_ref text not null,
    listing_id uuid not null,
    currency text not null,
    start_at date not null,
    end_at date not null,
    line_count integer not null,
    has_payouts boolean not null,
    statement json not null,
    lines json not null,
    primary key (team_id, operation_id, position),
    constraint statement_import_ref unique (team_id, unique_ref)
);
create index statement_import_by_listing on statement_import (team_id, listing_id);
select stayledger_tenant('statement_import');

-- +goose Down
