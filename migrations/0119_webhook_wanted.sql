-- +goose Up
-- In this language a function is planned once for a connection, and not once for each write: every audit event asks it.
-- +goose StatementBegin
create or replace function webhook_wanted(team uuid) returns boolean language plpgsql stable as $$
begin
    return exists (select from webhook w where w.team_id = team and w.status = 'active')
        or exists (select from team t where t.id = team and t.partner_id is not null);
end
$$;
-- +goose StatementEnd

-- +goose Down
create or replace function webhook_wanted(team uuid) returns boolean language sql stable
    as $$ select exists (select from webhook w where w.team_id = team and w.status = 'active')
        or exists (select from team t where t.id = team and t.partner_id is not null) $$;
