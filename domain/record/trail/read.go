package trail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// place says where a list goes on: after an event, or after an action.
type place struct {
	recorded time.Time
	after    id.ID
}

// selection selects a part from a list.
type selection struct {
	*Filter

	// oldest lists the oldest events first.
	oldest bool
	from   *place
	// horizon leaves out events from then on; nil leaves out none.
	horizon *time.Time
	limit   int64
}

// row is an event as it is stored.
type row struct {
	TeamID, ID, ActionID, EntityID     id.ID
	Revision                           int64
	ActorType                          string
	ActorID, ConnectionID, OperationID *id.ID
	SyncID, ImportID                   *id.ID
	IsOverride                         bool
	Type                               audit.Type
	EntityType                         audit.Entity
	EntityName, AppID                  *string
	SourceType                         audit.Source
	Refs                               []audit.Reference
	Changes                            []audit.Change
	Journal                            *audit.Effect
	OccurredAt, RecordedAt             time.Time
	SettledAt                          *time.Time
	Chain                              *Chain
}

// columns select a row. An event is settled with its action's operations; its app comes from the connection, whether
// that brought the change or is the changed record.
const columns = `e.team_id, e.id, e.revision::bigint, e.action_id, e.actor_type, e.actor_id, e.type, e.entity_type, e.entity_id, e.entity_name, e.refs,
	e.source_type, e.connection_id, e.sync_id, e.import_id, e.operation_id, e.changes, e.journal, e.is_override, e.occurred_at, e.recorded_at,
	coalesce(e.settled_at, (select case when bool_and(o.finished_at is not null) then max(o.finished_at) end
		from operation o where o.team_id = e.team_id and o.action_id = e.action_id)) as settled_at,
	(select c.app_id from connection c where c.team_id = e.team_id
		and c.id = coalesce(e.connection_id, case when e.entity_type = 'connection' then e.entity_id end)) as app_id,
	(select jsonb_build_object('seq', l.seq, 'hash', encode(l.hash, 'base64')) from audit_leaf l
		where l.team_id = e.team_id and l.event_id = e.id and l.revision = e.revision) as chain`

// keys identify and order events.
const keys = "e.team_id, e.id, e.revision, e.recorded_at"

// keysSQL returns the SQL for the selected keys in a team, in order, at most the limit. The limit is written into the
// text: PostgreSQL takes a parameter for a tenth of the table.
//
// With a record two indexes are read, for its own events and for references to it. Each gives its first rows only.
func (s *selection) keysSQL(args db.Args) string {
	direction, beyond := "desc", "<"
	if s.oldest {
		direction, beyond = "asc", ">"
	}

	where := s.conditionsSQL(args)
	if s.from != nil {
		args["at"], args["after"] = s.from.recorded, s.from.after
		where += " and ($at, $id) " + beyond + " (@at, @after)"
	}

	if s.horizon != nil {
		args["horizon"] = *s.horizon
		where += " and $at < @horizon"
	}

	// branch returns the first events of a source that is ordered by columns of its own.
	branch := func(from, condition, at, by string) string {
		conditions := strings.NewReplacer("$at", at, "$id", by).Replace(where)

		return fmt.Sprintf("(select %s from %s where %s and %s order by %s %s, %s %s limit %d)",
			keys, from, condition, conditions, at, direction, by, direction, s.limit)
	}

	if s.entity == nil {
		return branch("audit_event e", "e.team_id = @team", "e.recorded_at", "e.id")
	}

	args["entity"], args["kinds"] = s.entity, s.kinds()
	own := branch("audit_event e", `e.team_id = @team and e.entity_id = @entity and (@kinds::text[] is null or e.entity_type = any(@kinds))`,
		"e.recorded_at", "e.id")
	referring := branch(`audit_reference r
		join audit_event e on e.team_id = r.team_id and e.id = r.event_id and e.revision = r.revision`,
		`r.team_id = @team and r.entity_id = @entity and (@kinds::text[] is null or r.entity_type = any(@kinds)) and e.entity_id <> @entity`,
		"r.recorded_at", "r.event_id")

	return fmt.Sprintf(
		"(select * from (%s union all %s) e order by e.recorded_at %s, e.id %s limit %d)",
		own, referring, direction, direction, s.limit,
	)
}

// loadTeam loads the selected events in a team, in order.
func (s *selection) loadTeam(ctx context.Context, tx *db.Tx, team id.ID) ([]row, error) {
	args := db.Args{"team": team}

	found, err := db.Select[row](ctx, tx, `select `+columns+` from `+s.keysSQL(args)+` k
		join audit_event e on e.team_id = k.team_id and e.id = k.id and e.revision = k.revision order by `+s.orderSQL(), args)
	if err != nil {
		return nil, fmt.Errorf("list audit events: %w", err)
	}

	return found, addEarlier(ctx, tx, found)
}

// loadAll loads the selected events in several teams, in order.
func (s *selection) loadAll(ctx context.Context, tx *db.Tx, teams []id.ID) ([]row, error) {
	args := db.Args{"teams": teams}

	// Each team gives its first events; the page has the first of them all.
	found, err := db.Select[row](ctx, tx, `select `+columns+` from unnest(@teams::uuid[]) t (id)
		cross join lateral `+strings.ReplaceAll(s.keysSQL(args), "@team ", "t.id ")+` k
		join audit_event e on e.team_id = k.team_id and e.id = k.id and e.revision = k.revision
		order by `+s.orderSQL()+fmt.Sprintf(` limit %d`, s.limit), args)
	if err != nil {
		return nil, fmt.Errorf("list audit events of several teams: %w", err)
	}

	return found, addEarlier(ctx, tx, found)
}

// orderSQL returns the order for events e.
func (s *selection) orderSQL() string {
	if s.oldest {
		return "e.recorded_at, e.id"
	}

	return "e.recorded_at desc, e.id desc"
}

// addEarlier adds the changes from earlier revisions to events.
func addEarlier(ctx context.Context, tx *db.Tx, events []row) error {
	at, ids, teams := map[id.ID]int{}, []id.ID{}, []id.ID{}

	for i := range events {
		if events[i].Revision > 1 {
			at[events[i].ID] = i
			ids, teams = append(ids, events[i].ID), append(teams, events[i].TeamID)
		}
	}

	if len(ids) == 0 {
		return nil
	}

	type revision struct {
		ID      id.ID
		Refs    []audit.Reference
		Changes []audit.Change
		Journal *audit.Effect
	}

	// The latest ones come first: each is put before what is known.
	earlier, err := db.Select[revision](ctx, tx, `
		select e.id, e.refs, e.changes, e.journal from unnest(@teams::uuid[], @ids::uuid[]) k (team_id, id)
		join audit_event e on e.team_id = k.team_id and e.id = k.id
		where exists (select from audit_event n where n.team_id = e.team_id and n.id = e.id and n.revision = e.revision + 1)
		order by e.id, e.revision desc`, db.Args{"teams": teams, "ids": ids})
	if err != nil {
		return fmt.Errorf("read earlier revisions of audit events: %w", err)
	}

	for i := range earlier {
		e := &events[at[earlier[i].ID]]
		e.Changes = audit.Join(earlier[i].Changes, e.Changes)
		e.Journal = audit.JoinEffects(earlier[i].Journal, e.Journal)

		for _, r := range earlier[i].Refs {
			if !slices.Contains(e.Refs, r) {
				e.Refs = append(e.Refs, r)
			}
		}
	}

	return nil
}

// toEvent returns an event as a caller may see it.
func (r *row) toEvent(actor db.Actor) Event {
	e := Event{
		ID: r.ID, TeamID: r.TeamID, Revision: r.Revision, ActionID: r.ActionID, Type: r.Type,
		Actor:  Actor{r.ActorType, r.ActorID},
		Entity: Record{r.EntityType, r.EntityID, r.EntityName}, References: make([]Reference, 0, len(r.Refs)+1),
		Source:  Origin{r.SourceType, r.ConnectionID, r.SyncID, r.ImportID, r.OperationID},
		Changes: make([]Change, len(r.Changes)), Journal: r.Journal, IsOverride: r.IsOverride,
		OccurredAt: day.At(r.OccurredAt), RecordedAt: day.At(r.RecordedAt), Chain: r.Chain,
	}

	// Work can still add to an event before it is settled.
	if r.SettledAt != nil {
		e.SettledAt = new(day.At(*r.SettledAt))
	}

	for _, ref := range r.Refs {
		e.References = append(e.References, Reference{string(ref.Role), string(ref.Type), ref.ID.String()})
	}

	if r.AppID != nil {
		e.References = append(e.References, Reference{appType, appType, *r.AppID})
	}

	mayRead := actor.Has(readScopes[r.EntityType])
	for i, c := range r.Changes {
		e.Changes[i].Key = c.Key
		if mayRead {
			e.Changes[i].Old, e.Changes[i].New = c.Old, c.New
		}
	}

	// The effect on the books has amounts by account.
	if !actor.Has("general-ledger:read") {
		e.Journal = nil
	}

	return e
}

// errPosition refuses a position no list has given.
var errPosition = errors.New("the position of a cursor has another form")

// lifetime is how long a cursor can be used (domain.md 1.14).
const lifetime = 24 * time.Hour

// writePosition returns the position after an event, made at an instant.
func writePosition(made time.Time, p place) string {
	return fmt.Sprint(made.UnixMilli(), " ", p.recorded.UnixMicro(), " ", p.after)
}

// readPosition returns the place for a position; nil for the first page. It fails with errExpired when the position was
// made too long ago.
func readPosition(position string, now time.Time) (*place, error) {
	if position == "" {
		return nil, nil
	}

	// When it was made, and the key it goes on after.
	words := strings.Fields(position)
	if len(words) != 3 {
		return nil, errPosition
	}

	made, err1 := strconv.ParseInt(words[0], 10, 64)
	recorded, err2 := strconv.ParseInt(words[1], 10, 64)
	after, err3 := id.Parse(words[2])

	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("%w: %w", errPosition, err)
	}

	if now.Sub(time.UnixMilli(made)) > lifetime {
		return nil, errExpired
	}

	return &place{time.UnixMicro(recorded), after}, nil
}
