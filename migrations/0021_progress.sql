-- +goose Up

-- How far an unsettled operation is. Written every second or so in a transaction of its own, apart from the operation's row, so that telling
-- progress never waits for the work nor holds it up.
create table operation_progress (
    team_id uuid not null,
    operation_id uuid not null,
    done bigint not null,
    total bigint not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, operation_id),
    foreign key (team_id, operation_id) references operation (team_id, id) on delete cascade
) with (fillfactor = 50);
select stayledger_tenant('operation_progress');

-- +goose Down
drop table operation_progress;
