-- +goose Up
-- +goose StatementBegin
-- The fence has the question asked once for the events of an action: without it PostgreSQL asks for each of them, and groups afterwards.
create or replace function webhook_note_events() returns trigger language plpgsql as $$
begin
    insert into webhook_note (team_id, action_id, recorded_at)
    select a.team_id, a.action_id, a.recorded_at from (select distinct team_id, action_id, recorded_at from added offset 0) a
    where webhook_wanted(a.team_id);
    return null;
end
$$;

-- An operation is noted by itself, so a statement that would insert nothing is left out.
create or replace function webhook_note_operation() returns trigger language plpgsql as $$
begin
    if webhook_wanted(new.team_id) then
        insert into webhook_note (team_id, operation_id) values (new.team_id, new.id);
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function webhook_note_operation() returns trigger language plpgsql as $$
begin
    insert into webhook_note (team_id, operation_id) select new.team_id, new.id where webhook_wanted(new.team_id);
    return null;
end
$$;

create or replace function webhook_note_events() returns trigger language plpgsql as $$
begin
    insert into webhook_note (team_id, action_id, recorded_at)
    select a.team_id, a.action_id, a.recorded_at from (select distinct team_id, action_id, recorded_at from added) a
    where webhook_wanted(a.team_id);
    return null;
end
$$;
-- +goose StatementEnd
