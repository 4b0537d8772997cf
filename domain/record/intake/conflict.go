package intake

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// conflictEndpoints returns the routes for conflicts found by syncs.
func (r *runner) conflictEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/sync-conflicts", ID: "listSyncConflicts", Tag: tag, Summary: "List fields that differ from their system",
			Doc: "One row for each field that somebody has changed here and that the system has changed since then. The value here stays until the " +
				"conflict is settled, until both are the same and the system is read, or until the connection is archived. When the system changes the field again, that is another conflict.",
			Scopes: []string{"connections:read"},
		}, r.listConflicts),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/sync-conflicts/settle", ID: "settleSyncConflicts", Tag: tag, Summary: "Settle conflicts of syncs",
			Doc: "ours keeps the value here; the system is not believed until it says something else. theirs writes the value of the system, with the " +
				"checks of any other change. Each is settled by itself, except that the fields of one record that take theirs are written together.",
			Scopes: []string{"connections:write"},
		}, r.settle),
	}
}

// ConflictView is a field that was changed here and at the system since it was last taken over.
type ConflictView struct {
	ID           id.ID           `json:"id"`
	ConnectionID *id.ID          `json:"connectionId"`
	Kind         string          `json:"kind" doc:"Kind of the record, as syncs count it."`
	ExternalID   string          `json:"externalId" doc:"The other system's name of the record."`
	Entity       ConflictEntity  `json:"entity" db:"-" doc:"The record here."`
	Field        string          `json:"field" doc:"Such as guestName, or lines[rent].amount; lines[rent] is whether the line is there. Fields that mean something only together are one, such as checkIn,checkOut."`
	Ours         json.RawMessage `json:"ours" db:"-" doc:"What the record has now."`
	Theirs       json.RawMessage `json:"theirs" db:"-" doc:"What the system says; *** for a tax identifier."`
	At           day.Instant     `json:"at" doc:"When a sync has found it."`
	EntityID     id.ID           `json:"-"`
	Taken        Values          `json:"-"`
}

// ConflictEntity names a record here.
type ConflictEntity struct {
	Type audit.Entity `json:"type"`
	ID   id.ID        `json:"id"`
}

// conflictSort is an order of conflicts.
type conflictSort string

// Enum lists the orders.
func (conflictSort) Enum() []string { return conflictSorts.Enum() }

type conflictsInput struct {
	page.Params
	Sort          conflictSort `query:"sort" default:"-at"`
	IDs           page.IDs     `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	ConnectionIDs page.Refs    `query:"connectionIds" doc:"The connections that were read."`
	Kind          string       `query:"kind" maxLength:"100"`
	EntityID      id.ID        `query:"entityId" doc:"The record here."`
}

// listConflicts returns a page of open conflicts, the newest first.
func (r *runner) listConflicts(ctx context.Context, tx *db.Tx, in *conflictsInput) (*page.Page[ConflictView], error) {
	q := conflictQuery(tx)
	q.IDs("c.id = any(?)", in.IDs)
	q.Refs("o.connection_id", in.ConnectionIDs)
	q.Narrow("c.kind = ?", in.Kind)
	q.Narrow("r.entity_id = ?", in.EntityID)

	found, err := page.List[ConflictView](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	return found, r.loadSides(ctx, tx, found.Data)
}

// loadSides sets the values of both sides in conflicts. A missing value, such as a line that is gone, is null.
func (r *runner) loadSides(ctx context.Context, tx *db.Tx, all []ConflictView) error {
	// One call for each kind loads all its records.
	ids := map[string][]id.ID{}
	for i := range all {
		ids[all[i].Kind] = append(ids[all[i].Kind], all[i].EntityID)
	}

	here := map[string]map[id.ID]Values{}

	for kind, named := range ids {
		var err error
		if here[kind], err = r.kinds[kind].Show(ctx, tx, id.Distinct(named)); err != nil {
			return err
		}
	}

	for i := range all {
		c := &all[i]
		k := r.kinds[c.Kind]

		ours, theirs, err := k.sides(c.Taken, here[c.Kind][c.EntityID])
		if err != nil {
			return err
		}

		c.Ours, c.Theirs = orNull(ours[c.Field]), orNull(theirs[c.Field])
		c.Entity = ConflictEntity{k.Entity, c.EntityID}

		// A tax identifier must not be readable in a tax identifier a conflict.
		if slices.Contains(k.Secret, c.Field) {
			c.Theirs = json.RawMessage(`"***"`)
		}
	}

	return nil
}

// orNull returns a value, null for none.
func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage(null)
	}

	return v
}

// Take says which side of a conflict counts.
type Take string

// The sides.
const (
	Ours   Take = "ours"
	Theirs Take = "theirs"
)

// Enum lists the sides.
func (Take) Enum() []string { return []string{string(Ours), string(Theirs)} }

// Choice says how a conflict is settled.
type Choice struct {
	ID   id.ID `json:"id"`
	Take Take  `json:"take" doc:"ours keeps the value here, theirs writes the value of the system."`
}

// Choices settle several conflicts.
type Choices struct {
	Data []Choice `json:"data" minItems:"1" maxItems:"250"`
}

type settleInput struct{ Body Choices }

// settle settles conflicts, each by itself. A conflict that is gone is refused as not found.
func (r *runner) settle(ctx context.Context, tx *db.Tx, in *settleInput) (*api.Outcome, error) {
	return api.Land(ctx, tx, false, func(ctx context.Context, tx *db.Tx) ([]api.Attempt, error) {
		found, err := lockConflicts(ctx, tx, in.Body.Data)
		if err != nil {
			return nil, err
		}

		s := &settling{out: make([]api.Attempt, len(in.Body.Data)), records: map[string][]*contested{}}
		s.splitChoices(in.Body.Data, found)

		// Kinds follow the order in which a sync locks records.
		for _, kind := range r.order {
			if err := s.writeTheirs(ctx, tx, r.kinds[kind], s.records[kind]); err != nil {
				return nil, err
			}
		}

		return s.out, deleteConflicts(ctx, tx, s.over)
	})
}

// settling is a request that settles conflicts.
type settling struct {
	out []api.Attempt
	// over are the ids of the settled conflicts.
	over []id.ID
	// records are to get values of their source, by kind.
	records map[string][]*contested
}

// contested is a record for which values of its source were chosen.
type contested struct {
	heldConflict

	// paths name the slots to write; conflicts and places belong to the choices.
	paths     map[string]bool
	conflicts []id.ID
	places    []int
}

// splitChoices settles the choices of ours, and groups the choices of theirs by record. It refuses a conflict that is
// gone or was settled by an earlier choice.
func (s *settling) splitChoices(all []Choice, found map[id.ID]*heldConflict) {
	records := map[recordKey]*contested{}

	for i, c := range all {
		held := found[c.ID]
		if held == nil {
			s.out[i].Refusal = apierr.From(apierr.NotFound)
			continue
		}

		delete(found, c.ID)

		if c.Take == Ours {
			s.out[i].ID = c.ID
			s.over = append(s.over, c.ID)

			continue
		}

		r := records[held.recordKey]
		if r == nil {
			r = &contested{heldConflict: *held, paths: map[string]bool{}}
			records[held.recordKey] = r
			s.records[held.Kind] = append(s.records[held.Kind], r)
		}

		r.paths[held.Field] = true
		r.conflicts, r.places = append(r.conflicts, c.ID), append(r.places, i)
	}
}

// writeTheirs writes the chosen values of sources into records of one kind.
func (s *settling) writeTheirs(ctx context.Context, tx *db.Tx, k *Kind, records []*contested) error {
	if len(records) == 0 {
		return nil
	}

	// Lock all records in one call, because saving a batch also locks in the order of ids.
	if _, err := k.Current(ctx, tx, listEntities(records)); err != nil {
		return err
	}

	bySource := map[id.ID][]*contested{}
	for _, r := range records {
		bySource[r.SourceID] = append(bySource[r.SourceID], r)
	}

	for _, source := range slices.SortedFunc(maps.Keys(bySource), id.ID.Compare) {
		if err := s.writeSource(ctx, tx, k, bySource[source]); err != nil {
			return err
		}
	}

	return nil
}

// writeSource writes the chosen values of one source. The records are locked.
func (s *settling) writeSource(ctx context.Context, tx *db.Tx, k *Kind, records []*contested) error {
	here, err := k.Show(ctx, tx, listEntities(records))
	if err != nil {
		return err
	}

	var (
		writes  []Write
		written []*contested
	)

	for _, r := range records {
		fields, err := k.takeTheirs(r.Taken, here[r.EntityID], r.paths)
		if err != nil {
			return err
		}

		// Both sides agree already.
		if len(fields) == 0 {
			s.markSettled(r)
			continue
		}

		entity := r.EntityID
		writes = append(writes, Write{ID: &entity, ExternalID: r.ExternalID, Fields: fields})
		written = append(written, r)
	}

	if len(writes) == 0 {
		return nil
	}

	// The audit event names the person who settles, not the connection: the choice is theirs.
	from := Origin{SourceID: records[0].SourceID, ConnectionID: records[0].ConnectionID}

	saved, err := k.Save(ctx, tx, from, writes)
	if err != nil {
		return err
	}

	for i, r := range written {
		if saved[i].Refusal == nil {
			s.markSettled(r)
			continue
		}

		// A refusal of the record refuses all choices about it.
		for _, place := range r.places {
			s.out[place].Refusal = saved[i].Refusal
		}
	}

	return nil
}

// listEntities returns the ids of the records here, each once.
func listEntities(records []*contested) []id.ID {
	ids := make([]id.ID, len(records))
	for i, r := range records {
		ids[i] = r.EntityID
	}

	return id.Distinct(ids)
}

// markSettled notes that the chosen conflicts of a record are settled.
func (s *settling) markSettled(r *contested) {
	for i, place := range r.places {
		s.out[place].ID = r.conflicts[i]
		s.over = append(s.over, r.conflicts[i])
	}
}
