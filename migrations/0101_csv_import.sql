-- +goose Up
-- Files of imports are kept beside exports, attachments and payment files.
alter table file drop constraint file_kind_check;
alter table file add constraint file_kind_check check (kind in ('export', 'attachment', 'payment', 'import'));

-- An uploaded file with its preview and what became of it. Its id is that of the operation that reads it.
create table csv_import (
    team_id uuid not null references team (id),
    id uuid not null,
    kind text not null,
    status text not null check (status in ('reading', 'ready', 'failed', 'importing', 'imported', 'undoing', 'undone', 'canceled')),
    file_id uuid not null,
    filename text not null,
    byte_size bigint not null,
    sha256 bytea not null,
    source_id uuid not null,
    connection_id uuid,
    bank_account_id uuid,
    encoding text,
    mapping jsonb,
    form jsonb,
    columns jsonb not null default '[]',
    counts jsonb not null default '{}',
    outcomes jsonb not null default '{}',
    issues jsonb not null default '[]',
    issue_counts jsonb not null default '{}',
    totals jsonb not null default '[]',
    dependents jsonb not null default '[]',
    -- Which attempt reads the file, and the last row that is read or taken in.
    attempt integer not null default 0,
    step bigint not null default 0,
    prior_id uuid,
    import_operation_id uuid,
    undo_operation_id uuid,
    override text check (override in ('skip', 'replace', 'keep')),
    all_or_none boolean not null default false,
    is_automatic boolean not null,
    created_at timestamptz(3) not null,
    imported_at timestamptz(3),
    undone_at timestamptz(3),
    purge_at timestamptz(3) not null,
    primary key (team_id, id)
);
create index csv_import_by_time on csv_import (team_id, created_at desc, id);
create index csv_import_by_file on csv_import (team_id, kind, sha256) where imported_at is not null;
create index csv_import_due on csv_import (purge_at);
select stayledger_tenant('csv_import');

-- A row of a file. Its cells are kept as the file has them; what they mean follows from the columns of the import. head is the row whose record
-- the row belongs to. amount is that of the record, in currency. Rows go before their import: no key is asked for each of very many rows.
create table csv_import_row (
    team_id uuid not null,
    import_id uuid not null,
    position integer not null,
    line integer not null,
    cells text[] not null,
    plain boolean[],
    head integer,
    key text,
    ordinal integer not null,
    status text not null,
    amount bigint,
    currency text,
    issues jsonb,
    decision text check (decision in ('import', 'skip', 'replace')),
    match_id uuid,
    is_certain boolean not null,
    outcome text,
    reason text,
    entity_id uuid,
    before jsonb,
    primary key (team_id, import_id, position)
);
create index csv_import_row_part on csv_import_row (team_id, import_id, head) where head is not null;
create index csv_import_row_updated on csv_import_row (team_id, entity_id) where outcome = 'updated';
create index csv_import_row_odd on csv_import_row (team_id, import_id, status, position) where status <> 'valid';
select stayledger_tenant('csv_import_row');

-- +goose Down
