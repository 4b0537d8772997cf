-- +goose Up
-- What came of setListingInactive when an ownership period ended: nothing yet, what keeps the listing active (and on which day that was
-- last found), or that it was settled. A period that ends on another day starts over.
alter table listing_ownership_period
    add is_deactivation_settled boolean not null default false,
    add deactivation_held jsonb;

-- The periods that a listing still has to follow, by the day on which it does.
create index listing_ownership_period_ending on listing_ownership_period (end_at, team_id)
    where set_listing_inactive and not is_deactivation_settled;
create index listing_ownership_period_held on listing_ownership_period (team_id) where deactivation_held is not null;

-- +goose Down
drop index listing_ownership_period_ending, listing_ownership_period_held;
alter table listing_ownership_period drop column is_deactivation_settled, drop column deactivation_held;
