-- +goose Up
-- A listing that others name as their parent is a group. Its members are looked up with every change of its owners.
create index listing_by_parent on listing (team_id, parent_id) where parent_id is not null;
alter table listing add constraint listing_other_parent check (parent_id <> id);

-- +goose Down
alter table listing drop constraint listing_other_parent;
drop index listing_by_parent;
