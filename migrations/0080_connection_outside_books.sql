-- +goose Up
-- Whether a connection to a property-management system is outside the books: it has no accounting dates while another active
-- one has an accounting start. Kept, since a connection that is not active any more stays as it was.
set local stayledger.across_teams = 'on';

alter table connection add is_outside_books boolean not null default false;
-- Only such systems have dates, and only they bring reservations.
update connection c set is_outside_books = true
    where c.status = 'active' and c.accounting_start_at is null and c.accounting_end_at is null
        and exists (select from reservation r where r.team_id = c.team_id and r.connection_id = c.id)
        and exists (select from connection o where o.team_id = c.team_id and o.id <> c.id and o.status = 'active' and o.accounting_start_at is not null);

-- +goose Down
alter table connection drop column is_outside_books;
