-- +goose Up
-- Lines, adjustments and journals can name the ownership period whose owners have them, such as one that has ended.
alter table transaction_line add column ownership_period_id uuid,
    add constraint transaction_line_ownership_period foreign key (team_id, ownership_period_id)
        references listing_ownership_period (team_id, id) on delete set null (ownership_period_id);
create index transaction_line_by_ownership_period on transaction_line (team_id, ownership_period_id) where ownership_period_id is not null;

alter table reservation_adjustment add column ownership_period_id uuid,
    add constraint reservation_adjustment_ownership_period foreign key (team_id, ownership_period_id)
        references listing_ownership_period (team_id, id) on delete set null (ownership_period_id);
create index reservation_adjustment_by_ownership_period on reservation_adjustment (team_id, ownership_period_id) where ownership_period_id is not null;

alter table journal_line add column ownership_period_id uuid,
    add constraint journal_line_ownership_period foreign key (team_id, ownership_period_id)
        references listing_ownership_period (team_id, id) on delete set null (ownership_period_id);
create index journal_line_by_ownership_period on journal_line (team_id, ownership_period_id) where ownership_period_id is not null;

-- +goose Down
alter table journal_line drop column ownership_period_id;
alter table reservation_adjustment drop column ownership_period_id;
alter table transaction_line drop column ownership_period_id;
