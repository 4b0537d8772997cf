package proof

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"stayledger/platform/id"
)

// form begins every leaf. Another form of leaves gets another name.
const form = "stayledger audit event v1"

// Value is a value of an event in a proof: with its salt, or its commitment alone when it was erased or the caller may
// not read it.
type Value struct {
	Value      json.RawMessage `json:"value,omitempty" doc:"Absent when it was erased, or when the credential may not read it."`
	Salt       string          `json:"salt,omitempty" doc:"32 bytes in base64, with a value."`
	Commitment string          `json:"commitment,omitempty" doc:"In place of a value: SHA-256 of its salt and the value, in base64."`
}

// ProvenChange is a field before and after in a proof.
type ProvenChange struct {
	Key string `json:"key" doc:"Name of the field; of a field inside another one with dots."`
	Old *Value `json:"old" doc:"Null when it had no value."`
	New *Value `json:"new" doc:"Null when it has no value."`
}

// ProvenEvent is a revision of an event as it is stored, with everything that its leaf is computed from.
type ProvenEvent struct {
	TeamID       id.ID           `json:"teamId"`
	ID           id.ID           `json:"id"`
	Revision     int64           `json:"revision" doc:"From 1."`
	ActionID     id.ID           `json:"actionId"`
	ActorType    string          `json:"actorType" doc:"As actor.type of the event."`
	ActorID      *id.ID          `json:"actorId" doc:"As actor.id of the event."`
	Type         string          `json:"type"`
	EntityType   string          `json:"entityType" doc:"As entity.type of the event."`
	EntityID     id.ID           `json:"entityId"`
	EntityName   *Value          `json:"entityName" doc:"Null for records without a name."`
	References   json.RawMessage `json:"references" doc:"Other records that it concerns, in the stored order."`
	SourceType   string          `json:"sourceType" doc:"As source.type of the event."`
	ConnectionID *id.ID          `json:"connectionId"`
	SyncID       *id.ID          `json:"syncId" doc:"The sync that brought it; null for none."`
	OperationID  *id.ID          `json:"operationId"`
	ImportID     *id.ID          `json:"importId" doc:"The import that brought it; null for none."`
	Changes      []ProvenChange  `json:"changes" doc:"Those of this revision alone."`
	Journal      *Value          `json:"journal" doc:"Null for no effect on the books."`
	IsOverride   bool            `json:"isOverride" doc:"Whether it was done in spite of closed books."`
	OccurredAt   string          `json:"occurredAt" doc:"In UTC with microseconds, as all instants of a proof."`
	RecordedAt   string          `json:"recordedAt" doc:"The order of the log."`
	SettledAt    *string         `json:"settledAt" doc:"Null when work of the action could still add to the event."`
}

// event is a revision as it is stored.
type event struct {
	TeamID, ID                                  id.ID
	Revision                                    int64
	ActionID                                    id.ID
	ActorType                                   string
	ActorID                                     *id.ID
	Type, EntityType                            string
	EntityID                                    id.ID
	EntityName                                  *string
	Refs                                        json.RawMessage
	SourceType                                  string
	ConnectionID, SyncID, OperationID, ImportID *id.ID
	Changes, Journal                            json.RawMessage
	IsOverride                                  bool
	OccurredAt, RecordedAt                      time.Time
	SettledAt                                   *time.Time
}

// eventColumns select an event from audit_event e.
const eventColumns = `e.team_id, e.id, e.revision::bigint, e.action_id, e.actor_type, e.actor_id, e.type, e.entity_type, e.entity_id,
	e.entity_name, e.refs, e.source_type, e.connection_id, e.sync_id, e.operation_id, e.import_id, e.changes, e.journal, e.is_override,
	e.occurred_at, e.recorded_at, e.settled_at`

// The prefix of an erased name; any other erased value is an object with this one member. The commitment follows.
const (
	erasedName   = "erased:"
	erasedMember = "erased"
)

var (
	errMalformed = errors.New("the event has another form")
	encoding     = base64.StdEncoding.Strict()
)

// instant returns an instant as leaves have it.
func instant(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000Z") }

// prove returns the event with the salts of its values, which come from the salt of its leaf. It fails if the changes
// are no list of changes.
func (e *event) prove(salt []byte) (*ProvenEvent, error) {
	p := &ProvenEvent{
		TeamID: e.TeamID, ID: e.ID, Revision: e.Revision, ActionID: e.ActionID, ActorType: e.ActorType, ActorID: e.ActorID,
		Type: e.Type, EntityType: e.EntityType, EntityID: e.EntityID, References: e.Refs, SourceType: e.SourceType,
		ConnectionID: e.ConnectionID, SyncID: e.SyncID, OperationID: e.OperationID, ImportID: e.ImportID,
		Journal: newValue(e.Journal, salt, "journal"), IsOverride: e.IsOverride,
		OccurredAt: instant(e.OccurredAt), RecordedAt: instant(e.RecordedAt),
	}
	if e.SettledAt != nil {
		p.SettledAt = new(instant(*e.SettledAt))
	}

	if e.EntityName != nil {
		name, err := json.Marshal(e.EntityName)
		if err != nil {
			return nil, fmt.Errorf("encode a name: %w", err)
		}

		p.EntityName = newValue(name, salt, "name")
		if commitment, ok := strings.CutPrefix(*e.EntityName, erasedName); ok && isHash(commitment) {
			p.EntityName = &Value{Commitment: commitment}
		}
	}

	// A member that the leaf does not cover must not be there.
	var changes []struct {
		Key      string          `json:"key"`
		Old, New json.RawMessage `json:",omitempty"`
	}

	decoder := json.NewDecoder(bytes.NewReader(e.Changes))
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&changes); err != nil || changes == nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, errors.Join(err))
	}

	p.Changes = make([]ProvenChange, len(changes))
	for i, c := range changes {
		p.Changes[i] = ProvenChange{c.Key, newValue(c.Old, salt, "old "+c.Key), newValue(c.New, salt, "new "+c.Key)}
	}

	return p, nil
}

// newValue returns a value with the salt that belongs to its label, or with its commitment if it was erased; nil for no
// value.
func newValue(value json.RawMessage, salt []byte, label string) *Value {
	if value == nil {
		return nil
	}

	var erased map[string]string
	if value[0] == '{' && json.Unmarshal(value, &erased) == nil && len(erased) == 1 && isHash(erased[erasedMember]) {
		return &Value{Commitment: erased[erasedMember]}
	}

	h := hmac.New(sha256.New, salt)
	_, _ = h.Write([]byte(label)) // never fails

	return &Value{Value: value, Salt: encoding.EncodeToString(h.Sum(nil))}
}

// isHash reports whether a text is a hash in base64.
func isHash(text string) bool {
	hash, err := encoding.DecodeString(text)
	return err == nil && len(hash) == sha256.Size
}

// commit returns the commitment to a value: SHA-256 of its salt followed by its canonical form. No value has an empty
// one. It fails for a value without a salt, and for one that is no JSON.
func (v *Value) commit() (string, error) {
	switch {
	case v == nil:
		return "", nil
	case v.Value == nil && v.Salt == "" && isHash(v.Commitment):
		return v.Commitment, nil
	case v.Value == nil || v.Commitment != "":
		return "", errMalformed
	}

	text, err := encoding.DecodeString(v.Salt)
	if err != nil || len(text) != sha256.Size {
		return "", errMalformed
	}

	if text, err = appendJSON(text, v.Value); err != nil {
		return "", err
	}

	hash := sha256.Sum256(text)

	return encoding.EncodeToString(hash[:]), nil
}

// hide leaves only the commitment of a value.
func (v *Value) hide() error {
	commitment, err := v.commit()
	if err == nil && v != nil {
		*v = Value{Commitment: commitment}
	}

	return err
}

// hash returns the hash of the leaf. A leaf is a sequence of netstrings, each a field as text: its length in bytes, a
// colon, the field, a comma. The fields are the name of the form, the fields of a ProvenEvent in their order, and for a
// list the number of its items before the fields of each. Missing ids and instants, and values without a commitment, are
// empty. Values are their commitments in base64, references their canonical form, a bool is true or false. It fails for
// an event with malformed values.
func (p *ProvenEvent) hash() (tlog.Hash, error) {
	var (
		leaf   = make([]byte, 0, 1024)
		failed error
	)

	add := func(fields ...string) {
		for _, f := range fields {
			leaf = appendNetstring(leaf, f)
		}
	}
	addID := func(ids ...*id.ID) {
		for _, v := range ids {
			if v == nil {
				add("")
			} else {
				add(v.String())
			}
		}
	}
	addValue := func(values ...*Value) {
		for _, v := range values {
			commitment, err := v.commit()
			if err != nil {
				failed = err
			}

			add(commitment)
		}
	}

	// The fields before the changes.
	add(form, p.TeamID.String(), p.ID.String(), strconv.FormatInt(p.Revision, 10), p.ActionID.String(), p.ActorType)
	addID(p.ActorID)
	add(p.Type, p.EntityType, p.EntityID.String())
	addValue(p.EntityName)

	refs, err := appendJSON(nil, p.References)
	add(string(refs), p.SourceType)
	addID(p.ConnectionID, p.SyncID, p.OperationID, p.ImportID)

	// The changes, and what follows them.
	add(strconv.Itoa(len(p.Changes)))

	for i := range p.Changes {
		add(p.Changes[i].Key)
		addValue(p.Changes[i].Old, p.Changes[i].New)
	}

	addValue(p.Journal)
	add(strconv.FormatBool(p.IsOverride), p.OccurredAt, p.RecordedAt)

	if p.SettledAt != nil {
		add(*p.SettledAt)
	} else {
		add("")
	}

	return tlog.RecordHash(leaf), errors.Join(err, failed)
}

// hashed is the hash of a leaf, or the error of an event that has none.
type hashed struct {
	hash tlog.Hash
	err  error
}

// hashAll returns the hashes of the leaves of events with their salts. It uses all processors: hashing takes longer than
// the database does.
func hashAll(events []event, salts [][]byte) []hashed {
	var (
		out   = make([]hashed, len(events))
		group sync.WaitGroup
		many  = runtime.GOMAXPROCS(0)
	)

	for first := range many {
		group.Go(func() {
			for i := first; i < len(events); i += many {
				p, err := events[i].prove(salts[i])
				if err == nil {
					out[i].hash, err = p.hash()
				}

				out[i].err = err
			}
		})
	}

	group.Wait()

	return out
}

// appendNetstring appends a text with its length.
func appendNetstring(to []byte, text string) []byte {
	to = strconv.AppendInt(to, int64(len(text)), 10)
	to = append(append(append(to, ':'), text...), ',')

	return to
}

// maxNumber bounds the length of a number in bytes, so that a forged proof cannot keep a reader busy.
const maxNumber = 1000

// appendJSON appends the canonical form of a JSON value, which does not depend on how the value is printed: n, t and f
// for null, true and false; d and s followed by a netstring for a number, as a fraction in lowest terms with the
// denominator 1 left out, and for a text; [ and { followed by the number of items and the items, those of an object by
// the bytes of their names, each name as a netstring before its value.
func appendJSON(to []byte, value json.RawMessage) ([]byte, error) {
	// Most values are texts, which need no decoder.
	if len(value) > 0 && value[0] == '"' {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}

		return appendValue(to, text)
	}

	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()

	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}

	if decoder.More() {
		return nil, errMalformed
	}

	return appendValue(to, v)
}

// appendValue appends the canonical form of a decoded value. It fails for a number that is too long.
func appendValue(to []byte, value any) (_ []byte, err error) {
	switch v := value.(type) {
	case bool:
		return append(to, strconv.FormatBool(v)[0]), nil
	case string:
		return appendNetstring(append(to, 's'), v), nil
	case json.Number:
		number, ok := new(big.Rat), len(v) <= maxNumber && !strings.ContainsAny(v.String(), "eE")
		if ok {
			number, ok = number.SetString(v.String())
		}

		if !ok {
			return nil, errMalformed
		}

		return appendNetstring(append(to, 'd'), number.RatString()), nil
	case []any:
		to = append(strconv.AppendInt(append(to, '['), int64(len(v)), 10), ':')
		for _, item := range v {
			if to, err = appendValue(to, item); err != nil {
				return nil, err
			}
		}

		return to, nil
	case map[string]any:
		to = append(strconv.AppendInt(append(to, '{'), int64(len(v)), 10), ':')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if to, err = appendValue(appendNetstring(to, name), v[name]); err != nil {
				return nil, err
			}
		}

		return to, nil
	}

	return append(to, 'n'), nil
}
