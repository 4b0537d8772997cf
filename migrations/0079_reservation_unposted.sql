-- +goose Up
-- What the books leave out of a reservation: postings before the first day of the books, or all of it because its accounting
-- date is outside the window of its connection. Derived with the journal; a reservation that is posted as a whole has no row.
create table reservation_unposted (
    team_id uuid not null references team (id),
    reservation_id uuid not null,
    reason text not null check (reason in ('beforeStatementStartDate', 'outsideAccountingWindow')),
    whole boolean not null,
    cent_total bigint not null,
    fee_cent_total bigint not null,
    deferred_cent_total bigint not null,
    first_day date,
    primary key (team_id, reservation_id),
    constraint reservation_unposted_reservation foreign key (team_id, reservation_id) references reservation (team_id, id) on delete cascade
);
select stayledger_tenant('reservation_unposted');

-- +goose Down
drop table reservation_unposted;
