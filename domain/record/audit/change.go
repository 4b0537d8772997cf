package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Change is a record's field before and after. A field that is null, an empty list, or missing, has no value.
type Change struct {
	Key string          `json:"key"`
	Old json.RawMessage `json:"old,omitempty"`
	New json.RawMessage `json:"new,omitempty"`
}

// View is a record as callers see it at one moment. Take one before a record is changed in place.
type View struct {
	encoded json.RawMessage
	err     error
}

// See returns the view of a record.
func See(record any) View {
	encoded, err := json.Marshal(record)
	return View{encoded, err}
}

// MarshalJSON returns the JSON that See encoded.
func (v View) MarshalJSON() ([]byte, error) { return v.encoded, v.err }

var errNoRecord = errors.New("the view of an event is not a JSON object")

// ignored lists the fields of views without data of the record itself: its identity, when it was written, and values
// computed from other records.
var ignored = []string{
	"id", "createdAt", "updatedAt", "lock", "isLocked", "journalStatus", "journalReason", "journalAction",
	"operations", "operationIds", "activeOwnership", "activeRecurringFeePeriods", "issues", "categoryLock",
}

// secret lists the fields to mask wherever they are in a view, in lower case.
var secret = map[string]bool{
	"accountnumber": true,
	"routingnumber": true,
	"routinglast4":  true,
	"numbers":       true,
	"iban":          true,
	"last4":         true,
	"lastdigits":    true,
	"taxid":         true,
	"taxidentifier": true,
	"credentials":   true,
	"token":         true,
	"accesstoken":   true,
	"secret":        true,
	"password":      true,
	"hash":          true,
	"apikey":        true,
	"key":           true,
}

var hidden = json.RawMessage(`"•••"`)

// compare returns the fields that differ between two views, and the record's name: the new name, or the last name if
// the record is gone.
func compare(before, after any) (changes []Change, name *string, err error) {
	old, err := fields(before)
	if err != nil {
		return nil, nil, err
	}

	now, err := fields(after)
	if err != nil {
		return nil, nil, err
	}

	// The new view comes first, so its name wins.
	for _, view := range []map[string]json.RawMessage{now, old} {
		if v := view["name"]; v != nil && name == nil {
			_ = json.Unmarshal(v, &name) // only a text is a name
		}
	}

	// Compare the fields of both views sorted by name, so that events do not depend on the order of maps.
	keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
	slices.Sort(keys)

	for _, key := range slices.Compact(keys) {
		if !bytes.Equal(old[key], now[key]) {
			changes = append(changes, mask(Change{Key: key, Old: old[key], New: now[key]}))
		}
	}

	return changes, name, nil
}

// mask hides the secret values of a change, also secrets in objects within lists.
func mask(c Change) Change {
	isSecret := slices.ContainsFunc(strings.Split(c.Key, "."), func(part string) bool {
		return secret[strings.ToLower(part)]
	})
	for _, value := range []*json.RawMessage{&c.Old, &c.New} {
		switch {
		case *value == nil:
		case isSecret:
			*value = hidden
		case (*value)[0] == '[':
			*value = maskList(*value)
		}
	}

	return c
}

// maskList hides the secret fields of objects in a list, at any depth. Numbers keep all digits.
func maskList(list json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(list))
	decoder.UseNumber()

	var items any
	if err := decoder.Decode(&items); err != nil || !hide(items) {
		return list
	}

	masked, err := json.Marshal(items)
	if err != nil {
		return hidden
	}

	return masked
}

// hide replaces secret values in place and reports whether it found any.
func hide(value any) (found bool) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = hide(item) || found
		}
	case map[string]any:
		for key, member := range v {
			if secret[strings.ToLower(key)] && member != nil {
				v[key], found = "•••", true
			} else {
				found = hide(member) || found
			}
		}
	}

	return found
}

// fields returns the fields of a view by dotted key. Lists stay whole. It fails if the view is not a JSON object.
func fields(view any) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if view == nil {
		return out, nil
	}

	encoded, err := json.Marshal(view)
	if err != nil {
		return nil, err
	}

	// A nil pointer encodes as null: such a view has no fields.
	if bytes.Equal(encoded, []byte("null")) {
		return out, nil
	}

	if encoded[0] != '{' {
		return nil, errNoRecord
	}

	if err := flatten(out, "", encoded); err != nil {
		return nil, err
	}

	// Drop the ignored fields, with everything nested in them.
	for _, key := range ignored {
		delete(out, key)
		maps.DeleteFunc(out, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, key+".") })
	}

	return out, nil
}

// flatten adds the members of an object to out, and members of nested objects under their path. It skips null and
// empty lists, which count as no value.
func flatten(out map[string]json.RawMessage, prefix string, object json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return err
	}

	for key, value := range members {
		switch {
		case bytes.Equal(value, []byte("null")), bytes.Equal(value, []byte("[]")):
		case value[0] == '{':
			if err := flatten(out, prefix+key+".", value); err != nil {
				return err
			}
		default:
			out[prefix+key] = value
		}
	}

	return nil
}
