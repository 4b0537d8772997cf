package intake

import (
	"context"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// memory is an external record as the database has it.
type memory struct {
	Kind       string
	ExternalID string
	Ordinal    int
	EntityID   *id.ID
	Hash       []byte
	Taken      Values
	Refs       map[string]Reference
	Waiting    Values
	Conflicts  []openConflict
	ChangedAt  *time.Time
	Day        *day.Day
	State      string
}

// openConflict is an unsettled conflict about one field of a record.
type openConflict struct {
	ID    id.ID  `json:"id"`
	Field string `json:"field"`
}

// key names a record of a source.
type key struct {
	kind, externalID string
	ordinal          int
}

// The states of external records.
const (
	active = "active"
	gone   = "gone"
)

// recordTable has the columns of an external record.
var recordTable = db.NewTable[recordRow]("external_record", `
	source_id uuid key, kind text key, external_id text key, ordinal int key, entity_id uuid, hash bytea, taken jsonb, refs jsonb, waiting jsonb,
	locked boolean, changed_at timestamptz, day date, state text`)

// recordRow is an external record to save.
type recordRow struct {
	SourceID   id.ID
	Kind       string
	ExternalID string
	Ordinal    int
	EntityID   *id.ID
	Hash       []byte
	Taken      Values
	Refs       map[string]Reference
	Waiting    Values
	// Locked says that the waiting values wait for a lock.
	Locked    bool
	ChangedAt *time.Time
	Day       *day.Day
	State     string

	// conflicts are open from now on, had were open before.
	conflicts, had []openConflict
}

// key returns the name of the record.
func (c *Change) key() key { return key{c.Kind, c.ExternalID, c.Ordinal} }

// entity returns the id here of an external record, nil if it has none.
func (m *memory) entity() *id.ID {
	if m == nil {
		return nil
	}

	return m.EntityID
}

// wasTaken reports whether values of the source were saved in a record here before. Until then the record is saved even
// if the source says nothing new, so that it becomes a record of the source's connection.
func (m *memory) wasTaken() bool { return m != nil && len(m.Taken) > 0 }

// openConflicts returns the open conflicts of an external record.
func (m *memory) openConflicts() []openConflict {
	if m == nil {
		return nil
	}

	return m.Conflicts
}

// row returns the external record to save again, with another state and other waiting values. A record that is gone has
// no hash, so that it is taken in anew if it comes back.
func (m *memory) row(state string, waiting Values) recordRow {
	return recordRow{
		Kind: m.Kind, ExternalID: m.ExternalID, Ordinal: m.Ordinal, EntityID: m.EntityID, Hash: []byte{},
		Taken: m.Taken, Refs: m.Refs, Waiting: waiting, conflicts: m.Conflicts, had: m.Conflicts,
		ChangedAt: m.ChangedAt, Day: m.Day, State: state,
	}
}

// addRecord adds the external record of a change that was taken in, unless joining has saved it already.
func (in *intake) addRecord(p *pending, entity *id.ID) {
	if !p.isSaved {
		in.records = append(in.records, p.row(entity))
	}
}

// saveRecords saves the external records added so far.
func (in *intake) saveRecords(ctx context.Context, tx *db.Tx) error {
	err := upsertRecords(ctx, tx, in.origin, in.records)
	in.records = nil

	return err
}
