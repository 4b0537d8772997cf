-- +goose Up
-- The same movement can come from more than one source. Whoever looks for the others of a record finds them by amount and day.
create index bank_record_by_amount on bank_record (team_id, amount, date) where status = 'active' and type = 'transaction';

-- +goose Down
