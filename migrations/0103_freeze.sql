-- +goose Up
-- The operation that froze a team is the only work that still writes in it; without one, nothing does.
alter table team add column freeze_operation_id uuid;
set local stayledger.across_teams = 'on';
update team t set freeze_operation_id = (
    select o.id from operation o where o.tasks_open > 0 and case t.freeze_reason
        when 'deletion' then o.team_id = t.id and o.type = 'team-delete'
        else o.type in ('vri-team-migration', 'vri-statement-import')
            and exists (select from operation_resource r where r.operation_id = o.id and r.type = 'team' and r.resource_id = t.id) end
    order by o.id desc limit 1)
where t.freeze_reason is not null;
set local stayledger.across_teams = 'off';

-- Fails unless the team accepts writes of the operation. It is volatile, so that it sees what was committed while the caller waited at the gate.
-- +goose StatementBegin
create function team_writable(team uuid, operation uuid) returns void language plpgsql volatile as $$
declare
    reason text;
begin
    select t.freeze_reason into reason from team t
        where t.id = team and t.freeze_reason is not null and t.freeze_operation_id is distinct from operation;
    if found then
        raise exception using errcode = 'SL015', message = 'the team is frozen', detail = reason;
    end if;
end
$$;
-- +goose StatementEnd

-- +goose Down
drop function team_writable;
alter table team drop column freeze_operation_id;
