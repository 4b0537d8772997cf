-- +goose Up
-- Identifiers carry the time at which they were made (uuid version 7), so the service makes them and no default does.
alter table reservation_line_mapping alter column id drop default;

-- The ways in which a contact is paid go with it. Who deletes a contact has seen that no payment names them.
alter table payee_method
    drop constraint payee_method_contact,
    add constraint payee_method_contact foreign key (team_id, contact_id) references contact (team_id, id) on delete cascade;
