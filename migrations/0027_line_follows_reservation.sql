-- +goose Up
-- A line of a transaction that left its listing to the reservation follows the stay to another listing; one whose caller named the listing stays. So
-- far a line could be written with no other listing than that of its reservation, so every line of a reservation follows.
alter table transaction_line add follows_reservation boolean not null default false;
select set_config('stayledger.across_teams', 'on', true);
update transaction_line set follows_reservation = true where reservation_id is not null and listing_id is not null;
select set_config('stayledger.across_teams', 'off', true);

-- Whoever writes such a line has read where the stay is before he held it: when it was moved in between, the work is done again.
-- +goose StatementBegin
create function stay_has_moved() returns void language plpgsql as $$
begin
    raise exception using errcode = 'serialization_failure', message = 'a stay was moved while a transaction of it was written';
end $$;
-- +goose StatementEnd

-- +goose Down
