-- +goose Up
-- Where a contact or transaction came from: the connection that it came over, and its own key in the app of the connection. One key of a connection
-- is one record.
alter table contact
    add connection_id uuid,
    add source_id text,
    add constraint contact_connection foreign key (team_id, connection_id) references connection (team_id, id);
create index contact_by_connection on contact (team_id, connection_id, id) where connection_id is not null;
create unique index contact_source on contact (team_id, connection_id, source_id) where connection_id is not null and source_id is not null;

alter table transaction
    add connection_id uuid,
    add source_id text,
    add constraint transaction_connection foreign key (team_id, connection_id) references connection (team_id, id);
create index transaction_by_connection on transaction (team_id, connection_id, id) where connection_id is not null;
create unique index transaction_source on transaction (team_id, connection_id, source_id) where connection_id is not null and source_id is not null;

-- +goose Down
alter table transaction drop column connection_id, drop column source_id;
alter table contact drop column connection_id, drop column source_id;
