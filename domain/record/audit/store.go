package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// gathered collects the events of a transaction until its commit.
var gathered = &db.Gathering{End: write}

// Spill inserts the events that the transaction has so far, so that work on many thousands of records does not keep all
// events in memory. No record may have a further event in the transaction, and a source has to be set again.
func Spill(ctx context.Context, tx *db.Tx) error {
	if err := tx.Spill(ctx, gathered); err != nil {
		return fmt.Errorf("insert audit events: %w", err)
	}

	return nil
}

// write returns the statements that insert a transaction's events, a statement for each team.
func write(tx *db.Tx, items []any) ([]db.Stmt, error) {
	from := origin{source: actorSource(actorKind(tx))}

	var recorded []db.Stmt // the action, until its events are inserted with it

	// Origins and the action are gathered together with events; the last origin applies to all events.
	items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
		switch item := item.(type) {
		case origin:
			from = item
		case action:
			recorded = append(recorded, insertAction(tx, tx.Team, tx.Action, nil, item.endpoint))
		default:
			return false
		}

		return true
	})

	events, err := fold(items)
	if err != nil {
		return nil, err
	}

	// Work across teams writes events of several teams; keep their order stable.
	byTeam := map[id.ID][]*event{}

	var teams []id.ID

	for _, e := range events {
		if byTeam[e.Team] == nil {
			teams = append(teams, e.Team)
		}

		e.ID = tx.NewID()
		byTeam[e.Team] = append(byTeam[e.Team], e)
	}

	var out []db.Stmt

	for _, team := range teams {
		encoded, err := json.Marshal(byTeam[team])
		if err != nil {
			return nil, fmt.Errorf("encode audit events: %w", err)
		}

		// Insert an action if no request did: for work that the service started, and for events in another team.
		action := tx.Action
		if action.IsZero() || !tx.Team.IsZero() && team != tx.Team {
			action = tx.NewID()
			out = append(out, insertAction(tx, team, action, tx.Action.OrNil(), cmp.Or(tx.Work, "system")))
		}

		// Queued work can revise an event from its request or from an earlier attempt.
		statement := insertFirst
		if tx.Work != "" {
			statement = insertRevisions
		}

		events := db.Stmt{SQL: statement, Args: db.Args{
			"team":      team,
			"action":    action,
			"kind":      actorKind(tx),
			"actor":     tx.Actor.User,
			"source":    from.source,
			"through":   from.connectionID,
			"sync":      from.syncID,
			"import":    from.importID,
			"override":  tx.IsOverride,
			"operation": tx.Operation,
			"settled":   tx.Work == "" && !tx.HasQueued(),
			"now":       tx.Now,
			"events":    json.RawMessage(encoded),
		}}
		if len(recorded) > 0 && action == tx.Action {
			events, recorded = db.Both(recorded[0], events), recorded[1:]
		}

		out = append(out, events)
	}

	return append(recorded, out...), nil
}

// actorSource returns the source of changes by this kind of actor.
func actorSource(actor db.ActorKind) Source {
	switch actor {
	case db.TeamKey, db.PartnerKey:
		return ByKey
	case db.System:
		return System
	case db.Person, db.Embedded:
	}

	return ByUser
}

// fold joins the events of each record into one and drops events in which nothing changed in the end. It fails with the
// error of a view that could not be encoded.
func fold(items []any) ([]*event, error) {
	type record struct {
		team   id.ID
		entity Entity
		of     id.ID
	}

	at := map[record]*event{}

	var (
		out   []*event
		loose []*event
	)

	for _, item := range items {
		e := item.(*event) //nolint:errcheck,forcetypeassert // nothing else is gathered
		if e.err != nil {
			return nil, fmt.Errorf("encode the event of %s %s: %w", e.Entity, e.Of, e.err)
		}

		if e.Entity == "" {
			loose = append(loose, e)
			continue
		}

		key := record{e.Team, e.Entity, e.Of}
		if earlier := at[key]; earlier != nil {
			earlier.add(e)
			continue
		}

		// Copy the first event, because later events are added to it and the caller keeps its own.
		kept := *e
		kept.Refs = append(make([]Reference, 0, len(e.Refs)), e.Refs...)
		kept.Changes = append(make([]Change, 0, len(e.Changes)), e.Changes...)
		at[key] = &kept
		out = append(out, &kept)
	}

	// Journal effects without an entity join the event of their record, if there is one.
	if len(loose) > 0 {
		of := make(map[id.ID]*event, len(out))
		for _, e := range out {
			of[e.Of] = e
		}

		for _, e := range loose {
			if known := of[e.Of]; known != nil {
				known.add(e)
			}
		}
	}

	return slices.DeleteFunc(out, func(e *event) bool { return len(e.Changes) == 0 && e.Journal == nil }), nil
}

// add joins a later event of the same record. A new record stays "created" however often it changed since; otherwise a
// type that says more than "updated" wins.
func (e *event) add(later *event) {
	switch {
	case later.Type == Deleted && e.Type == Created: // nothing is left of it
		e.Changes, e.Journal = nil, nil
		return
	case later.Type == Deleted || e.Type == Updated && later.Type != Updated:
		e.Type = later.Type
	}

	if later.Name != nil {
		e.Name = later.Name
	}

	for _, r := range later.Refs {
		if !slices.Contains(e.Refs, r) {
			e.Refs = append(e.Refs, r)
		}
	}

	e.Changes, e.Journal = Join(e.Changes, later.Changes), JoinEffects(e.Journal, later.Journal)
}

// Join returns changes of a record with later ones of it. A field that changed twice keeps its first old value and gets
// the last new value; one that is back at its old value has not changed.
func Join(earlier, later []Change) []Change {
	for _, c := range later {
		// The first old value stays.
		i := slices.IndexFunc(earlier, func(e Change) bool { return e.Key == c.Key })
		if i < 0 {
			earlier = append(earlier, c)
		} else {
			earlier[i].New = c.New
		}
	}

	return slices.DeleteFunc(earlier, Change.same)
}

// JoinEffects returns an effect on the books with a later one; either can be nil.
func JoinEffects(earlier, later *Effect) *Effect {
	switch {
	case earlier == nil:
		return later
	case later != nil:
		earlier.add(later)
	}

	return earlier
}

// same reports whether a field has its old value again. Masked values never count as equal, because they may
// differ.
func (c Change) same() bool { return string(c.Old) == string(c.New) && string(c.Old) != string(hidden) }

func (f *Effect) add(later *Effect) {
	f.EntriesAdded += later.EntriesAdded

	f.EntriesRetired += later.EntriesRetired
	for _, d := range later.Delta {
		f.Count(d.AccountID, d.CentTotal)
	}
}

// Count adds to the net change of an account, and removes the account if its change is zero.
func (f *Effect) Count(account id.ID, cents int64) {
	i := slices.IndexFunc(f.Delta, func(d Delta) bool { return d.AccountID == account })
	if i < 0 {
		f.Delta = append(f.Delta, Delta{account, cents})
		return
	}

	if f.Delta[i].CentTotal += cents; f.Delta[i].CentTotal == 0 {
		f.Delta = slices.Delete(f.Delta, i, i+1)
	}
}

// An event of queued work can revise the event that its request, or earlier work of the same action, inserted for the
// same record. A revision has the type, the name, the override and the references of the event so far, joined as add joins
// them, so that filters find the event by its latest revision. An event of a request is always the first.
//
// The transaction gets its identifier before its events get their instant: whoever looks for running writes (package db,
// OldestWrite) sees every one that can still commit earlier events.
const (
	insertFirst     = insertInput + `)` + insertEvents
	insertRevisions = insertInput + `), prior as (
		select distinct on (i.entity_type, i.entity_id) i.entity_type, i.entity_id, p.id, p.revision, p.type, p.entity_name, p.refs, p.is_override
		from input i join audit_event p on p.team_id = @team and p.action_id = @action and p.entity_type = i.entity_type and p.entity_id = i.entity_id
		order by i.entity_type, i.entity_id, p.revision desc), revised as (
		select coalesce(p.id, i.id) as id, coalesce(p.revision, 0) + 1 as revision,
			case when p.type is null or p.type = 'updated' or i.type = 'deleted' then i.type else p.type end as type,
			i.entity_type, i.entity_id, coalesce(i.entity_name, p.entity_name) as entity_name,
			case when p.refs is null then i.refs else (select coalesce(jsonb_agg(distinct f), '[]') from jsonb_array_elements(p.refs || i.refs) f) end as refs,
			i.changes, i.journal, coalesce(p.is_override, false) as is_override
		from input i left join prior p on p.entity_type = i.entity_type and p.entity_id = i.entity_id)` + revisedEvents
	insertInput = `
	with input as materialized (
		select * from jsonb_to_recordset(@events::jsonb) as e (id uuid, type text, entity_type text, entity_id uuid, entity_name text, refs jsonb,
			changes jsonb, journal jsonb)`
	insertEvents  = `, revised as (select i.*, 1 as revision, false as is_override from input i)` + revisedEvents
	revisedEvents = `, clock as materialized (select pg_current_xact_id() as xact, clock_timestamp() as now), kept as (
		insert into audit_event (team_id, id, revision, action_id, actor_type, actor_id, type, entity_type, entity_id, entity_name, refs, source_type,
			connection_id, sync_id, import_id, operation_id, changes, journal, is_override, occurred_at, recorded_at, settled_at)
		select @team, r.id, r.revision, @action, @kind, @actor, r.type, r.entity_type, r.entity_id, r.entity_name, r.refs, @source, @through::uuid, @sync::uuid, @import::uuid,
			@operation, r.changes, r.journal, @override or r.is_override, @now, clock.now, case when @settled then clock.now end
		from revised r, clock
		returning id, revision, recorded_at, refs)
	insert into audit_reference (team_id, entity_id, recorded_at, event_id, revision, entity_type)
	select distinct @team::uuid, f.id, k.recorded_at, k.id, k.revision, f.type
	from kept k, jsonb_to_recordset(k.refs) as f (id uuid, type text)
	on conflict do nothing`
)
