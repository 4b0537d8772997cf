-- +goose Up
-- The action of another team, such as the partner's, of which this one is a part.
alter table audit_action add column parent_id uuid;

-- +goose Down
