package trail

import (
	"context"
	"fmt"
	"maps"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// mostEvents bounds how many events the timeline shows for an action.
const mostEvents = 20

// action is a stored action, with counts for the operations it started.
type action struct {
	ID, TeamID                                 id.ID
	ActorType, Endpoint, RequestID             string
	ActorID, OperationID, ParentID             *id.ID
	Reason                                     *string
	CreatedAt                                  time.Time
	Queued, Running, Completed, Failed, Events int64
}

// listActions answers with a page of actions and their first events.
func listActions(ctx context.Context, tx *db.Tx, in *timelineInput) (*Timeline, error) {
	from, err := readPosition(in.Cursor.Position, tx.Now)
	if err != nil {
		return nil, err
	}

	actions, err := in.loadActions(ctx, tx, from)
	if err != nil {
		return nil, err
	}

	out := &Timeline{Data: []Entry{}, Page: Page{Limit: in.Limit, HasMore: int64(len(actions)) > in.Limit}}

	actions = actions[:min(int64(len(actions)), in.Limit)]
	if out.Page.HasMore {
		last := &actions[in.Limit-1]
		out.Page.NextCursor = in.Cursor.Next(writePosition(tx.Now, place{last.CreatedAt, last.ID}))
	}

	events, err := loadFirst(ctx, tx, actions)
	if err != nil {
		return nil, err
	}

	for i := range actions {
		out.Data = append(out.Data, actions[i].toEntry(events[actions[i].ID], tx.Actor, in.IncludeDiff))
	}

	return out, nil
}

// loadActions loads a page with one action more, to see whether another page follows. If the filter asks for something
// only events have, an action is selected by its events.
func (in *timelineInput) loadActions(ctx context.Context, tx *db.Tx, from *place) ([]action, error) {
	args := db.Args{"team": tx.Team}
	where := "a.team_id = @team"

	if from != nil {
		args["before"] = from.after
		where += " and a.id < @before"
	}

	// Without a filter no event is looked at. The events of a record with its references are few, as overrides are: they
	// name the actions.
	asked := db.Args{}
	conditions := in.conditionsSQL(asked)

	switch {
	case in.entity != nil:
		asked["entity"], asked["kinds"] = in.entity, in.kinds()
		where += ` and a.id in (
			select e.action_id from audit_event e where e.team_id = @team and e.entity_id = @entity
				and (@kinds::text[] is null or e.entity_type = any(@kinds)) and ` + conditions + `
			union select e.action_id from audit_reference r
				join audit_event e on e.team_id = r.team_id and e.id = r.event_id and e.revision = r.revision
				where r.team_id = @team and r.entity_id = @entity and (@kinds::text[] is null or r.entity_type = any(@kinds))
					and ` + conditions + `)`
	case in.IsOverride != nil && *in.IsOverride:
		where += " and a.id in (select e.action_id from audit_event e where e.team_id = @team and " + conditions + ")"
	case conditions != latestSQL:
		where += " and exists (select from audit_event e where e.team_id = a.team_id and e.action_id = a.id and " + conditions + ")"
	}

	maps.Copy(args, asked)

	found, err := db.Select[action](ctx, tx, `
		select a.id, a.team_id, a.actor_type, a.actor_id, a.endpoint, a.request_id, a.reason, a.parent_id, a.created_at, o.operation_id,
			coalesce(o.queued, 0)::bigint as queued, coalesce(o.running, 0)::bigint as running, coalesce(o.completed, 0)::bigint as completed,
			coalesce(o.failed, 0)::bigint as failed,
			(select count(distinct e.id) from audit_event e where e.team_id = a.team_id and e.action_id = a.id) as events
		from (select * from audit_action a where `+where+fmt.Sprintf(` order by a.id desc limit %d) a
		left join lateral (select (array_agg(o.id order by o.id))[1] as operation_id, count(*) filter (where o.status = 'queued') as queued,
			count(*) filter (where o.status = 'running') as running, count(*) filter (where o.status = 'completed') as completed,
			count(*) filter (where o.status = 'failed') as failed
			from operation o where o.team_id = a.team_id and o.action_id = a.id) o on true
		order by a.id desc`, in.Limit+1), args)
	if err != nil {
		return nil, fmt.Errorf("list audit actions: %w", err)
	}

	return found, nil
}

// loadFirst loads the first events for each action.
func loadFirst(ctx context.Context, tx *db.Tx, actions []action) (map[id.ID][]row, error) {
	ids := make([]id.ID, len(actions))
	for i := range actions {
		ids[i] = actions[i].ID
	}

	found, err := db.Select[row](ctx, tx, `select `+columns+` from unnest(@ids::uuid[]) a (id)
		cross join lateral (select e.team_id, e.id, e.revision from audit_event e where e.team_id = @team and e.action_id = a.id
			and `+latestSQL+`
			order by e.id `+fmt.Sprintf(`limit %d) k`, mostEvents)+`
		join audit_event e on e.team_id = k.team_id and e.id = k.id and e.revision = k.revision order by e.id`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read the events of audit actions: %w", err)
	}

	if err := addEarlier(ctx, tx, found); err != nil {
		return nil, err
	}

	out := map[id.ID][]row{}
	for i := range found {
		out[found[i].ActionID] = append(out[found[i].ActionID], found[i])
	}

	return out, nil
}

// toEntry returns a timeline row: an action and its first events.
func (a *action) toEntry(events []row, actor db.Actor, includeDiff *bool) Entry {
	e := Entry{
		Action: Action{
			ID: a.ID, Actor: Actor{a.ActorType, a.ActorID}, Endpoint: a.Endpoint, RequestID: a.RequestID,
			Reason: a.Reason, APIVersion: api.Version,
			OperationID: a.OperationID, ParentActionID: a.ParentID,
			EffectCounts: EffectCounts{a.Queued, a.Running, a.Completed, a.Failed}, CreatedAt: day.At(a.CreatedAt),
		},
		Events: []Event{}, HasMoreEvents: a.Events > int64(len(events)),
	}

	for i := range events {
		e.Events = append(e.Events, events[i].toEvent(actor))
	}

	if includeDiff != nil && !*includeDiff {
		dropValues(e.Events)
	}

	// The first event says best what the action was about.
	if len(events) > 0 {
		e.Summary = &Summary{events[0].Type, events[0].EntityType, a.Events}
	}

	return e
}
