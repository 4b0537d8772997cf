-- +goose Up
-- The index of the entities of records begins with the entity: with the team first, a search for one record by its key
-- could read all records of the team while PostgreSQL has no statistics of the table yet.
drop index external_record_by_entity;
create index external_record_by_entity on external_record (entity_id, team_id) where entity_id is not null;

-- +goose Down
drop index external_record_by_entity;
create index external_record_by_entity on external_record (team_id, entity_id);
