-- +goose Up
-- What a cutover has taken out of the books remembers what it was: a reservation that it made inactive its status, and a line that it
-- detached the reservation that it named.
alter table reservation add column retired_status text;
alter table transaction_line add column detached_reservation_id uuid;
create index transaction_line_by_detached on transaction_line (team_id, detached_reservation_id) where detached_reservation_id is not null;

-- +goose Down
drop index transaction_line_by_detached;
alter table transaction_line drop column detached_reservation_id;
alter table reservation drop column retired_status;
