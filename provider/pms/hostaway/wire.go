package hostaway

import (
	"encoding/json"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
	"stayledger/provider/pms/wire"
)

// Numbers and texts as the system writes them.
type (
	number = wire.Number
	text   = wire.Text
)

// flag is a truth: 1 or 0, also as a text, or true or false. Null is false.
type flag bool

// UnmarshalJSON reads a truth. It fails for everything else.
func (f *flag) UnmarshalJSON(content []byte) error {
	switch strings.Trim(string(content), `"`) {
	case "1", "true":
		*f = true
	case "0", "false", "null", "":
		*f = false
	default:
		return pms.Wrong("", pms.BadForm)
	}

	return nil
}

// date is a day, nil for none. A time behind it is not read.
type date struct{ *day.Day }

// UnmarshalJSON reads a day, an empty text or null. It fails for everything else.
func (d *date) UnmarshalJSON(content []byte) error {
	var s string
	if err := json.Unmarshal(content, &s); err != nil {
		return pms.Wrong("", pms.BadForm)
	}

	if s == "" || strings.HasPrefix(s, "0000-00-00") {
		return nil
	}

	parsed, err := day.Parse(s[:min(len(s), len("2006-01-02"))])
	if err != nil {
		return pms.Wrong("", pms.BadForm)
	}

	d.Day = &parsed

	return nil
}

// moment is a day, or an instant in UTC when a time follows; zero for none.
type moment struct{ pms.When }

// UnmarshalJSON reads what date reads, and the time behind it.
func (m *moment) UnmarshalJSON(content []byte) error {
	var (
		s string
		d date
	)

	if err := d.UnmarshalJSON(content); err != nil {
		return err
	}

	// A time of only zeros is filler.
	m.Day = d.Day
	if json.Unmarshal(content, &s) == nil && d.Day != nil && !strings.HasSuffix(s, " 00:00:00") {
		m.At = instant(text(s))
	}

	return nil
}

// instant returns the time that a text without a zone has in UTC, zero for none.
func instant(t text) time.Time {
	out, err := time.Parse(time.DateTime, string(t))
	if err != nil {
		return time.Time{}
	}

	return out
}

// rows returns the rows of an answer as they came: each is read, and fails, alone. It fails with a pms.Error if there
// is no list.
func (e *envelope) rows() ([]json.RawMessage, error) {
	var out []json.RawMessage
	if err := pms.Unmarshal(e.Result, &out); err != nil || out == nil {
		return nil, pms.BadAnswer("has no list")
	}

	if len(out) > maxRows {
		return nil, pms.BadAnswer("has too many rows")
	}

	return out, nil
}

// rowID returns the id of a row. It fails with a pms.Error if it has none: what the row is about is not known.
func rowID(content json.RawMessage) (string, error) {
	var key struct {
		ID text `json:"id"`
	}
	if pms.Unmarshal(content, &key) != nil || !outbound.Printable(string(key.ID), maxID) {
		return "", pms.BadAnswer("has a row without an id")
	}

	return string(key.ID), nil
}
